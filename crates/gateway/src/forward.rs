//! A request for what an upstream has is passed on: its parameters as they came, the answer as it
//! comes, and what is said meanwhile. Made by `catalogue`, run by the server.

use crate::asking::{Asking, Counted};
use crate::limits::LOG_TIME_MAX;
use crate::seats::Taken;
use crate::upstream::{Loss, Upstream};
use bytes::Bytes;
use haft_client::{Client, ClientError, LongResult, Notice, Passed};
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, member};
use haft_proto::long::Said;
use haft_proto::method::Method;
use haft_proto::spec::level::Level;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{Context, Pieces, Relayed, Relaying};
use std::borrow::Cow;
use std::sync::Arc;
use std::task::{self, Poll, ready};
use tokio::time::timeout;

/// The way to something that an upstream has. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Forward {
    pub(crate) upstream: Arc<Upstream>,
    /// Its name or address there.
    pub(crate) name: Arc<str>,
    /// Asking twice is like asking once.
    pub(crate) is_repeatable: bool,
}

/// What is asked, of what, and the members of the parameters, as JSON text.
type Parts<'a> = (Method, Option<&'a str>, Vec<(&'a str, Cow<'a, str>)>);

/// What is asked of an upstream.
pub(crate) enum Wish<'a> {
    Call { tool: &'a str, arguments: &'a str },
    Other { method: Method, target: Option<&'a str>, members: &'a [(&'a str, &'a str)] },
}

impl Handler for Forward {
    fn call(&self, call: Call<'_>, _: Answer<'_>) -> Made {
        let (way, arguments) = (self.clone(), Box::<str>::from(call.arguments));
        let context = call.context();
        Made::Relayed(Box::pin(async move {
            let wish = Wish::Call { tool: &way.name, arguments: &arguments };
            way.ask(&wish, &context).await
        }))
    }
}

impl Forward {
    /// Passes on a request that is no call of a tool. Of a prompt, the upstream is told the name
    /// that it has there.
    pub(crate) async fn relay(self, asked: Relaying) -> Result<Relayed, Refusal> {
        let Relaying { method, params, context } = asked;
        let renamed = quoted(&self.name);
        let reference = format!(r#"{{"type":"ref/prompt","name":{renamed}}}"#);
        let mut members = members(&params)?;
        for (key, value) in &mut members {
            match (method, *key) {
                (Method::PromptsGet, "name") => *value = &renamed,
                (Method::Complete, "ref") if is_of_prompt(value) => *value = &reference,
                _ => {}
            }
        }
        let asked_for = members.iter().find(|(key, _)| *key == "uri").map(|(_, uri)| *uri);
        let uri = asked_for.and_then(JsonStr::from_raw).map(JsonStr::decode);
        let target = match method {
            Method::PromptsGet => Some(&*self.name),
            Method::ResourcesRead => uri.as_deref(),
            _ => None,
        };
        self.ask(&Wish::Other { method, target, members: &members }, &context).await
    }

    async fn ask(&self, wish: &Wish<'_>, context: &Context) -> Result<Relayed, Refusal> {
        let running = self.upstream.count(wish.method().name(), &self.name);
        let mut counted = Counted::new(running, context);
        match self.ask_twice(wish, context).await {
            Ok(Relayed::Long(long)) => Ok(Relayed::Long(counted.go_on(self).of(long))),
            ended => {
                counted.end(&ended);
                ended
            }
        }
    }

    /// A request that was lost on its way is made once more, if nothing can come of that.
    async fn ask_twice(&self, wish: &Wish<'_>, context: &Context) -> Result<Relayed, Refusal> {
        let (mut is_first, mut brought) = (true, None);
        loop {
            let client = self.upstream.client(context).await?;
            if let Some(level) = context.log_level() {
                // Whatever becomes of its log, the request is made, and soon.
                _ = timeout(LOG_TIME_MAX, Box::pin(client.hear_logs(level))).await;
            }
            let asked = match Asking::of(self, wish, &client, context) {
                None => wish.ask(&self.upstream, &client, context).await,
                Some(asking) => Box::pin(asking.ask(&mut brought)).await?,
            };
            let error = match asked {
                Ok(passed) => return Ok(relayed(&self.upstream, client, passed)),
                Err(error) => error,
            };
            if matches!(error, ClientError::Refused { .. }) {
                client.served();
            }
            let loss = Loss::by(&error);
            self.upstream.lost(&client, loss);
            let may_ask_again =
                loss == Loss::NotBegun || loss == Loss::Unknown && self.is_repeatable;
            if !may_ask_again || !is_first {
                return Err(self.upstream.refusal(error));
            }
            is_first = false;
        }
    }
}

impl Wish<'_> {
    fn method(&self) -> Method {
        match self {
            Self::Call { .. } => Method::ToolsCall,
            Self::Other { method, .. } => *method,
        }
    }

    /// The same for who keeps it.
    pub(crate) fn parts(&self) -> Parts<'_> {
        match *self {
            Self::Call { tool, arguments } => {
                let members = [("name", quoted(tool).into()), ("arguments", arguments.into())];
                (Method::ToolsCall, Some(tool), members.into())
            }
            Self::Other { method, target, members } => {
                let members = members.iter().map(|&(key, value)| (key, value.into()));
                (method, target, members.collect())
            }
        }
    }

    async fn ask(
        &self,
        upstream: &Upstream,
        client: &Client,
        context: &Context,
    ) -> Result<Passed, ClientError> {
        let mut listener = |notice| tell(upstream, context, notice);
        match *self {
            Self::Call { tool, arguments } => {
                client.call_tool_raw(tool, arguments, &mut listener).await
            }
            Self::Other { method, target, members } => {
                client.ask_raw(method, target, members, &mut listener).await
            }
        }
    }
}

/// What an upstream answered, for the server.
fn relayed(upstream: &Arc<Upstream>, client: Taken, passed: Passed) -> Relayed {
    match passed {
        Passed::Whole(text) => {
            client.served();
            Relayed::Whole(text)
        }
        Passed::Long(long) => Relayed::Long(haft_server::LongResult {
            begun: long.begun(),
            rest: Box::new(Long { long, upstream: Arc::clone(upstream), client }),
        }),
    }
}

/// The pieces of a long result.
struct Long {
    long: Box<LongResult>,
    upstream: Arc<Upstream>,
    /// In use until the last has come.
    client: Taken,
}

impl Pieces for Long {
    fn said(&self) -> Said {
        self.long.said()
    }

    fn poll_piece(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        let piece = ready!(self.long.poll_piece(cx));
        if piece.is_none() {
            self.client.served();
        }
        Poll::Ready(piece.map(|piece| piece.map_err(|error| self.upstream.refusal(error))))
    }
}

/// JSON text of a string.
fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    encode::string(&mut out, text);
    String::from_utf8(out).expect("encoders write UTF-8")
}

/// Whether suggestions are wanted for a prompt.
fn is_of_prompt(reference: &str) -> bool {
    let kind = member(reference, "type").and_then(JsonStr::from_raw);
    kind.is_some_and(|kind| kind.decode() == "ref/prompt")
}

/// The members of parameters, without what is between this server and its client.
pub(crate) fn members(params: &str) -> Result<Vec<(&str, &str)>, Refusal> {
    let malformed = |_| Refusal::new(Mistake::InvalidParams, "Invalid params: not an object");
    let mut cursor = Cursor::new(params, DEPTH_MAX);
    cursor.enter_object().map_err(malformed)?;
    let (mut members, mut is_first) = (Vec::new(), true);
    while let Some(key) = cursor.next_key(&mut is_first).map_err(malformed)? {
        let value = cursor.value().map_err(malformed)?;
        if !matches!(&*key.decode(), "_meta" | "inputResponses" | "requestState") {
            members.push((plain(key), value));
        }
    }
    Ok(members)
}

/// A key as it is written where it need not be escaped, for what is known by its name.
fn plain(key: JsonStr<'_>) -> &str {
    const KNOWN: [&str; 5] = ["argument", "context", "name", "ref", "uri"];
    let decoded = key.decode();
    KNOWN.into_iter().find(|known| *known == decoded).unwrap_or_else(|| key.raw())
}

/// What an upstream says while a request runs. A line of its log does not say whose it is: of
/// several requests, it may be about that of another client.
pub(crate) fn tell(upstream: &Upstream, context: &Context, notice: Notice) {
    match notice {
        Notice::Progress { progress, total, message } => {
            context.progress(progress, total, message.as_deref());
        }
        Notice::Log { level, data, .. } if upstream.runs_one() => {
            context.log(Level::parse(&level).unwrap_or(Level::Info), data);
        }
        Notice::Unasked { method } => context.lacks(method),
        // What is a task there is one here too, if its client takes tasks.
        Notice::Task => context.ask_for_task(),
        Notice::Status { message } => context.status(&message),
        Notice::Log { .. } => {}
    }
}
