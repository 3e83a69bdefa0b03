//! The path of `completion/complete`: look up → run → write. Called by `dispatch`; knows no wire.

use crate::calls::refuse;
use crate::completion::{Completer, Completing};
use crate::core::Core;
use crate::driver::{Ending, Job, Written};
use crate::face::Face;
use crate::reads::{given, shown, timed_out};
use crate::registry::Snapshot;
use crate::relay::{self, Far};
use crate::schema::wording::one_line;
use haft_proto::encode;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::service::{Ask, Turn};
use haft_proto::spec::completion::Completion;
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Answers `completion/complete`.
pub(crate) fn complete(
    core: &Arc<Core>,
    snapshot: &Arc<Snapshot>,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Turn {
    let (completer, typing) = match admit_completion(snapshot, ask) {
        Ok(Suggester::Far(far, name)) => {
            return relay::relay((core, snapshot), ask, (far, &name), None, out);
        }
        Ok(Suggester::Here(completer, typing)) => (completer, typing),
        Err(refusal) => return refuse(out, ask.id, &refusal),
    };
    mark(Stage::Validate);
    let face = Arc::clone(&snapshot.face);
    let ending = CompletionEnding { face, revision: ask.revision };
    let work = Box::pin(async move {
        match completer {
            Some(completer) => completer.complete(typing).await,
            None => Ok(Completion::default()),
        }
    });
    Job::new(core, ask, ending, work, None, core.limits.request_timeout).start(false, out)
}

/// Who suggests values.
enum Suggester<'a> {
    /// Another server, for what has that name here.
    Far(&'a Far, String),
    Here(Option<Completer>, Completing),
}

/// What suggests values for the argument that is being typed. An argument without suggestions has
/// none; one that is not there is a mistake.
fn admit_completion<'a>(snapshot: &'a Snapshot, ask: &Ask<'_>) -> Result<Suggester<'a>, Refusal> {
    #[derive(Deserialize)]
    struct Written {
        r#ref: Reference,
        argument: Argument,
        context: Option<Known>,
    }
    #[derive(Deserialize)]
    #[serde(tag = "type")]
    enum Reference {
        #[serde(rename = "ref/prompt")]
        Prompt { name: String },
        #[serde(rename = "ref/resource")]
        Resource { uri: String },
    }
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    #[derive(Default, Deserialize)]
    struct Known {
        arguments: Option<BTreeMap<String, Option<String>>>,
    }
    let invalid = |message: String| Refusal::new(Mistake::InvalidParams, message);
    let written: Written = serde_json::from_str(ask.message.params.raw.unwrap_or("{}"))
        .map_err(|error| invalid(format!("Invalid params: {}", one_line(&error.to_string()))))?;
    let argument = &written.argument.name;
    let (completers, is_known, of) = match &written.r#ref {
        Reference::Prompt { name } => {
            let prompt = snapshot.prompts.find(name);
            let unknown = || invalid(format!("Unknown prompt: {:?}", shown(name)));
            let prompt = prompt.ok_or_else(unknown)?;
            if let Some(far) = &prompt.far {
                return Ok(Suggester::Far(far, prompt.name().to_owned()));
            }
            let mut arguments = prompt.spec.arguments.iter();
            (&prompt.completers, arguments.any(|known| known.name == *argument), name)
        }
        Reference::Resource { uri } => {
            let family = snapshot.templates.find(uri);
            let unknown = || invalid(format!("Unknown resource template: {:?}", shown(uri)));
            let family = family.ok_or_else(unknown)?;
            if let Some(far) = &family.built.far {
                return Ok(Suggester::Far(far, family.built.uri_template().to_owned()));
            }
            let mut variables = family.template.variables();
            (&family.built.completers, variables.any(|known| known == argument), uri)
        }
    };
    if !is_known {
        let argument = shown(argument);
        return Err(invalid(format!("Invalid params: {of:?} has no argument {argument:?}")));
    }
    let completer = completers.find(argument).cloned();
    let Argument { value, .. } = written.argument;
    let known = written.context.unwrap_or_default().arguments.unwrap_or_default();
    Ok(Suggester::Here(completer, Completing { value, arguments: given(known) }))
}

/// How suggestions end.
struct CompletionEnding {
    face: Arc<Face>,
    revision: Revision,
}

impl Ending for CompletionEnding {
    type Made = Result<Completion, Refusal>;

    fn face(&self) -> &Face {
        &self.face
    }

    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written {
        encode::prompt::completion(out, self.face.fields(self.revision), &made?);
        Ok(None)
    }

    fn has_failed(made: &Self::Made) -> bool {
        made.is_err()
    }

    fn too_long(&self, limit: Duration, _: &mut Vec<u8>) -> Result<(), Refusal> {
        Err(timed_out("completion", limit))
    }

    const KIND: &'static str = "completion";
}
