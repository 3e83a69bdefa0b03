//! Questions that a legacy client has been asked and has not answered: each goes out on its call's
//! own way back, and the answer finds whoever waits for it by the question's id. Of one
//! conversation; no answer of another ever comes here.

use crate::outlet::Sink;
use haft_proto::encode;
use haft_proto::envelope::{Envelope, Id, Rejected};
use haft_proto::json::JsonStr;
use haft_proto::method::Method;
use haft_proto::service::{Asked, Unanswered};
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// All questions of one conversation. Takes no memory while nothing is asked.
pub(crate) struct Questions {
    open: Mutex<Open>,
    limit: usize,
}

#[derive(Default)]
struct Open {
    /// What the last question was numbered.
    last: u64,
    is_closed: bool,
    waiting: Vec<Waiting>,
}

struct Waiting {
    number: u64,
    waker: Option<Waker>,
    answer: Option<Answer>,
}

/// Raw JSON of a result, or why there is none.
type Answer = Result<Box<str>, Unanswered>;

/// What no client would name its own requests.
const PREFIX: &str = "haft-";

impl Questions {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), limit })
    }

    /// Asks a question on the way back of a call.
    pub(crate) fn ask(
        self: &Arc<Self>,
        sink: &Arc<dyn Sink>,
        method: Method,
        mut params: String,
    ) -> Asked {
        let number = match self.begin() {
            Ok(number) => number,
            Err(unanswered) => return Box::pin(ready(Err(unanswered))),
        };
        // Wires frame by lines; a line break in JSON text means nothing.
        params.retain(|letter| !matches!(letter, '\n' | '\r'));
        let mut message = Vec::with_capacity(params.len() + 96);
        encode::call(&mut message, Some(&id_of(number)), method.name(), Some(&params));
        let questions = Arc::clone(self);
        sink.ask(message, Unsent { questions: Arc::clone(self), number });
        Box::pin(Question { questions, sink: Arc::clone(sink), number, is_over: false })
    }

    /// Takes a client's answer, if it answers a question that waits.
    pub(crate) fn hear(&self, message: &Envelope<'_>) {
        let answer = match (message.result, message.error) {
            (Some(result), _) => Ok(result.into()),
            (None, Some(error)) => Err(Unanswered::Refused(error.into())),
            (None, None) => return,
        };
        if let Some(number) = message.id.and_then(number_of) {
            self.settle(number, answer);
        }
    }

    /// Takes an answer that cannot be read: its question is over. False if it is none to what was
    /// asked.
    pub(crate) fn hear_unreadable(&self, rejected: &Rejected<'_>) -> bool {
        let Some(number) = rejected.id.and_then(number_of) else { return false };
        let mut error = Vec::new();
        encode::error_object(&mut error, &rejected.reason.into());
        let error = String::from_utf8_lossy(&error).into_owned();
        self.settle(number, Err(Unanswered::Refused(error.into())));
        true
    }

    /// Nobody will answer any more.
    pub(crate) fn close(&self) {
        let mut wakers = Vec::new();
        {
            let mut open = self.lock();
            open.is_closed = true;
            for waiting in &mut open.waiting {
                waiting.answer.get_or_insert(Err(Unanswered::Gone));
                wakers.extend(waiting.waker.take());
            }
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    fn begin(&self) -> Result<u64, Unanswered> {
        let mut open = self.lock();
        if open.is_closed {
            return Err(Unanswered::Gone);
        }
        if open.waiting.len() >= self.limit {
            return Err(Unanswered::TooMany);
        }
        open.last += 1;
        let number = open.last;
        open.waiting.push(Waiting { number, waker: None, answer: None });
        Ok(number)
    }

    /// The first answer counts.
    fn settle(&self, number: u64, answer: Answer) {
        let waker = {
            let mut open = self.lock();
            let waiting = open.waiting.iter_mut().find(|waiting| waiting.number == number);
            let Some(waiting) = waiting else { return };
            waiting.answer.get_or_insert(answer);
            waiting.waker.take()
        };
        waker.inspect(Waker::wake_by_ref);
    }

    fn poll(&self, number: u64, cx: &Context<'_>) -> Poll<Answer> {
        let mut open = self.lock();
        let Some(at) = open.waiting.iter().position(|waiting| waiting.number == number) else {
            return Poll::Ready(Err(Unanswered::Gone));
        };
        match open.waiting[at].answer.take() {
            Some(answer) => {
                open.forget(at);
                Poll::Ready(answer)
            }
            None => {
                open.waiting[at].waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Forgets a question; true if nobody has answered it.
    fn forget(&self, number: u64) -> bool {
        let mut open = self.lock();
        let at = open.waiting.iter().position(|waiting| waiting.number == number);
        at.is_some_and(|at| open.forget(at).answer.is_none())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn forget(&mut self, at: usize) -> Waiting {
        let waiting = self.waiting.swap_remove(at);
        if self.waiting.is_empty() {
            self.waiting = Vec::new();
        }
        waiting
    }
}

/// Raw JSON of a question's id.
fn id_of(number: u64) -> String {
    format!("\"{PREFIX}{number}\"")
}

fn number_of(id: Id<'_>) -> Option<u64> {
    let id = JsonStr::from_raw(id.raw())?.decode();
    let number = id.strip_prefix(PREFIX)?.parse().ok()?;
    (id == format!("{PREFIX}{number}")).then_some(number)
}

/// A question on its way out. Dropped before it is sent, it tells whoever waits that its client
/// is gone.
pub(crate) struct Unsent {
    questions: Arc<Questions>,
    number: u64,
}

impl Unsent {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// It is with the client now, or kept for it.
    pub(crate) fn sent(mut self) {
        // No question has this number.
        self.number = 0;
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.questions.settle(self.number, Err(Unanswered::Gone));
    }
}

/// A question that waits for its answer. Dropping it takes it back.
struct Question {
    questions: Arc<Questions>,
    sink: Arc<dyn Sink>,
    number: u64,
    is_over: bool,
}

impl Future for Question {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let answer = self.questions.poll(self.number, cx);
        self.is_over = answer.is_ready();
        answer
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.is_over && self.questions.forget(self.number) {
            let mut cancellation = Vec::new();
            let params = format!("{{\"requestId\":{}}}", id_of(self.number));
            let method = Method::Cancelled.name();
            encode::call(&mut cancellation, None, method, Some(&params));
            self.sink.take_back(self.number, cancellation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlet::Queue;
    use haft_proto::limits::Limits;

    #[test]
    fn questions_that_are_given_up_leave_nothing_behind() {
        let queue = Queue::new(&Limits::default());
        let sink = Arc::<Queue>::clone(&queue) as Arc<dyn Sink>;
        let questions = Questions::new(1);
        for _ in 0..10_000 {
            drop(questions.ask(&sink, Method::RootsList, "{}".to_owned()));
        }
        let pop = || queue.take().and_then(|mut said| said.pop());
        assert_eq!(pop(), None, "what was not sent need not be taken back");
        let asked = questions.ask(&sink, Method::RootsList, "{}".to_owned());
        assert!(pop().is_some());
        drop(asked);
        let cancelled = pop().expect("it was sent");
        let expected = r#"{"jsonrpc":"2.0","method":"notifications/cancelled",
            "params":{"requestId":"haft-10001"}}"#;
        let expected: String = expected.lines().map(str::trim_start).collect();
        assert_eq!(String::from_utf8_lossy(&cancelled), expected);
        assert_eq!(questions.lock().waiting.capacity(), 0);
    }
}
