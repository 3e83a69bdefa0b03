//! A call of an upstream's tool is passed on: its arguments as they came, the answer as it comes,
//! and what is said meanwhile. Made by `catalogue`, run by the server.

use crate::upstream::{Loss, Upstream};
use haft_client::Notice;
use haft_proto::error::Refusal;
use haft_proto::spec::level::Level;
use haft_server::handler::{Answer, Call, Handler, Made};
use haft_server::{Context, Relayed};
use std::sync::Arc;

/// The way to a tool of an upstream. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Forward {
    pub(crate) upstream: Arc<Upstream>,
    /// Its name there.
    pub(crate) tool: Arc<str>,
    /// Doing it twice is like doing it once, by its own word.
    pub(crate) is_repeatable: bool,
}

impl Handler for Forward {
    fn call(&self, call: Call<'_>, _: Answer<'_>) -> Made {
        let (way, arguments) = (self.clone(), Box::<str>::from(call.arguments));
        let context = call.context();
        Made::Relayed(Box::pin(async move { way.ask(&arguments, &context).await }))
    }
}

impl Forward {
    /// A call that was lost on its way is made once more, if nothing can come of that.
    async fn ask(&self, arguments: &str, context: &Context) -> Result<Relayed, Refusal> {
        let _running = self.upstream.count();
        let mut listener = |notice| tell(context, notice);
        let mut is_first = true;
        loop {
            let client = self.upstream.client().await?;
            let asked = client.call_tool_raw(&self.tool, arguments, &mut listener).await;
            let error = match asked {
                Ok(result) => return Ok(Relayed(result)),
                Err(error) => error,
            };
            let loss = Loss::by(&error);
            if loss != Loss::None {
                self.upstream.suspect(&client);
            }
            let may_ask_again =
                loss == Loss::NotBegun || loss == Loss::Unknown && self.is_repeatable;
            if !may_ask_again || !is_first {
                return Err(self.upstream.refusal(error));
            }
            is_first = false;
        }
    }
}

/// What an upstream says while a call runs.
fn tell(context: &Context, notice: Notice) {
    match notice {
        Notice::Progress { progress, total, message } => {
            context.progress(progress, total, message.as_deref());
        }
        Notice::Log { level, data, .. } => {
            context.log(Level::parse(&level).unwrap_or(Level::Info), data);
        }
        // The call is a task there, which the client need not know.
        Notice::Status { .. } => {}
    }
}
