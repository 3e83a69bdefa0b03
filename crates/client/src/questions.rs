//! The questions of one legacy server that are open at the moment, each answered by a task of its
//! own. The stdio wire keeps one, and each stream of events over HTTP; dropping it takes the
//! questions back. It decides what is answered at once, and sends through whoever keeps it.

use crate::answerer::Declined;
use crate::desk::Desk;
use crate::error::ClientError;
use crate::inquiry::Inquiry;
use crate::message::{answered, declined};
use crate::passing::{Whom, not_offered, unknown};
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
        whom: Whom,
        send: impl FnOnce(Vec<u8>) -> F + Send + 'static,
    ) -> Option<Vec<u8>>
    where
        F: Future<Output = Result<(), ClientError>> + Send + 'static,
    {
        let Asked { id, method, params } = asked;
        if Method::find(&method) == Some(Method::Ping) {
            return Some(answered(&id, "{}"));
        }
        match whom {
            Whom::Answerer => {}
            Whom::Nobody => return Some(declined(&id, &not_offered(&method))),
            Whom::Unknown(running) => return Some(declined(&id, &unknown(running))),
            Whom::Inquirer(inquirer) => match inquirer.put(&method, params.as_deref()) {
                Ok(answer) => {
                    self.answer(id, answer, send);
                    return None;
                }
                Err(why) => return Some(declined(&id, &why)),
            },
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
        let desk = Arc::clone(&self.desk);
        let answer = async move {
            let answer = desk.answer(&inquiry).await;
            // From here on it is the server that takes time.
            drop(admitted);
            answer
        };
        self.answer(id, answer, send);
        None
    }

    /// Sends the answer once it is there.
    fn answer<F>(
        &mut self,
        id: String,
        answer: impl Future<Output = Result<String, Declined>> + Send + 'static,
        send: impl FnOnce(Vec<u8>) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), ClientError>> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        self.by_id.retain(|_, task| !task.is_finished());
        let ours = id.clone();
        let task = self.tasks.spawn(async move {
            send(match answer.await {
                Ok(result) => answered(&ours, &result),
                Err(why) => declined(&ours, &why),
            })
            .await
        });
        self.by_id.insert(id, task);
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
