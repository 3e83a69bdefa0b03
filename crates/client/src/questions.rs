//! The questions of one legacy server that are open at the moment, each answered by a task of its
//! own. The stdio wire keeps one, and each stream of events over HTTP; dropping it takes the
//! questions back. It decides what is answered at once, and sends through whoever keeps it.

use crate::answerer::Declined;
use crate::desk::Desk;
use crate::error::ClientError;
use crate::inquiry::Inquiry;
use crate::message::{answered, declined};
use haft_proto::error::Mistake;
use haft_proto::method::Method;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::{AbortHandle, JoinSet};

/// A request that came from the server.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Its id, as JSON text.
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// Questions that are being answered.
#[derive(Debug)]
pub(crate) struct OpenQuestions {
    desk: Arc<Desk>,
    tasks: JoinSet<Result<(), ClientError>>,
    by_id: HashMap<String, AbortHandle>,
}

impl OpenQuestions {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, tasks: JoinSet::new(), by_id: HashMap::new() }
    }

    /// Takes a question. What needs nobody is answered at once, by the message that comes back;
    /// otherwise `send` gets the answer when there is one.
    pub(crate) fn take<F>(
        &mut self,
        asked: Asked,
        send: impl FnOnce(Vec<u8>) -> F + Send + 'static,
    ) -> Option<Vec<u8>>
    where
        F: Future<Output = Result<(), ClientError>> + Send + 'static,
    {
        let Asked { id, method, params } = asked;
        if Method::find(&method) == Some(Method::Ping) {
            return Some(answered(&id, "{}"));
        }
        let inquiry = match Inquiry::read(&method, params.as_deref(), self.desk.offers()) {
            Ok(inquiry) => inquiry,
            Err(unasked) => return Some(declined(&id, &unasked.into())),
        };
        let Some(admitted) = self.desk.admit() else {
            let message = "Overloaded: the server asks too much; finish a request first".to_owned();
            let code = Mistake::Overloaded.code();
            return Some(declined(&id, &Declined { code, message }));
        };
        while self.tasks.try_join_next().is_some() {}
        self.by_id.retain(|_, task| !task.is_finished());
        let desk = Arc::clone(&self.desk);
        let ours = id.clone();
        let task = self.tasks.spawn(async move {
            let answer = desk.answer(&inquiry).await;
            // From here on it is the server that takes time.
            drop(admitted);
            send(match answer {
                Ok(result) => answered(&ours, &result),
                Err(why) => declined(&ours, &why),
            })
            .await
        });
        self.by_id.insert(id, task);
        None
    }

    /// The server no longer waits for an answer.
    pub(crate) fn take_back(&mut self, id: &str) {
        self.by_id.remove(id).as_ref().map(AbortHandle::abort).unwrap_or_default();
    }

    /// Ends when an answer could not be sent, or its question not be answered: never, if all goes
    /// well.
    pub(crate) async fn failed(&mut self) -> ClientError {
        loop {
            match self.tasks.join_next().await {
                None => std::future::pending().await,
                Some(Ok(Err(error))) => return error,
                Some(Err(error)) if error.is_panic() => {
                    let reason = "the answerer panicked".to_owned();
                    return ClientError::AnswerFailed { reason };
                }
                Some(_) => {}
            }
        }
    }
}
