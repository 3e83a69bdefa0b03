//! Keeps one connection of an upstream: makes it, asks what the upstream has, asks again when that
//! changes, and makes it again when it is lost, later each time in vain; ends one that is made when
//! it is needed and is not. What the upstream has goes to the `gateway`.

use crate::alike::Alike;
use crate::catalogue::Offer;
use crate::discretion;
use crate::limits::{
    CHANGE_KINDS, GATHERING, GATHERING_MAX, IDLE_MAX, LISTENING_TIME_MAX, LOOKS_IN_VAIN_MAX,
    PATIENCE, PAUSE_MAX, QUIET, RETRY_MAX, RETRY_MIN, SLACK, START_TIME_MAX, TTL_MIN,
};
use crate::lists::look;
use crate::pause::Pause;
use crate::room::{For, Place};
use crate::seats::Seats;
use crate::upstream::{State, Upstream};
use haft_agent::Arrivals;
use haft_client::{Change, Changes, Client, ClientError, Interest};
use haft_manifest::Start;
use haft_proto::error::Mistake;
use std::future::pending;
use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// What is told of an upstream.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// It has this.
    Has(Offer),
    /// Nothing can be asked over this connection, for this reason.
    Down(Arc<str>),
    /// There is no room for its process now, for this reason.
    Full(Arc<str>),
    /// The connection was lost for this reason, and is made again.
    Restarts(Arc<str>),
}

/// How one life of a connection ended.
enum End {
    Failed {
        error: ClientError,
        /// Since when it had answered, if it had.
        up: Option<Instant>,
    },
    /// It is there, and what it has is not served, for this reason.
    Refused(Arc<str>),
    /// Nobody used it.
    Idle,
    /// It was to end.
    Stopped,
}

/// The place of a connection.
pub(crate) struct Seat {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) seats: Arc<Seats>,
    pub(crate) number: usize,
}

/// Keeps a connection until it is to stop; then it has ended, politely. `first` is room for the
/// first of its processes, if there is any already.
pub(crate) async fn keep(seat: Seat, mut first: Option<Place>, report: impl Fn(Report)) {
    let Seat { upstream, seats, number } = &seat;
    let number = *number;
    let mut sake = upstream.sake;
    let mut pause = Pause::new(PAUSE_MAX);
    let (mut is_down, mut has_answered) = (false, false);
    loop {
        if !is_down {
            seats.set(number, State::Connecting, None);
        }
        let mut arrivals = upstream.arrivals();
        let room = (first.take(), replace(&mut sake, For::Itself));
        let rest = match live(&seat, room, &report).await {
            End::Stopped => return seats.set(number, State::Stopped, None),
            End::Idle => {
                tokio::select! {
                    () = seats.demanded(number) => {}
                    () = seats.stopped() => return seats.set(number, State::Stopped, None),
                }
                pause.reset();
                is_down = false;
                continue;
            }
            End::Refused(reason) => {
                (is_down, has_answered) = (true, false);
                report(Report::Down(reason));
                pause.jittered()
            }
            End::Failed { error, up } => {
                let reason: Arc<str> = upstream.secrets.hide(&discretion::said(&error)).into();
                let had_answered = up.is_some();
                let has_served = seats.has_served(number);
                pause.lost(up.map_or(Duration::ZERO, |up| up.elapsed()), has_served);
                // Whoever forgets sessions and serves in each new one is not waited for longer.
                if has_served && matches!(error, ClientError::SessionLost) {
                    pause.reset();
                }
                // One that has answered is back at once, most often: its calls wait for that.
                has_answered |= had_answered;
                is_down = !has_answered || pause.next() > PATIENCE;
                if is_down {
                    has_answered = false;
                    let told = discretion::told(&error).into();
                    seats.set(number, State::Down { reason: Arc::clone(&reason), told }, None);
                    report(Report::Down(reason));
                } else {
                    seats.set(number, State::Connecting, None);
                    report(Report::Restarts(reason));
                }
                pause.jittered()
            }
        };
        tokio::select! {
            () = sleep(rest) => {}
            () = arrived(arrivals.as_mut()) => {}
            () = seats.stopped() => return seats.set(number, State::Stopped, None),
        }
        pause.over();
    }
}

/// Waits for an agent that has what is missing; for ever, if none can.
async fn arrived(arrivals: Option<&mut Arrivals>) {
    match arrivals {
        Some(arrivals) => arrivals.next().await,
        None => pending().await,
    }
}

/// Room for a process; nothing if it is to stop before there is any.
async fn room(seat: &Seat, sake: For, report: &impl Fn(Report)) -> Option<Place> {
    let Seat { upstream, seats, number } = seat;
    let reason: Arc<str> = match upstream.room.take(sake) {
        Ok(place) => return Some(place),
        Err(why) => why.into(),
    };
    let down = State::Down { reason: Arc::clone(&reason), told: Arc::clone(&reason) };
    seats.set(*number, down, None);
    report(Report::Full(reason));
    let place = tokio::select! {
        place = upstream.room.wait(sake) => place,
        () = seats.stopped() => return None,
    };
    seats.set(*number, State::Connecting, None);
    Some(place)
}

/// One life of the connection. Its place is its process's, for as long as that lives.
async fn live(seat: &Seat, (place, sake): (Option<Place>, For), report: &impl Fn(Report)) -> End {
    let Seat { upstream, seats, number } = seat;
    let place = match place {
        None if !upstream.is_far() => match room(seat, sake, report).await {
            None => return End::Stopped,
            place => place,
        },
        place => place,
    };
    let connected = Box::pin(upstream.connect(place, seats.stopped())).await;
    let client = match connected {
        Ok(Some(client)) => Arc::new(client),
        Ok(None) => return End::Stopped,
        Err(error) => return End::Failed { error, up: None },
    };
    let end = tokio::select! {
        end = Box::pin(serve(seat, &client, report)) => end,
        () = seats.stopped() => End::Stopped,
    };
    // Whoever waits for a client's answer would keep it for as long as that takes.
    upstream.parked.clear(&client);
    let state = match &end {
        End::Failed { .. } => return end,
        End::Refused(why) => State::Down { reason: Arc::clone(why), told: Arc::clone(why) },
        End::Idle => State::Idle,
        End::Stopped => State::Stopped,
    };
    // Whoever uses it is answered first.
    seats.set(*number, state, None);
    _ = timeout(upstream.timeout().saturating_add(SLACK), seats.at_rest(*number)).await;
    if let Some(client) = Arc::into_inner(client) {
        client.close().await;
    }
    end
}

/// Looks at what it has, again and again, and lets requests through meanwhile.
async fn serve(seat: &Seat, client: &Arc<Client>, report: &impl Fn(Report)) -> End {
    let Seat { upstream, seats, number } = seat;
    let (number, limit) = (*number, upstream.timeout().max(START_TIME_MAX));
    let (mut up, mut looks_in_vain, mut retry) = (None, 0, RETRY_MIN);
    let mut gathering = Gathering { pause: GATHERING, looked: None };
    loop {
        // Before the lists are asked for, so that no change falls between. Not every server tells.
        let (mut changes, is_deaf) = match listen(client).await {
            Listening::Hears(changes) => (Some(changes), false),
            Listening::Never => (None, false),
            Listening::Failed => (None, true),
        };
        loop {
            let offer = match look(client, limit, upstream.is_far(), &upstream.mark).await {
                Ok(offer) => offer,
                // Who works on something else for long may answer nothing meanwhile.
                Err(ClientError::TimedOut { .. })
                    if up.is_some() && looks_in_vain < LOOKS_IN_VAIN_MAX =>
                {
                    looks_in_vain += 1;
                    continue;
                }
                Err(error) => return End::Failed { error, up },
            };
            if offer.is_own {
                return End::Refused("it is this gateway itself: take it out of the file".into());
            }
            let is_whole = !is_deaf && !offer.is_partial;
            // Of one that tells of changes there is no need to guess.
            let ttl = offer.ttl.filter(|_| changes.is_none()).map(|ttl| ttl.max(TTL_MIN));
            let now = Instant::now();
            up.get_or_insert(now);
            looks_in_vain = 0;
            report(Report::Has(offer));
            gathering.looked = Some(now);
            seats.set(number, State::Ready, Some(Arc::clone(client)));
            let is_over = tokio::select! {
                is_over = changed(&upstream.alike, &mut changes, &mut gathering) => is_over,
                () = client.ended() => {
                    // Why is found out in a while; nobody calls it meanwhile.
                    seats.set(number, State::Connecting, None);
                    return End::Failed { error: client.why_ended().await, up };
                }
                is_needed = seats.doubted(number) => {
                    // Calls wait for what has been taken away, and for nothing else.
                    if !is_needed {
                        sleep(gathering.pause()).await;
                    }
                    false
                }
                () = unused(upstream) => return End::Idle,
                () = sleep(retry), if !is_whole => true,
                () = sleep(ttl.unwrap_or_default()), if ttl.is_some() => false,
            };
            retry = if is_whole { RETRY_MIN } else { retry.saturating_mul(2).min(RETRY_MAX) };
            if is_over {
                break;
            }
        }
    }
}

/// What came of the wish to hear of changes.
enum Listening {
    Hears(Changes),
    /// The server does not tell of any.
    Never,
    /// It may be had later.
    Failed,
}

async fn listen(client: &Client) -> Listening {
    let has = |kind| client.handshake().capabilities.get(kind).is_some();
    let (tools, prompts, resources) = (has("tools"), has("prompts"), has("resources"));
    let interest = Interest { prompts, resources, tools, uris: Vec::new() };
    match timeout(LISTENING_TIME_MAX, client.listen(interest)).await {
        Ok(Ok(changes)) => Listening::Hears(changes),
        Ok(Err(error)) if never_tells(&error) => Listening::Never,
        Ok(Err(_)) | Err(_) => Listening::Failed,
    }
}

/// Whether a server says that it has no such thing, and not only that it cannot at the moment.
fn never_tells(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { error, .. } => {
            error.code == i64::from(Mistake::MethodNotFound.code())
        }
        ClientError::NoStandingStream { status } | ClientError::HttpStatus { status, .. } => {
            (400..500).contains(status) && ![408, 425, 429].contains(status)
        }
        _ => false,
    }
}

/// How long changes are gathered before the lists are asked for: longer each time, while they do
/// not cease.
struct Gathering {
    pause: Duration,
    /// When the lists were asked for.
    looked: Option<Instant>,
}

impl Gathering {
    /// There is a change.
    fn pause(&mut self) -> Duration {
        let is_flood = self.looked.is_some_and(|looked| looked.elapsed() < QUIET);
        let longer = self.pause.saturating_mul(2).min(GATHERING_MAX);
        self.pause = if is_flood { longer } else { GATHERING };
        self.pause
    }
}

/// Waits for a change, and for those that come with it; whether no more will come.
async fn changed(alike: &Alike, changes: &mut Option<Changes>, gathering: &mut Gathering) -> bool {
    let Some(changes) = changes else { return pending().await };
    let is_over = |change: Option<Result<Change, ClientError>>| {
        // From its end on, changes are not told.
        alike.part();
        !matches!(change, Some(Ok(_)))
    };
    let is_first_over = is_over(changes.next().await);
    // Nor is a server asked at once that ends each stream as it begins.
    sleep(gathering.pause()).await;
    if is_first_over {
        return true;
    }
    // Each kind waits once, however often it came.
    for _ in 0..CHANGE_KINDS {
        let Ok(change) = timeout(Duration::ZERO, changes.next()).await else { break };
        if is_over(change) {
            return true;
        }
    }
    false
}

/// Waits until nobody has called it for long, if it is one that is started when it is needed.
async fn unused(upstream: &Upstream) {
    if upstream.settings.start == Start::Eager {
        return pending().await;
    }
    let mut before = None;
    loop {
        let calls = upstream.calls_at_rest();
        if calls.is_some() && calls == before {
            return;
        }
        before = calls;
        sleep(IDLE_MAX).await;
    }
}
