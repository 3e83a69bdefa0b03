//! Keeps one upstream connected: starts it, asks what it has, asks again when that changes, and
//! starts it again when it goes down, later each time in vain; ends one that is started when it is
//! needed and is not. What it has goes to the `gateway`.

use crate::catalogue::Offer;
use crate::discretion;
use crate::limits::{
    CHANGE_KINDS, GATHERING, GATHERING_MAX, IDLE_MAX, LISTENING_TIME_MAX, PATIENCE, PAUSE_MAX,
    PAUSE_MIN, QUIET, RECOVERED, START_TIME_MAX,
};
use crate::upstream::{State, Upstream};
use haft_client::{Change, Changes, Client, ClientError, Interest, connect};
use haft_manifest::Start;
use haft_proto::method::Method;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// What is told of an upstream.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// It has this.
    Has(Offer),
    /// It has nothing while it is down, for this reason.
    Down(Arc<str>),
    /// It went down for this reason, and is started again.
    Restarts(Arc<str>),
}

/// How one life of a connection ended.
enum End {
    Failed {
        error: ClientError,
        had_answered: bool,
    },
    /// Nobody used it.
    Idle,
}

/// Keeps it, for ever.
pub(crate) async fn keep(upstream: Arc<Upstream>, report: impl Fn(Report)) {
    let mut pause = PAUSE_MIN;
    let (mut is_down, mut has_answered) = (false, false);
    loop {
        let began = Instant::now();
        if !is_down {
            upstream.set(State::Connecting, None);
        }
        match live(&upstream, &report).await {
            End::Idle => {
                end(upstream.set(State::Idle, None)).await;
                upstream.demanded().await;
                (pause, is_down) = (PAUSE_MIN, false);
                continue;
            }
            End::Failed { error, had_answered } => {
                let reason: Arc<str> = error.to_string().into();
                if began.elapsed() >= RECOVERED {
                    pause = PAUSE_MIN;
                }
                // One that has answered is back at once, most often: its calls wait for that.
                has_answered |= had_answered;
                is_down = !has_answered || pause > PATIENCE;
                if is_down {
                    has_answered = false;
                    let told = discretion::told(&error).into();
                    upstream.set(State::Down { reason: Arc::clone(&reason), told }, None);
                    report(Report::Down(reason));
                } else {
                    upstream.set(State::Connecting, None);
                    report(Report::Restarts(reason));
                }
            }
        }
        sleep(pause).await;
        pause = doubled(pause);
    }
}

fn doubled(pause: Duration) -> Duration {
    pause.saturating_mul(2).min(PAUSE_MAX)
}

/// One life of its connection.
async fn live(upstream: &Upstream, report: &impl Fn(Report)) -> End {
    let (target, options) = upstream.target();
    let client = match connect(&target, &options).await {
        Ok(client) => Arc::new(client),
        Err(error) => return End::Failed { error, had_answered: false },
    };
    let mut had_answered = false;
    let mut gathering = Gathering { pause: GATHERING, looked: None };
    loop {
        // Before the lists are asked for, so that no change falls between. Not every server tells.
        let has = |kind| client.handshake().capabilities.get(kind).is_some();
        let (tools, prompts, resources) = (has("tools"), has("prompts"), has("resources"));
        let interest = Interest { prompts, resources, tools, uris: Vec::new() };
        let listening = timeout(LISTENING_TIME_MAX, client.listen(interest)).await;
        let mut changes = listening.ok().and_then(Result::ok);
        loop {
            let limit = upstream.timeout().max(START_TIME_MAX);
            let late = ClientError::TimedOut { method: Method::ToolsList.name(), after: limit };
            match timeout(limit, look(&client)).await.unwrap_or(Err(late)) {
                Ok(offer) => report(Report::Has(offer)),
                Err(error) => return End::Failed { error, had_answered },
            }
            gathering.looked = Some(Instant::now());
            upstream.set(State::Ready, Some(Arc::clone(&client)));
            had_answered = true;
            let is_over = tokio::select! {
                is_over = changed(&mut changes, &mut gathering) => is_over,
                () = client.ended() => {
                    return End::Failed { error: why_ended(&client).await, had_answered };
                }
                () = upstream.doubted() => false,
                () = unused(upstream) => return End::Idle,
            };
            if is_over {
                break;
            }
        }
    }
}

/// What it has, of the kinds that it says it has.
async fn look(client: &Client) -> Result<Offer, ClientError> {
    let has = |kind| client.handshake().capabilities.get(kind).is_some();
    let mut offer = Offer::default();
    if has("tools") {
        let list = client.list_tools().await?;
        offer.tools = list.tools.into_iter().map(|one| (one.name, one.raw)).collect();
        offer.dropped = list.dropped.into_iter().map(|one| (one.name, one.reason)).collect();
    }
    if has("resources") {
        let list = client.list_resources().await?.entries;
        offer.resources = list.into_iter().map(|one| (one.uri, one.raw)).collect();
        let list = client.list_resource_templates().await?.entries;
        offer.templates = list.into_iter().map(|one| (one.uri_template, one.raw)).collect();
    }
    if has("prompts") {
        let list = client.list_prompts().await?.entries;
        offer.prompts = list.into_iter().map(|one| (one.name, one.raw)).collect();
    }
    Ok(offer)
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
async fn changed(changes: &mut Option<Changes>, gathering: &mut Gathering) -> bool {
    let Some(changes) = changes else { return pending().await };
    let is_over = |change: Option<Result<Change, ClientError>>| !matches!(change, Some(Ok(_)));
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

/// What a child process that has ended left behind as its reason.
async fn why_ended(client: &Client) -> ClientError {
    match client.list_tools().await {
        Err(error) => error,
        Ok(_) => ClientError::ConnectionClosed,
    }
}

/// Ends a connection politely, unless somebody still uses it, who then ends it.
pub(crate) async fn end(client: Option<Arc<Client>>) {
    if let Some(client) = client.and_then(Arc::into_inner) {
        client.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let mut pause = PAUSE_MIN;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            pauses.push(pause.as_millis());
            pause = doubled(pause);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000]);
    }
}
