//! What clients ask while upstreams begin. What there is already is answered at once; lists wait
//! for the upstreams that have not answered yet, and so does what nobody here knows and may be
//! theirs, but not for long: afterwards clients are told that lists have changed, as at any time.
//! Around the server of a file; the wires ask it.

use crate::gateway::Shared;
use haft_proto::encode;
use haft_proto::envelope::{self, Envelope, Id, Incoming};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::mirror::{Field, Headers};
use haft_proto::service::{
    Ask, Feed, Later, Outcome, Outlet, Principal, Reply, Service, Turn, Wire,
};
use haft_proto::session::Session;
use haft_proto::version::Revision;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// See above.
pub(crate) struct Early {
    service: Arc<dyn Service>,
    shared: Arc<Shared>,
    limits: Limits,
    until: Instant,
    is_over: AtomicBool,
}

impl Early {
    /// From now on, for so long.
    pub(crate) fn new(
        service: Arc<dyn Service>,
        shared: &Arc<Shared>,
        limits: &Limits,
        wait: Duration,
    ) -> Self {
        let (shared, limits) = (Arc::clone(shared), limits.clone());
        let (until, is_over) = (Instant::now() + wait, AtomicBool::new(false));
        Self { service, shared, limits, until, is_over }
    }

    fn is_over(&self) -> bool {
        if self.is_over.load(Ordering::Relaxed) {
            return true;
        }
        let is_over = Instant::now() >= self.until || self.shared.have_all_settled();
        self.is_over.store(is_over, Ordering::Relaxed);
        is_over
    }

    /// Answers when there is more to answer with.
    fn later(&self, ask: &Ask<'_>) -> Turn {
        let mut waiting = self.shared.settling();
        let (service, shared, until) =
            (Arc::clone(&self.service), Arc::clone(&self.shared), self.until);
        let (asked, limits) = (Asked::copy(ask), self.limits.clone());
        Turn::Later(Box::pin(async move {
            loop {
                let is_late = shared.have_all_settled() || Instant::now() >= until;
                if (is_late || !is_list(asked.method))
                    && let Some(later) = asked.again(&*service, &limits, is_late)
                {
                    return later.await;
                }
                // It cannot end before this, and if its time is over, that is seen above.
                _ = timeout_at(until, waiting.changed()).await;
            }
        }))
    }
}

impl Service for Early {
    fn ask(&self, ask: Ask<'_>, out: &mut Vec<u8>) -> Turn {
        if self.is_over() {
            return self.service.ask(ask, out);
        }
        if is_list(ask.method) {
            return self.later(&ask);
        }
        if !is_of_one(ask.method) {
            return self.service.ask(ask, out);
        }
        let before = out.len();
        let turn = self.service.ask(Ask { ..ask }, out);
        match turn {
            // What is known to be there has been compared.
            Turn::Done(Outcome::Refused(Mistake::HeaderMismatch)) => turn,
            Turn::Done(Outcome::Refused(_)) => {
                out.truncate(before);
                self.later(&ask)
            }
            turn => turn,
        }
    }

    fn news(&self, session: &Arc<Session>) -> Option<Box<dyn Feed>> {
        self.service.news(session)
    }
}

fn is_list(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
    )
}

/// Whether it is asked of something that an upstream may have.
fn is_of_one(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead | Method::Complete
    )
}

/// A request that is asked again.
struct Asked {
    /// The message, without what nobody looks at any more.
    message: String,
    method: Method,
    revision: Revision,
    session: Option<Arc<Session>>,
    principal: Principal,
    headers: Option<Copied>,
    back: Back,
}

/// The headers of a request, by their names in lower case.
struct Copied(Vec<(Box<str>, Box<[u8]>)>);

impl Headers for Copied {
    fn field(&self, name: &str) -> Field<'_> {
        let mut found = self.0.iter().filter(|(known, _)| **known == *name);
        match (found.next(), found.next()) {
            (None, _) => Field::Absent,
            (Some((_, value)), None) => Field::One(value),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }

    fn each(&self, act: &mut dyn FnMut(&str, &[u8])) {
        self.0.iter().for_each(|(name, value)| act(name, value));
    }
}

/// The way back to whoever asked.
struct Back(Arc<dyn Outlet>);

impl Wire for Back {
    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::clone(&self.0)
    }
}

impl Asked {
    fn copy(ask: &Ask<'_>) -> Self {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}}"#,
            ask.id.raw(),
            ask.method.name(),
            ask.message.params.raw.unwrap_or("{}"),
        );
        Self {
            message,
            method: ask.method,
            revision: ask.revision,
            session: ask.session.cloned(),
            principal: ask.principal.clone(),
            headers: ask.headers.map(|headers| {
                let mut copied = Vec::new();
                headers.each(&mut |name, value| copied.push((name.into(), value.into())));
                Copied(copied)
            }),
            back: Back(ask.wire.outlet()),
        }
    }

    /// The answer, unless it is a refusal at once and not the last word.
    fn again(&self, service: &dyn Service, limits: &Limits, is_last: bool) -> Option<Later> {
        let mut out = Vec::new();
        let read = envelope::read(self.message.as_bytes(), limits);
        let (message, id) = match &read {
            Ok(Incoming::One(message @ Envelope { id: Some(id), .. })) => (message, *id),
            _ => return Some(Box::pin(ready(cannot(None)))),
        };
        let ask = Ask {
            message,
            id,
            method: self.method,
            revision: self.revision,
            session: self.session.as_ref(),
            principal: &self.principal,
            headers: self.headers.as_ref().map(|headers| headers as &dyn Headers),
            wire: &self.back,
        };
        let reply = match service.ask(ask, &mut out) {
            Turn::Done(Outcome::Refused(_)) if !is_last => return None,
            Turn::Done(outcome) => Reply::new(out, outcome),
            Turn::Listed(rest) => {
                out.extend_from_slice(rest.as_bytes());
                Reply::new(out, Outcome::Result)
            }
            Turn::Later(later) => return Some(later),
            Turn::Stream(_) => cannot(Some(id)),
        };
        Some(Box::pin(ready(reply)))
    }
}

/// None of these is answered with a stream, and what was read once can be read again.
fn cannot(id: Option<Id<'_>>) -> Reply {
    let (mut message, mistake) = (Vec::new(), Mistake::Internal);
    let refusal = Refusal::new(mistake, "Internal error: the request cannot be asked again");
    encode::error(&mut message, id, &refusal);
    Reply::new(message, Outcome::Refused(mistake))
}
