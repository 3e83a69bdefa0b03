//! The loop of one connection: send what may be sent, read what has come, check it, count it. It
//! ends when the run's time is over and all that was sent has been answered or given up.

use crate::answer::Heard;
use crate::connection::{Connection, Framing, Moved, events};
use crate::error::BenchError;
use crate::flight::Sent;
use crate::pace::Pace;
use crate::run::{Run, Times};
use crate::wrong::{Wrong, excerpt};
use haft_proto::framing::Line;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};

/// Why a connection stopped.
enum Stopped {
    /// It is done.
    Done,
    /// It has to be replaced by another.
    Replace,
}

/// What the loop woke up for.
enum Woken {
    /// Something was read, or the end.
    Read(io::Result<()>),
    /// A request is due.
    Due,
    /// Time to look whether somebody waits too long.
    Look,
}

/// How often a waiting connection looks up.
pub(crate) const LOOK: Duration = Duration::from_millis(250);
/// How many bytes of requests wait to be sent before no more are made.
const UNSENT_MAX: usize = 1 << 20;

/// Loads the server through one connection, and others in its place, until the stretch is over.
///
/// # Errors
/// [`BenchError`] if the server cannot be reached any more.
pub(crate) async fn drive(
    connection: &mut Connection,
    run: &Run,
    number: usize,
) -> Result<(), BenchError> {
    let mut pace = pace(run, number)?;
    while let Stopped::Replace = drive_one(connection, run, pace.as_mut()).await? {
        let Some(leave) = run.may_leave().await else { break };
        let opened = Connection::open(&run.plan, &run.door).await?;
        run.leave(leave, std::mem::replace(connection, opened).close());
        run.tally.borrow_mut().connections += 1;
    }
    if let Some(pace) = pace {
        let Times { from, end, .. } = run.times.get();
        let waited = pace.overdue(from, end.min(Instant::now()));
        run.tally.borrow_mut().unsent(waited);
    }
    Ok(())
}

/// The schedule of the `number`th connection, if there is one.
pub(crate) fn pace(run: &Run, number: usize) -> Result<Option<Pace>, BenchError> {
    let Some(rate) = run.plan.load.rate else { return Ok(None) };
    let start = run.times.get().start;
    let pace = Pace::new(rate, run.plan.load.connections, number, start);
    pace.map(Some).map_err(|error| BenchError::System(error.to_string()))
}

async fn drive_one(
    connection: &mut Connection,
    run: &Run,
    mut pace: Option<&mut Pace>,
) -> Result<Stopped, BenchError> {
    let look_each = LOOK.min(run.plan.timeout / 4);
    let mut look = Box::pin(sleep(look_each));
    let mut next_look = Instant::now() + look_each;
    if connection.flight.is_empty() && is_closed(connection).await {
        // The server had enough of waiting, which is its right.
        return Ok(Stopped::Replace);
    }
    loop {
        let may_go_on = fill(connection, run, pace.as_deref_mut());
        if connection.flight.is_empty() && !may_go_on {
            // What ended this connection is its own limit, or nothing will be sent by any.
            let is_over = run.is_over(Instant::now());
            return Ok(if is_over { Stopped::Done } else { Stopped::Replace });
        }
        let mut moved = Moved::default();
        let woken = poll_fn(|context| {
            wake(connection, pace.as_deref_mut(), &mut look, &mut moved, context)
        })
        .await;
        let now = Instant::now();
        run.tally.borrow_mut().moved(moved.sent, moved.received, now);
        match woken {
            Woken::Due | Woken::Look => {}
            Woken::Read(read) => {
                let is_over = read.is_err() || moved.received == 0;
                match take(connection, run, now, is_over) {
                    Ok(true) => return Ok(Stopped::Replace),
                    Ok(false) if !is_over => {}
                    Ok(false) => return ended(connection, run, now, read).await,
                    Err(wrong) => {
                        lose_all(connection, run, now, &wrong);
                        return Ok(Stopped::Replace);
                    }
                }
            }
        }
        // Also of a server that never stops talking, after which nothing else wakes.
        if now >= next_look {
            next_look = now + look_each;
            look.as_mut().reset(next_look.into());
            if give_up(connection, run, now) {
                return Ok(Stopped::Replace);
            }
        }
    }
}

/// Writes as many requests as may go now; whether more may go later.
fn fill(connection: &mut Connection, run: &Run, mut pace: Option<&mut Pace>) -> bool {
    let limit = run.plan.load.requests_per_connection.unwrap_or(u64::MAX);
    let now = Instant::now();
    while connection.flight.has_room() {
        if connection.bytes.unsent() > UNSENT_MAX {
            // The server reads slower than it is asked; what it has not read is not sent yet.
            return true;
        }
        if connection.asked >= limit {
            return false;
        }
        let due = match pace.as_deref_mut() {
            None => now,
            Some(_) if run.is_over(Instant::now()) => return false,
            Some(pace) => match pace.take(now) {
                Some(due) => due,
                None => return true,
            },
        };
        if !run.may_send(now, due) {
            return false;
        }
        let ask = run.next();
        connection.asked += 1;
        let id = connection.flight.take_off(Sent { ask, due, at: now });
        connection.requests[ask].write(id, &mut connection.bytes.out);
    }
    true
}

fn wake(
    connection: &mut Connection,
    pace: Option<&mut Pace>,
    look: &mut Pin<Box<Sleep>>,
    moved: &mut Moved,
    context: &mut Context<'_>,
) -> Poll<Woken> {
    if let Poll::Ready(read) = connection.bytes.poll_move(moved, context) {
        return Poll::Ready(Woken::Read(read));
    }
    if let Some(pace) = pace
        && connection.flight.has_room()
        && let Poll::Ready(due) = pace.poll_due(context)
    {
        return Poll::Ready(due.map_or_else(|error| Woken::Read(Err(error)), |()| Woken::Due));
    }
    look.as_mut().poll(context).map(|()| Woken::Look)
}

/// Takes all answers that are there; true if the server takes no more on this connection.
fn take(
    connection: &mut Connection,
    run: &Run,
    now: Instant,
    is_over: bool,
) -> Result<bool, Wrong> {
    let Connection { bytes, flight, .. } = connection;
    let mut hearing = Hearing { run, flight, now };
    match &mut bytes.framing {
        Framing::Lines(lines) => loop {
            match lines.next_line() {
                Line::Complete(line) => _ = hearing.hear(line),
                Line::NeedMore => return Ok(false),
                Line::TooLong => return Err(Wrong::NoAnswer("a line without an end".to_owned())),
            }
        },
        Framing::Http(answers) => {
            while let Some(answer) = answers.next(is_over)? {
                let is_last = answer.is_last;
                match answer.status {
                    200 if answer.is_events => {
                        let messages = events(answer.body)?;
                        let wrong = messages.iter().filter(|message| !hearing.hear(message));
                        let wrong = wrong.count();
                        hearing.nothing_more(wrong, "a stream that ends without the answer");
                    }
                    200 => {
                        let wrong = usize::from(!hearing.hear(answer.body));
                        hearing.nothing_more(wrong, "a body without the answer");
                    }
                    status => {
                        hearing.lose(&Wrong::Status { status, excerpt: excerpt(answer.body) });
                    }
                }
                if is_last {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Whoever hears messages of one connection.
struct Hearing<'a> {
    run: &'a Run,
    flight: &'a mut crate::flight::Flight,
    now: Instant,
}

impl Hearing<'_> {
    /// False if it is wrong, which is counted.
    fn hear(&mut self, message: &[u8]) -> bool {
        let mut checker = self.run.checker.borrow_mut();
        let heard = match checker.hear(self.flight.guess(), message) {
            Ok(heard) => heard,
            Err(wrong) => return self.failed(wrong),
        };
        let Heard::Answer(id, unjudged) = heard else {
            self.run.tally.borrow_mut().others += 1;
            return true;
        };
        let Some(Sent { ask, due, at }) = self.flight.land(id) else {
            return self.failed(Wrong::AnotherId(id.to_string()));
        };
        if self.now.saturating_duration_since(at) > self.run.plan.timeout {
            return self.failed(Wrong::TimedOut);
        }
        match checker.judge(ask, id, unjudged) {
            Ok(()) => {
                self.run.tally.borrow_mut().good(ask, due, self.now);
                self.run.signals.answers.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(wrong) => self.failed(wrong),
        }
    }

    fn failed(&self, wrong: Wrong) -> bool {
        self.wrong(wrong);
        false
    }

    fn wrong(&self, wrong: Wrong) {
        self.run.tally.borrow_mut().wrong(wrong, self.now);
        self.run.signals.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// All that are in flight get no answer, for this reason.
    fn lose(&mut self, wrong: &Wrong) {
        for _ in self.flight.lose_all() {
            self.wrong(wrong.clone());
        }
    }

    /// Whoever still waits got something else: for so many of them that is counted already.
    fn nothing_more(&mut self, counted: usize, what: &str) {
        for _ in self.flight.lose_all().into_iter().skip(counted) {
            self.wrong(Wrong::NoAnswer(what.to_owned()));
        }
    }
}

fn lose_all(connection: &mut Connection, run: &Run, now: Instant, wrong: &Wrong) {
    Hearing { run, flight: &mut connection.flight, now }.lose(wrong);
    connection.has_lost_answers();
}

/// Gives up those who wait too long; true if there were any, after whom nothing can be read. Who
/// wants an end does not wait for a silent server.
fn give_up(connection: &mut Connection, run: &Run, now: Instant) -> bool {
    let is_late = |sent: &Sent| now.saturating_duration_since(sent.at) > run.plan.timeout;
    if run.is_stopped() && !connection.flight.is_empty() {
        connection.flight.lose_all();
        connection.has_lost_answers();
        return true;
    }
    if !connection.flight.oldest().is_some_and(|sent| is_late(&sent)) {
        return false;
    }
    let (late, others): (Vec<_>, Vec<_>) =
        connection.flight.lose_all().into_iter().partition(is_late);
    let hearing = Hearing { run, flight: &mut connection.flight, now };
    late.iter().for_each(|_| hearing.wrong(Wrong::TimedOut));
    // These were only behind them.
    let behind = ": it was given up, as another request had no answer in time";
    others.iter().for_each(|_| hearing.wrong(Wrong::Closed(behind.to_owned())));
    connection.has_lost_answers();
    true
}

/// Whether the server has closed a connection that nobody used.
async fn is_closed(connection: &mut Connection) -> bool {
    // A child that has ended is told with its last words.
    if connection.bytes.stream.group().is_some() {
        return false;
    }
    let mut moved = Moved::default();
    let read = poll_fn(|context| {
        Poll::Ready(match connection.bytes.poll_move(&mut moved, context) {
            Poll::Ready(read) => Some(read),
            Poll::Pending => None,
        })
    });
    read.await.is_some_and(|read| read.is_err() || moved.received == 0)
}

/// The connection is over. Who closes between two answers may be asked again.
async fn ended(
    connection: &mut Connection,
    run: &Run,
    now: Instant,
    read: io::Result<()>,
) -> Result<Stopped, BenchError> {
    let words = connection.bytes.stream.last_words().await;
    let why = match (&words, read) {
        (words, _) if !words.is_empty() => words.clone(),
        (_, Err(error)) => format!(": {error}"),
        (_, Ok(())) => String::new(),
    };
    lose_all(connection, run, now, &Wrong::Closed(why.clone()));
    if connection.bytes.stream.group().is_some() || !words.is_empty() {
        let why = why.trim_start_matches(": ");
        let why = if why.is_empty() { "the server closed its stdout" } else { why };
        return Err(BenchError::Unreachable(why.to_owned()));
    }
    Ok(Stopped::Replace)
}
