//! The paths of `resources/read` and `prompts/get`: look up → check → run → write. Called by
//! `dispatch`; knows no wire.

use crate::calls::refuse;
use crate::context::Context;
use crate::core::Core;
use crate::driver::{Ending, Job, Written};
use crate::face::Face;
use crate::headers::Headers;
use crate::layers::{around, mistaken};
use crate::middleware::{Next, Outcome, Request};
use crate::missing;
use crate::nearest::nearest;
use crate::part::Entry;
use crate::prompt::{Get, Prompt};
use crate::reading::{Answering, Reader};
use crate::registry::Snapshot;
use crate::relay::{self, Far};
use crate::resource::Read;
use crate::uri_template::Variables;
use haft_proto::encode;
use haft_proto::encode::fields::Caching;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::JsonStr;
use haft_proto::service::{Ask, Principal, Turn};
use haft_proto::spec::Meta;
use haft_proto::spec::prompt::PromptResult;
use haft_proto::spec::resource::ReadResult;
use haft_proto::spec::tool::Annotations;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What an address leads to.
struct Found {
    reader: Arc<dyn Reader>,
    variables: Variables,
    wants_headers: bool,
    /// What the answer has where the reader does not say.
    defaults: Defaults,
}

/// What contents have that do not say.
#[derive(Default)]
struct Defaults {
    caching: Option<Caching>,
    mime_type: Option<String>,
    meta: Option<Meta>,
}

/// Answers `resources/read`.
pub(crate) fn read(
    core: &Arc<Core>,
    snapshot: &Arc<Snapshot>,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let face = &snapshot.face;
    let uri = ask.message.params.uri.and_then(JsonStr::from_raw).map(JsonStr::decode);
    let Some(uri) = uri.filter(|uri| uri.len() <= core.limits.uri_bytes) else {
        let limit = core.limits.uri_bytes;
        let message =
            format!("Invalid params: `params.uri` must be a string of at most {limit} bytes");
        return refuse(out, ask.id, &Refusal::new(Mistake::InvalidParams, message));
    };
    let uri = uri.into_owned();
    if let Some((far, there)) = far(snapshot, &uri) {
        return match there {
            Cow::Borrowed(uri) => relay::relay((core, snapshot), ask, (far, uri), None, out),
            Cow::Owned(there) => {
                relay::relay((core, snapshot), ask, (far, &there), Some(&there), out)
            }
        };
    }
    let Some((found, uri)) = find(snapshot, &uri) else {
        let nothing = ReadEnding::new((core, face), ask, uri, Defaults::default());
        return refuse(out, ask.id, &nothing.not_found(""));
    };
    let context = match begin_context((core, snapshot), ask, |_| {}, found.wants_headers) {
        Ok(context) => context,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    let Found { reader, variables, defaults, .. } = found;
    let request = Read { uri: uri.clone(), variables, context: context.clone() };
    let work: Answering<ReadResult> = if core.middleware.is_empty() {
        Box::pin(async move { reader.read(request).await })
    } else {
        let handler = move |_: Request| {
            let (reader, request) = (Arc::clone(&reader), request.clone());
            async move {
                let read = reader.read(request).await;
                read.map_or_else(Outcome::Refused, Outcome::Resource)
            }
        };
        let made = |made| match made {
            Outcome::Resource(result) => Ok(result),
            Outcome::Refused(refusal) => Err(refusal),
            _ => Err(mistaken("resource")),
        };
        through(core, self::request(core, ask, &uri, &context), made, handler)
    };
    begin(core, ask, (ReadEnding::new((core, face), ask, uri, defaults), context), work, out)
}

/// The way to what another server has at an address, and what it is asked for there.
fn far<'a, 'u>(snapshot: &'a Snapshot, uri: &'u str) -> Option<(&'a Far, Cow<'u, str>)> {
    match snapshot.resources.find(uri) {
        Some(resource) => Some((resource.far.as_ref()?, Cow::Borrowed(uri))),
        None => {
            let (family, _, there) = snapshot.find_template(uri)?;
            Some((family.built.far.as_ref()?, there))
        }
    }
}

/// What an address leads to, and the address that is read.
fn find(snapshot: &Snapshot, uri: &str) -> Option<(Found, String)> {
    if let Some(resource) = snapshot.resources.find(uri) {
        let defaults = Defaults {
            caching: resource.caching,
            mime_type: resource.spec.mime_type.clone(),
            meta: resource.contents_meta.clone(),
        };
        let reader = Arc::clone(&resource.reader);
        let (variables, wants_headers) = (Variables::new(), resource.wants_headers);
        let found = Found { reader, variables, wants_headers, defaults };
        return Some((found, uri.to_owned()));
    }
    let (family, variables, uri) = snapshot.find_template(uri)?;
    let built = &family.built;
    let mime_type = built.spec.mime_type.clone();
    let defaults = Defaults { caching: built.caching, mime_type, meta: None };
    let (reader, wants_headers) = (Arc::clone(&built.reader), built.wants_headers);
    Some((Found { reader, variables, wants_headers, defaults }, uri.into_owned()))
}

/// Answers `prompts/get`.
pub(crate) fn get(
    core: &Arc<Core>,
    snapshot: &Arc<Snapshot>,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let prompt = match find_prompt(snapshot, ask) {
        Ok(prompt) => prompt,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    if let Some(far) = &prompt.far {
        return relay::relay((core, snapshot), ask, (far, prompt.name()), None, out);
    }
    let admitted = admit_get(prompt, ask).and_then(|arguments| {
        let define = |out: &mut Vec<u8>| prompt.write(out, Revision::LATEST);
        let context = begin_context((core, snapshot), ask, define, prompt.wants_headers)?;
        Ok(Get { arguments, context })
    });
    let request = match admitted {
        Ok(request) => request,
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    let ending = PromptEnding {
        prompt: Arc::clone(prompt),
        face: Arc::clone(&snapshot.face),
        revision: ask.revision,
    };
    let context = request.context.clone();
    let writer = Arc::clone(&prompt.writer);
    let work: Answering<PromptResult> = if core.middleware.is_empty() {
        Box::pin(async move { writer.get(request).await })
    } else {
        through(
            core,
            self::request(core, ask, prompt.name(), &context),
            |made| match made {
                Outcome::Prompt(result) => Ok(result),
                Outcome::Refused(refusal) => Err(refusal),
                _ => Err(mistaken("prompt")),
            },
            move |changed: Request| {
                let (writer, context) = (Arc::clone(&writer), request.context.clone());
                async move {
                    // A middleware may have put others in their place.
                    let made = match text_arguments(&changed.arguments) {
                        Ok(arguments) => writer.get(Get { arguments, context }).await,
                        Err(refusal) => Err(refusal),
                    };
                    made.map_or_else(Outcome::Refused, Outcome::Prompt)
                }
            },
        )
    };
    begin(core, ask, (ending, context), work, out)
}

fn find_prompt<'a>(snapshot: &'a Snapshot, ask: &Ask<'_>) -> Result<&'a Arc<Prompt>, Refusal> {
    let invalid = |message: String| Refusal::new(Mistake::InvalidParams, message);
    let name = ask
        .message
        .params
        .name
        .and_then(JsonStr::from_raw)
        .ok_or_else(|| invalid("Invalid params: `params.name` must be a string".to_owned()))?
        .decode();
    snapshot.prompts.find(&name).ok_or_else(|| {
        if let Some(refusal) = missing::refusal(&snapshot.missing, &name) {
            return refusal;
        }
        let shown = shown(&name);
        let names = snapshot.prompts.iter().map(|prompt| prompt.name());
        invalid(match nearest(&name, names) {
            Some(meant) => format!("Unknown prompt: {shown:?}; did you mean {meant:?}?"),
            None => format!("Unknown prompt: {shown:?}; `prompts/list` has the names"),
        })
    })
}

fn admit_get(prompt: &Prompt, ask: &Ask<'_>) -> Result<BTreeMap<String, String>, Refusal> {
    let arguments = text_arguments(ask.message.params.arguments.unwrap_or("{}"))?;
    let missing = prompt.spec.arguments.iter().filter(|known| known.required);
    let missing: Vec<_> = missing
        .filter(|known| !arguments.contains_key(&known.name))
        .map(|known| format!("`{}`", known.name))
        .collect();
    if !missing.is_empty() {
        let (name, missing) = (prompt.name(), missing.join(", "));
        let message = format!("Invalid params: the prompt `{name}` needs the argument {missing}");
        return Err(Refusal::new(Mistake::InvalidParams, message));
    }
    Ok(arguments)
}

fn text_arguments(raw: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let read = serde_json::from_str::<Option<BTreeMap<_, Option<String>>>>(raw).map_err(|_| {
        let message = "Invalid params: `params.arguments` must be an object of strings";
        Refusal::new(Mistake::InvalidParams, message)
    })?;
    Ok(given(read.unwrap_or_default()))
}

/// The arguments that are there: one that is `null` is not.
pub(crate) fn given(arguments: BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    arguments.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

pub(crate) fn begin_context(
    (core, snapshot): (&Arc<Core>, &Arc<Snapshot>),
    ask: &Ask<'_>,
    define: impl FnOnce(&mut Vec<u8>),
    wants_headers: bool,
) -> Result<Context, Refusal> {
    let headers = ask.headers.filter(|_| wants_headers).map(Headers::copy).unwrap_or_default();
    let rounds = core.rounds(snapshot, ask, define)?;
    Ok(Context::new((core, snapshot), ask, rounds, headers, false))
}

/// A request for who stands around it.
pub(crate) fn request(core: &Core, ask: &Ask<'_>, name: &str, context: &Context) -> Request {
    Request {
        method: ask.method,
        name: name.to_owned(),
        arguments: ask.message.params.arguments.unwrap_or("{}").to_owned(),
        annotations: Annotations::default(),
        time_limit: core.limits.request_timeout,
        context: context.clone(),
    }
}

/// Sends a request through the middleware of the server.
pub(crate) fn through<T: 'static, F: Future<Output = Outcome> + Send + 'static>(
    core: &Core,
    request: Request,
    read: impl Fn(Outcome) -> Result<T, Refusal> + Send + 'static,
    handler: impl Fn(Request) -> F + Send + Sync + 'static,
) -> Answering<T> {
    let next = Next::new(around(core, &[]), move |request| Box::pin(handler(request)));
    Box::pin(async move {
        let made = next.run(request).await;
        read(made)
    })
}

/// Goes on with what a handler has begun.
fn begin<E: Ending>(
    core: &Arc<Core>,
    ask: &Ask<'_>,
    (ending, context): (E, Context),
    work: Pin<Box<dyn Future<Output = E::Made> + Send>>,
    out: &mut Vec<u8>,
) -> Turn {
    mark(Stage::Validate);
    let timeout = core.limits.request_timeout;
    Job::new(core, ask, ending, work, Some(context), timeout).start(false, out)
}

/// As much of a name as is told back.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(128).collect()
}

/// The refusal of what took too long.
pub(crate) fn timed_out(what: &str, limit: Duration) -> Refusal {
    Refusal::new(Mistake::TimedOut, format!("Timed out: the {what} took longer than {limit:?}"))
}

fn too_large(bytes: usize, limit: usize) -> Refusal {
    let message = format!(
        "Internal error: the resource has {bytes} bytes, and an answer at most {limit}: offer it \
         in parts, or raise `Limits::resource_bytes`"
    );
    Refusal::new(Mistake::Internal, message)
}

/// How readings end.
struct ReadEnding {
    uri: String,
    defaults: Defaults,
    bytes_max: usize,
    caching: Caching,
    face: Arc<Face>,
    revision: Revision,
}

impl ReadEnding {
    fn new(
        (core, face): (&Core, &Arc<Face>),
        ask: &Ask<'_>,
        uri: String,
        defaults: Defaults,
    ) -> Self {
        // A reader may look at who asks: what it says to one is not for all.
        let is_public = face.caching.is_public && !matches!(ask.principal, Principal::Named(_));
        Self {
            uri,
            bytes_max: core.limits.resource_bytes,
            caching: defaults.caching.unwrap_or(Caching { is_public, ..face.caching }),
            defaults,
            face: Arc::clone(face),
            revision: ask.revision,
        }
    }

    /// That there is nothing at the address, in the words of whoever looked if it has any.
    fn not_found(&self, words: &str) -> Refusal {
        let mut data = b"{\"uri\":".to_vec();
        encode::string(&mut data, &self.uri);
        data.push(b'}');
        let mistake = match self.revision.has_resource_not_found() {
            true => Mistake::ResourceNotFound,
            false => Mistake::InvalidParams,
        };
        let message = match words {
            "" => "Resource not found; `resources/list` has the addresses".to_owned(),
            words => format!("Resource not found: {words}"),
        };
        Refusal::new(mistake, message).with_data(String::from_utf8_lossy(&data).into_owned())
    }
}

impl Ending for ReadEnding {
    type Made = Result<ReadResult, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written {
        let mut result = made.map_err(|refusal| match refusal.mistake {
            Mistake::ResourceNotFound => self.not_found(&refusal.message),
            _ => refusal,
        })?;
        let bytes = result.contents.iter().map(|contents| contents.body.len()).sum::<usize>();
        if bytes > self.bytes_max {
            return Err(too_large(bytes, self.bytes_max));
        }
        for contents in &mut result.contents {
            if contents.uri.is_empty() {
                contents.uri.clone_from(&self.uri);
            }
            if contents.mime_type.is_none() {
                contents.mime_type.clone_from(&self.defaults.mime_type);
            }
            if contents.meta.is_none() {
                contents.meta.clone_from(&self.defaults.meta);
            }
        }
        let (revision, fields) = (self.revision, self.face.fields(self.revision));
        encode::resource::read_result(out, revision, fields, self.caching, &result);
        Ok(None)
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.is_err()
    }

    fn too_long(&self, limit: Duration, _: &mut Vec<u8>) -> Result<(), Refusal> {
        Err(timed_out("resource", limit))
    }

    const KIND: &'static str = "resource";
}

/// How prompts end.
struct PromptEnding {
    prompt: Arc<Prompt>,
    face: Arc<Face>,
    revision: Revision,
}

impl Ending for PromptEnding {
    type Made = Result<PromptResult, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn define(&self, out: &mut Vec<u8>) {
        self.prompt.write(out, Revision::LATEST);
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written {
        let mut result = made?;
        if result.description.is_none() {
            result.description.clone_from(&self.prompt.spec.description);
        }
        let fields = self.face.fields(self.revision);
        encode::prompt::prompt_result(out, self.revision, fields, &result);
        Ok(None)
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.is_err()
    }

    fn too_long(&self, limit: Duration, _: &mut Vec<u8>) -> Result<(), Refusal> {
        Err(timed_out("prompt", limit))
    }

    const KIND: &'static str = "prompt";
}
