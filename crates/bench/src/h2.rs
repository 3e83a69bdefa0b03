//! One connection of HTTP/2, with as many streams as requests in flight. hyper speaks it; requests,
//! checks and counts are those of the other wires.

use crate::answer::Heard;
use crate::connection::{Reply, events};
use crate::drive::{LOOK, pace};
use crate::error::BenchError;
use crate::flight::{Flight, Sent};
use crate::greeting::Greeting;
use crate::limits::{ANSWER_BYTES_MAX, FAREWELL};
use crate::pace::Pace;
use crate::plan::{Ask, Plan, Target};
use crate::request::{FIRST_ID, Message, headers};
use crate::run::{Run, Times};
use crate::stream::Door;
use crate::wrong::{Wrong, excerpt};
use bytes::Bytes;
use haft_proto::method::Method;
use haft_proto::version::Era;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::Mutex;
use tokio::task::spawn_local;
use tokio::time::{timeout, timeout_at};

/// An open connection.
#[derive(Debug)]
pub(crate) struct Multiplexed {
    sender: SendRequest<Full<Bytes>>,
    requests: Vec<(Request<()>, Message)>,
    asked: u64,
    /// What ends its session, if it has one.
    farewell: Option<Request<()>>,
    /// The connection that took its place, which a session is ended over where its own is closed.
    heir: Option<SendRequest<Full<Bytes>>>,
}

/// What the streams of a connection share.
struct Shared<'a> {
    run: &'a Run,
    flight: RefCell<Flight>,
    pace: Mutex<Option<Pace>>,
    asked: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        spawn_local(async move {
            future.await;
        });
    }
}

impl Multiplexed {
    /// Opens a connection and greets the server, if the era wants that.
    ///
    /// # Errors
    /// [`BenchError::Unreachable`] or [`BenchError::Greeting`].
    pub(crate) async fn open(plan: &Plan, door: &Door) -> Result<Self, BenchError> {
        let Target::Url { uri, .. } = &plan.target else {
            return Err(BenchError::Plan("HTTP/2 needs a URL".to_owned()));
        };
        let stream = door.open(plan.timeout).await?;
        let shaking = timeout(plan.timeout, handshake(Local, TokioIo::new(stream)));
        let unreachable = |why: String| BenchError::Unreachable(why);
        let (mut sender, connection) = shaking
            .await
            .map_err(|_| unreachable("it does not speak HTTP/2 in time".to_owned()))?
            .map_err(|error| unreachable(format!("HTTP/2: {error}")))?;
        // Why it ended is told to those who wait for answers.
        spawn_local(async move { connection.await.ok() });
        let session = match plan.revision.era() {
            Era::Modern => None,
            Era::Legacy => {
                let greeting = timeout(plan.timeout, greet(&mut sender, plan, uri));
                let greeted = greeting.await.unwrap_or(Err(Wrong::TimedOut));
                let method = Method::Initialize.name();
                greeted.map_err(|wrong| BenchError::Greeting { method, wrong })?
            }
        };
        let request = |ask: &Ask| {
            let message = match ask.method {
                Method::Initialize => Message::initialize(plan.revision),
                _ => Message::of(ask, plan.revision),
            };
            (head(plan, ask, uri, session.as_ref()), message)
        };
        let requests = plan.asks.iter().map(request).collect();
        let farewell = session.as_ref().map(|session| {
            let mut request = head(plan, &Greeting::end().0, uri, Some(session));
            *request.method_mut() = http::Method::DELETE;
            request
        });
        Ok(Self { sender, requests, asked: 0, farewell, heir: None })
    }

    /// Puts another connection in its place, and ends its session while the load goes on; not
    /// once that is over.
    async fn replace(&mut self, run: &Run) -> Result<(), BenchError> {
        let Some(leave) = run.may_leave().await else { return Ok(()) };
        let opened = Self::open(&run.plan, &run.door).await?;
        let mut old = std::mem::replace(self, opened);
        old.heir = Some(self.sender.clone());
        run.leave(leave, old.close());
        run.tally.borrow_mut().connections += 1;
        Ok(())
    }

    /// Ends its session: a server would keep that for long.
    pub(crate) async fn close(self) {
        let Some(farewell) = self.farewell else { return };
        for mut sender in [Some(self.sender), self.heir].into_iter().flatten() {
            let farewell = farewell.clone().map(|()| Full::default());
            // Whatever it is answered with, the connection ends.
            match timeout(FAREWELL, exchange(&mut sender, farewell)).await {
                // The server closed it, and has the session all the same.
                Ok(Err(Wrong::Closed(_))) => {}
                _ => break,
            }
        }
    }

    /// Loads the server until the stretch is over.
    ///
    /// # Errors
    /// [`BenchError`] if the server cannot be reached any more.
    pub(crate) async fn drive(&mut self, run: &Run, number: usize) -> Result<(), BenchError> {
        let in_flight = run.plan.load.in_flight;
        let shared = Shared {
            run,
            flight: RefCell::new(Flight::new(in_flight)),
            pace: Mutex::new(pace(run, number)?),
            asked: Cell::new(0),
        };
        loop {
            if self.sender.is_closed() && !run.is_over(Instant::now()) {
                self.replace(run).await?;
            }
            shared.asked.set(self.asked);
            let streams =
                (0..in_flight).map(|_| stream(self.sender.clone(), &self.requests, &shared));
            futures_util::future::join_all(streams).await;
            self.asked = shared.asked.get();
            if run.is_over(Instant::now()) {
                break;
            }
            let limit = run.plan.load.requests_per_connection;
            if limit.is_some_and(|limit| self.asked >= limit) {
                self.replace(run).await?;
            }
        }
        if let Some(pace) = shared.pace.into_inner() {
            let Times { from, end, .. } = run.times.get();
            let waited = pace.overdue(from, end.min(Instant::now()));
            run.tally.borrow_mut().unsent(waited);
        }
        Ok(())
    }
}

/// One request after the other.
async fn stream(
    mut sender: SendRequest<Full<Bytes>>,
    requests: &[(Request<()>, Message)],
    shared: &Shared<'_>,
) {
    let run = shared.run;
    while let Some(due) = shared.turn().await {
        let ask = run.next();
        shared.asked.set(shared.asked.get() + 1);
        let id = shared.flight.borrow_mut().take_off(Sent { ask, due, at: Instant::now() });
        let (head, message) = &requests[ask];
        let mut body = Vec::with_capacity(message.len());
        message.write(id, &mut body);
        let sent = body.len();
        let exchange = exchange(&mut sender, head.clone().map(|()| Full::new(body.into())));
        let Some(answer) = in_time(run, exchange).await else {
            shared.flight.borrow_mut().land(id);
            break;
        };
        let now = Instant::now();
        let received = answer.as_ref().map_or(0, |(_, body)| body.len());
        run.tally.borrow_mut().moved(sent, received, now);
        shared.flight.borrow_mut().land(id);
        let is_lost = matches!(answer, Err(Wrong::Closed(_)));
        match answer.and_then(|(is_events, body)| check(run, ask, id, is_events, &body)) {
            Ok(()) => {
                run.tally.borrow_mut().good(ask, due, now);
                run.signals.answers.fetch_add(1, Ordering::Relaxed);
            }
            Err(wrong) => {
                run.tally.borrow_mut().wrong(wrong, now);
                run.signals.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
        if is_lost {
            break;
        }
    }
}

/// The answer within the time limit; none if somebody wants an end, who does not wait for a silent
/// server.
async fn in_time<T>(
    run: &Run,
    exchange: impl Future<Output = Result<T, Wrong>>,
) -> Option<Result<T, Wrong>> {
    let mut exchange = pin!(exchange);
    let end = Instant::now() + run.plan.timeout;
    loop {
        let look = end.min(Instant::now() + LOOK);
        match timeout_at(look.into(), &mut exchange).await {
            Ok(answer) => return Some(answer),
            Err(_) if run.is_stopped() => return None,
            Err(_) if Instant::now() >= end => return Some(Err(Wrong::TimedOut)),
            Err(_) => {}
        }
    }
}

impl Shared<'_> {
    /// When the next request goes, or should have gone; `None` if none goes any more. One stream
    /// waits for the next time, and the others for that one.
    async fn turn(&self) -> Option<Instant> {
        let limit = self.run.plan.load.requests_per_connection.unwrap_or(u64::MAX);
        let end = self.run.times.get().end;
        let mut pace = self.pace.lock().await;
        loop {
            let now = Instant::now();
            if now >= end || self.run.is_stopped() || self.asked.get() >= limit {
                return None;
            }
            let due = match pace.as_mut() {
                None => now,
                Some(pace) => match pace.take(now) {
                    Some(due) => due,
                    None => {
                        let ring = poll_fn(|context| pace.poll_due(context));
                        _ = timeout_at(end.min(now + LOOK).into(), ring).await;
                        continue;
                    }
                },
            };
            return self.run.may_send(now, due).then_some(due);
        }
    }
}

fn check(run: &Run, ask: usize, id: u64, is_events: bool, body: &[u8]) -> Result<(), Wrong> {
    let mut checker = run.checker.borrow_mut();
    let messages = if is_events { events(body)? } else { Vec::new() };
    let messages: Vec<&[u8]> =
        if is_events { messages.iter().map(Vec::as_slice).collect() } else { vec![body] };
    for message in messages {
        match checker.hear(ask, message)? {
            Heard::Other => run.tally.borrow_mut().others += 1,
            Heard::Answer(of, unjudged) if of == id => return checker.judge(ask, id, unjudged),
            Heard::Answer(of, _) => return Err(Wrong::AnotherId(of.to_string())),
        }
    }
    Err(Wrong::NoAnswer("a body without the answer".to_owned()))
}

/// Sends a request and takes all of its answer: whether it is a stream of events, and the body.
async fn exchange(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<(bool, Bytes), Wrong> {
    let response = ask(sender, request).await?;
    let (status, is_events) = (response.status(), is_events(response.headers()));
    let body = collect(response).await?;
    if status != StatusCode::OK {
        return Err(Wrong::Status { status: status.as_u16(), excerpt: excerpt(&body) });
    }
    Ok((is_events, body))
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Wrong> {
    let closed = |error: hyper::Error| Wrong::Closed(format!(": {error}"));
    sender.ready().await.map_err(closed)?;
    sender.send_request(request).await.map_err(closed)
}

async fn collect(response: Response<Incoming>) -> Result<Bytes, Wrong> {
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    body.map(|body| body.to_bytes()).map_err(|error| Wrong::Closed(format!(": {error}")))
}

fn is_events(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim().starts_with("text/event-stream"))
}

fn head(plan: &Plan, ask: &Ask, uri: &Uri, session: Option<&HeaderValue>) -> Request<()> {
    let own = match &plan.target {
        Target::Url { headers, .. } => headers.as_slice(),
        Target::Command(_) => &[],
    };
    let mut request = Request::post(uri.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(())
        .expect("the parts have been checked");
    *request.uri_mut() = without_password(uri);
    let session = session.filter(|_| ask.method != Method::Initialize);
    request.headers_mut().extend(headers(ask, plan.revision, session, own));
    request
}

/// Who puts a password into a URL means a header; it is not ours to send in the address.
fn without_password(uri: &Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    let host = uri.authority().and_then(|all| all.as_str().rsplit('@').next()?.parse().ok());
    parts.authority = host.or(parts.authority);
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

/// Shakes hands in the way of the legacy era; the session, if the server names one.
async fn greet(
    sender: &mut SendRequest<Full<Bytes>>,
    plan: &Plan,
    uri: &Uri,
) -> Result<Option<HeaderValue>, Wrong> {
    let mut greeting = Greeting::new();
    let mut body = Vec::new();
    Greeting::message(plan.revision).write(FIRST_ID, &mut body);
    let request = head(plan, &greeting.hello, uri, None).map(|()| Full::new(body.into()));
    let reply = reply(sender, request).await?;
    if !greeting.is_answered_by(&reply)? {
        return Err(reply.no_answer());
    }
    let (ask, body) = Greeting::end();
    let initialized = head(plan, &ask, uri, reply.session.as_ref());
    let heard = self::reply(sender, initialized.map(|()| Full::new(body.into()))).await?;
    heard.check_status()?;
    Ok(reply.session)
}

/// Sends a request and takes its answer apart.
async fn reply(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Reply, Wrong> {
    let response = ask(sender, request).await?;
    let session = response.headers().get(crate::request::SESSION_HEADER).cloned();
    let (status, is_events) = (response.status().as_u16(), is_events(response.headers()));
    let body = collect(response).await?;
    let messages = if is_events { events(&body)? } else { vec![body.to_vec()] };
    Ok(Reply { status, messages, session })
}
