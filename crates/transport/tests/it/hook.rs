//! What a test puts before the server of the fixture, and what it answers with.

use haft_proto::encode;
use haft_proto::service::{Ask, Feed, Outcome, Reply, Service, Turn};
use haft_proto::session::Session;
use haft_server::Server;
use std::sync::Arc;

/// What a test puts before the server: what it does not answer, the server does.
pub(crate) trait Hook: Send + Sync + 'static {
    fn ask(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<Turn>;

    fn news(&self, session: &Arc<Session>) -> Option<Box<dyn Feed>> {
        let _ = session;
        None
    }
}

impl<F> Hook for F
where
    F: Fn(&Ask<'_>, &mut Vec<u8>) -> Option<Turn> + Send + Sync + 'static,
{
    fn ask(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<Turn> {
        self(ask, out)
    }
}

/// A server with a hook before it.
pub(crate) struct Hooked<H> {
    pub(crate) server: Server,
    pub(crate) hook: H,
}

impl<H: Hook> Service for Hooked<H> {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        self.hook.ask(&ask, out).unwrap_or_else(|| self.server.ask(ask, out))
    }

    fn news(&self, session: &Arc<Session>) -> Option<Box<dyn Feed>> {
        self.hook.news(session)
    }
}

/// The name of the tool that is called, with its quotes.
pub(crate) fn tool_of<'a>(ask: &Ask<'a>) -> &'a str {
    ask.message.params.name.unwrap_or_default()
}

/// A result of that text, now.
pub(crate) fn text(ask: &Ask<'_>, out: &mut Vec<u8>, text: &str) -> Turn {
    encode::result(out, ask.id, |out| {
        let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
        out.extend_from_slice(result.to_string().as_bytes());
    });
    Turn::Done(Outcome::Result)
}

/// The same, later.
pub(crate) fn reply(id: &str, text: &str) -> Reply {
    let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes();
    Reply::new(message, Outcome::Result)
}
