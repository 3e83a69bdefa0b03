//! The rest of a request whose handler waits: its time limit, its panics, its questions, and the
//! answer in the end. The same for tools, resources and prompts; what they answer with is written
//! by their [`Ending`].

use crate::context::{Context, Place, Stop};
use crate::core::Core;
use crate::face::Face;
use crate::relay::{self, LongReply, Pieces};
use crate::rounds::{Binding, Pause};
use crate::task_calls::reply;
use crate::task_store::TaskState;
use crate::tasks::{Running, failure};
use haft_proto::encode;
use haft_proto::envelope::Id;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::service::{Ask, Outcome, Principal, Reply, Rest, Turn};
use haft_proto::version::Revision;
use haft_stages::{Stage, mark};
use serde_json::value::RawValue;
use std::future::{Future, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How requests of one kind end.
pub(crate) trait Ending: Send + 'static {
    /// What the handler makes.
    type Made: Send + 'static;

    /// What the server said of itself when the request came.
    fn face(&self) -> &Face;

    /// Appends what is asked for, as a list has it, if what a client keeps is good for that alone.
    fn define(&self, _: &mut Vec<u8>) {}

    /// Appends the result that it is, or how a long one begins.
    ///
    /// # Errors
    /// What to answer instead.
    fn write(&self, made: Self::Made, out: &mut Vec<u8>) -> Written;

    /// Whether the handler says that it failed.
    fn has_failed(made: &Self::Made) -> bool;

    /// Appends the result of a handler that took too long.
    ///
    /// # Errors
    /// What to answer instead.
    fn too_long(&self, limit: Duration, out: &mut Vec<u8>) -> Result<(), Refusal>;

    /// What broke, if it panics: "tool", say.
    const KIND: &'static str;
}

/// How a result goes on of which only the beginning was written.
pub(crate) type Written = Result<Option<Box<dyn Pieces>>, Refusal>;

/// A request whose handler has begun.
pub(crate) struct Job<E: Ending> {
    pub(crate) core: Arc<Core>,
    pub(crate) ending: E,
    pub(crate) work: Careful<E::Made>,
    /// What the handler got, if it wanted it.
    pub(crate) context: Option<Context>,
    pub(crate) timeout: Duration,
    /// Raw JSON.
    id: Box<str>,
    revision: Revision,
    binding: Option<Binding>,
    principal: Principal,
    task_ttl: Option<Duration>,
}

/// How often the time of a call is looked at while its client is asked.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Room for most answers.
const ANSWER_BYTES: usize = 512;

/// Why a handler does not go on.
enum Ended<T> {
    Made(T),
    Panicked,
    Paused(Pause),
    TookTooLong,
}

impl<E: Ending> Job<E> {
    pub(crate) fn new(
        core: &Arc<Core>,
        ask: &Ask<'_>,
        ending: E,
        work: Pin<Box<dyn Future<Output = E::Made> + Send>>,
        context: Option<Context>,
        timeout: Duration,
    ) -> Self {
        // Only a context can ask.
        let has_rounds = context
            .as_ref()
            .is_some_and(|context| matches!(context.desk().place, Place::Rounds(_)));
        Self {
            core: Arc::clone(core),
            ending,
            work: Careful(Some(work)),
            context,
            timeout,
            id: ask.id.raw().into(),
            revision: ask.revision,
            binding: has_rounds.then(|| Binding::of(ask)),
            principal: ask.principal.clone(),
            task_ttl: None,
        }
    }

    /// How long it may run as a task.
    pub(crate) fn with_task_ttl(mut self, ttl: Option<Duration>) -> Self {
        self.task_ttl = ttl;
        self
    }

    /// Answers at once if the handler does not wait for anything, else later, or with a task.
    pub(crate) fn start(mut self, becomes_task: bool, out: &mut Vec<u8>) -> Turn {
        if becomes_task {
            return Turn::Later(Box::pin(self.become_task()));
        }
        // Whoever awaits the rest polls again, with a waker that wakes.
        match self.poll(&mut task::Context::from_waker(Waker::noop())) {
            Poll::Ready(Ended::Paused(Pause::BecomesTask)) => {
                Turn::Later(Box::pin(self.become_task()))
            }
            Poll::Ready(ended) => {
                let start = out.len();
                match self.settle(ended, out) {
                    (outcome, None) => Turn::Done(outcome),
                    (outcome, rest) => {
                        let message = out.split_off(start);
                        Turn::Later(Box::pin(ready(Reply { message, outcome, rest })))
                    }
                }
            }
            Poll::Pending => Turn::Later(Box::pin(self.finish())),
        }
    }

    async fn finish(mut self) -> Reply {
        let begun = Instant::now();
        let ended = {
            let mut alarm = pin!(sleep(self.timeout));
            poll_fn(|cx| {
                if let Poll::Ready(ended) = self.poll(cx) {
                    return Poll::Ready(ended);
                }
                while alarm.as_mut().poll(cx).is_ready() {
                    let allowed = self.timeout.saturating_add(self.waited());
                    let rest = allowed.saturating_sub(begun.elapsed());
                    if rest.is_zero() {
                        return Poll::Ready(Ended::TookTooLong);
                    }
                    // While the client is asked, the rest does not get less.
                    let pause = if self.is_waiting() { LOOK_AGAIN } else { Duration::ZERO };
                    alarm.set(sleep(rest.max(pause)));
                }
                Poll::Pending
            })
            .await
        };
        // However it ended, the time was the handler's.
        mark(Stage::Handler);
        if let Ended::Paused(Pause::BecomesTask) = ended {
            return self.become_task().await;
        }
        let mut message = Vec::new();
        let (outcome, rest) = self.settle(ended, &mut message);
        Reply { message, outcome, rest }
    }

    /// The call is answered with a task, and goes on without its client.
    async fn become_task(self) -> Reply {
        let task = match self.core.tasks.begin(&self.principal, self.task_ttl).await {
            Ok(task) => task,
            Err(refusal) => return reply(&self.id, Err(refusal)),
        };
        let mut created = Vec::new();
        let (info, id) = (&self.ending.face().info, self.id.clone());
        task.with_task(self.core.tasks.poll_interval(), |task| {
            encode::task::created(&mut created, self.revision, info, task);
        });
        self.burn();
        if let Some(context) = &self.context {
            context.desk().move_to(Arc::clone(&task));
        }
        let running = tokio::spawn(self.run_task(Arc::clone(&task)));
        task.set_abort(running.abort_handle());
        reply(&id, Ok(created))
    }

    async fn run_task(mut self, task: Arc<Running>) {
        self.timeout = task.ttl();
        let ended = match timeout(self.timeout, poll_fn(|cx| self.poll(cx))).await {
            Ok(ended) => ended,
            Err(_) => Ended::TookTooLong,
        };
        let mut result = Vec::new();
        let written = match self.write(ended, &mut result) {
            Ok(Some(pieces)) => {
                let gathered = timeout(self.timeout, relay::gather(pieces, &mut result)).await;
                gathered.unwrap_or_else(|_| {
                    result.clear();
                    self.ending.too_long(self.timeout, &mut result)
                })
            }
            written => written.map(|_| ()),
        };
        let state = match written {
            Ok(()) => {
                let result = String::from_utf8(result).expect("encoders write UTF-8");
                let result = RawValue::from_string(result).expect("encoders write JSON");
                TaskState::Completed { result }
            }
            Err(refusal) => failure(&refusal),
        };
        self.core.tasks.end(&task, state).await;
    }

    fn is_waiting(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.desk().waiting.is_some())
    }

    fn waited(&self) -> Duration {
        self.context.as_ref().map_or(Duration::ZERO, |context| context.desk().waited())
    }

    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Ended<E::Made>> {
        match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.work).poll(cx))) {
            Ok(Poll::Ready(made)) => {
                mark(Stage::Handler);
                Poll::Ready(Ended::Made(made))
            }
            Ok(Poll::Pending) => match self.pause(cx.waker()) {
                Some(pause) => Poll::Ready(Ended::Paused(pause)),
                None => Poll::Pending,
            },
            Err(_) => Poll::Ready(Ended::Panicked),
        }
    }

    fn pause(&self, driver: &Waker) -> Option<Pause> {
        let mut desk = self.context.as_ref()?.desk();
        let is_doing = desk.doing > 0;
        let pause = match &mut desk.place {
            // What is done once is not cut off, to be done again in the next round.
            Place::Rounds(rounds) if is_doing && rounds.must_pause() => {
                desk.driven_by(driver);
                return None;
            }
            // Questions come first: nobody would answer them once the call is a task.
            Place::Rounds(rounds) => rounds.pause(),
            Place::Over | Place::Task(_) | Place::Wire => None,
        };
        let pause = pause.or_else(|| desk.wants_task.then_some(Pause::BecomesTask));
        if pause.is_none() {
            desk.driven_by(driver);
        }
        pause
    }

    /// Appends the answer, or how a long one begins.
    fn settle(&self, ended: Ended<E::Made>, out: &mut Vec<u8>) -> (Outcome, Option<Box<dyn Rest>>) {
        let start = out.len();
        out.reserve(ANSWER_BYTES);
        let id = Id::from_raw(&self.id, usize::MAX).expect("it was an id when the request came");
        encode::begin_result(out, id);
        match self.write(ended, out) {
            Ok(rest) => {
                self.burn();
                let rest = match rest {
                    Some(pieces) => Some(LongReply::rest(id, pieces)),
                    None => {
                        out.push(encode::END_OF_RESULT);
                        None
                    }
                };
                (Outcome::Result, rest)
            }
            Err(refusal) => {
                out.truncate(start);
                encode::error(out, Some(id), &refusal);
                (Outcome::Refused(refusal.mistake), None)
            }
        }
    }

    /// What is stopped here can tell why, when it is dropped.
    fn note_stop(&self, ended: &Ended<E::Made>) {
        let stop = match ended {
            Ended::Paused(Pause::Input) => Stop::Asked,
            Ended::Paused(Pause::Refused(_)) => Stop::Refused,
            Ended::TookTooLong => Stop::TimedOut,
            Ended::Made(_) | Ended::Panicked | Ended::Paused(Pause::BecomesTask) => return,
        };
        self.stop_by(stop);
    }

    fn stop_by(&self, stop: Stop) {
        if let Some(context) = &self.context {
            context.desk().stopped = Some(stop);
        }
    }

    fn write(&self, ended: Ended<E::Made>, out: &mut Vec<u8>) -> Written {
        self.note_stop(&ended);
        match ended {
            Ended::Made(made) => match self.missing_capability().filter(|_| E::has_failed(&made)) {
                Some(refusal) => Err(refusal),
                None => self.ending.write(made, out),
            },
            Ended::Paused(Pause::Input) => {
                let asked = self.ask_for_input(out);
                if asked.is_err() {
                    // Its client does not come again.
                    self.stop_by(Stop::Refused);
                }
                asked.map(|()| None)
            }
            Ended::Paused(Pause::Refused(refusal)) => Err(refusal),
            Ended::Paused(Pause::BecomesTask) => unreachable!("a task is begun, not written"),
            Ended::TookTooLong => self.ending.too_long(self.timeout, out).map(|()| None),
            Ended::Panicked => Err(panicked(E::KIND)),
        }
    }

    /// A handler that failed after it was refused something failed for want of it, and a modern
    /// client can mend that.
    fn missing_capability(&self) -> Option<Refusal> {
        let missing = self.context.as_ref()?.desk().missing?;
        if !self.revision.has_capabilities_in_requests() {
            return None;
        }
        Some(crate::task_calls::missing(missing))
    }

    fn ask_for_input(&self, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let context = self.context.as_ref().expect("only a context can ask");
        let desk = context.desk();
        let Place::Rounds(rounds) = &desk.place else {
            return Err(panicked(E::KIND));
        };
        let text = |binding: &Binding| binding.text(|out| self.ending.define(out));
        let binding = self.binding.as_ref().map(text).unwrap_or_default();
        let (sealer, limits) = (&self.core.sealer, &self.core.limits);
        let (asked, state) = rounds.next(&desk.steps, &binding, sealer, limits)?;
        let asked = asked.iter().map(|(key, question)| (&**key, question));
        let info = &self.ending.face().info;
        encode::question::input_required(out, self.revision, info, asked, &state);
        Ok(())
    }

    fn burn(&self) {
        if let Some(context) = &self.context {
            context.desk().burn();
        }
    }
}

impl<E: Ending> Drop for Job<E> {
    /// Whoever still asks hears that it is over: a handler may have left work behind.
    fn drop(&mut self) {
        if let Some(context) = &self.context {
            context.desk().close();
        }
    }
}

/// Work whose end, by cancellation too, cannot panic into the wire.
pub(crate) struct Careful<T>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T> Future for Careful<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Some(work) => work.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Careful<T> {
    fn drop(&mut self) {
        let work = self.0.take();
        // The panic hook has told of it; there is nobody else to tell.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
    }
}

/// What is told of a handler that panicked.
pub(crate) fn panicked(kind: &str) -> Refusal {
    let message = format!("Internal error: the {kind} panicked; see the server's log");
    Refusal::new(Mistake::Internal, message)
}
