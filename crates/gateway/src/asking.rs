//! A request of a client that can be asked: what the upstream wants to know meanwhile is put to
//! that client, in the way of its era, and the answers go back in the way of the upstream's. Used
//! by `forward` for such requests alone. It reads no question and no answer.

use crate::arriving::Arriving;
use crate::forward::{Forward, Wish, tell};
use crate::limits::{COME_AGAIN, COME_AGAIN_MAX, ROUNDS_MAX};
use crate::parked::Calling;
use crate::running::Running;
use crate::seats::Taken;
use crate::visits;
use haft_client::{Client, ClientError, Inquirer, Needed, Notice, Passed, Passing};
use haft_proto::encode;
use haft_proto::envelope::LOG_LEVEL;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::{Cursor, DEPTH_MAX};
use haft_proto::method::Method;
use haft_proto::spec::client::ClientCapabilities;
use haft_proto::version::Era;
use haft_server::{Answers, AskError, Context, Inquiry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// A request and its client, as an upstream is told of them.
pub(crate) struct Asking<'a> {
    way: &'a Forward,
    client: &'a Taken,
    context: &'a Context,
    told: Told<'a>,
}

/// What stays the same in every round.
struct Told<'a> {
    method: Method,
    target: Option<Cow<'a, str>>,
    members: Vec<Member<'a>>,
    capabilities: String,
    tasks: bool,
    meta: Vec<Member<'a>>,
}

/// A key as it stands between quotes, and JSON text.
type Member<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What the next round says besides.
#[derive(Clone, Default)]
pub(crate) struct More {
    /// JSON text of `inputResponses`.
    answers: Option<String>,
    state: Option<Box<RawValue>>,
}

/// What a modern upstream wants back, while a modern client answers.
#[derive(Deserialize, Serialize)]
struct Round {
    /// Whose it is: another upstream may have the same address now.
    #[serde(rename = "u")]
    upstream: String,
    /// What it asked, by its names.
    #[serde(rename = "k")]
    keys: Vec<String>,
    /// JSON text of a string.
    #[serde(rename = "s")]
    state: Option<Box<RawValue>>,
}

/// Under these names it is kept from round to round.
const ROUND: &str = "round";
const TICKET: &str = "ticket";

impl<'a> Asking<'a> {
    /// Nothing, if the upstream has nothing to ask or to be told.
    pub(crate) fn of(
        way: &'a Forward,
        wish: &'a Wish<'_>,
        client: &'a Taken,
        context: &'a Context,
    ) -> Option<Self> {
        let offers = context.client();
        // The legacy era has a request for it, for all who are behind this server.
        let era = client.handshake().era;
        let level = context.log_level().filter(|_| era == Era::Modern);
        let is_plain = match era {
            Era::Legacy => !can_be_asked(offers),
            Era::Modern => offers == ClientCapabilities::default() && level.is_none(),
        };
        if is_plain && context.carried().is_none() {
            return None;
        }
        let mut meta = context.carried().map(others).unwrap_or_default();
        let level = level.map(|level| format!("\"{}\"", level.as_str()));
        meta.extend(level.map(|level| (LOG_LEVEL.into(), level.into())));
        let (method, target, members) = wish.parts();
        let told = Told {
            method,
            target: target.map(Cow::Borrowed),
            members: members.into_iter().map(|(key, value)| (key.into(), value)).collect(),
            capabilities: offers.write(),
            tasks: offers.tasks,
            meta,
        };
        Some(Self { way, client, context, told })
    }

    /// Asks in as many rounds as it takes; where the client answers in another request, up to its
    /// questions.
    ///
    /// # Errors
    /// What the client is told; within, why the upstream has not answered.
    pub(crate) async fn ask(
        self,
        brought: &mut Option<Box<More>>,
    ) -> Result<Result<Passed, ClientError>, Refusal> {
        let (upstream, context) = (&self.way.upstream, self.context);
        let mut parked = self.parked()?;
        // It is there once, and the request may have to be made twice.
        let brought = brought.get_or_insert_with(|| Box::new(self.brought()));
        let mut more = More::clone(brought);
        for round in 0..ROUNDS_MAX {
            let asked = match parked.take() {
                Some(calling) => self.carry(calling).await,
                None if self.can_park() => self.carry(self.begin(&more)).await,
                None => self.ask_once(&more).await,
            };
            let passed = match asked {
                Ok(passed) => passed,
                Err(error) => match visits::wanted(&error) {
                    Some(pages) if context.revision().asks_in_rounds() => {
                        self.visit_first(&pages).await?;
                        continue;
                    }
                    _ if round == 0 => return Ok(Err(error)),
                    _ => return Ok(Err(error.once_begun(self.told.method))),
                },
            };
            let text = match &passed {
                Passed::Whole(text) if self.client.handshake().era == Era::Modern => text,
                _ => return Ok(Ok(passed)),
            };
            let Needed { questions, state } = match Needed::read(text, self.told.method) {
                Ok(Some(needed)) => needed,
                Ok(None) => return Ok(Ok(passed)),
                Err(error) => return Ok(Err(error)),
            };
            if questions.is_empty() {
                sleep(come_again(round)).await;
                more = More { answers: None, state };
                continue;
            }
            let keys = questions.iter().map(|(key, ..)| key.clone()).collect();
            let (name, kept) = (upstream.name().to_owned(), state.clone());
            context.keep(ROUND, &Round { upstream: name, keys, state: kept });
            let inquiries: Vec<_> = questions.into_iter().map(inquiry).collect();
            let answers = context.pass(&inquiries, Answers::Used).await;
            let answers = answers.map_err(|error| upstream.failed(&error.to_string()))?;
            let keys = inquiries.iter().map(|inquiry| &*inquiry.key);
            more = More { answers: Some(responses(keys.zip(answers))), state };
        }
        Err(upstream.failed(&format!("it asks for more than {ROUNDS_MAX} times")))
    }

    /// Has the client's person visit pages, without which the upstream does nothing.
    async fn visit_first(&self, pages: &[Inquiry]) -> Result<(), Refusal> {
        let upstream = &self.way.upstream;
        let answers = self.context.pass(pages, Answers::Used).await;
        let answers = answers.map_err(|error| upstream.failed(&error.to_string()))?;
        match visits::are_accepted(&answers) {
            true => Ok(()),
            false => Err(upstream.failed("it wants a page to be visited first, which nobody did")),
        }
    }

    /// What an upstream may ask while the request runs, which may then have to wait for the
    /// client's next.
    fn can_park(&self) -> bool {
        let is_legacy = self.client.handshake().era == Era::Legacy;
        can_be_asked(self.context.client()) && (is_legacy || self.told.tasks)
    }

    /// The call that waits for what this request brings.
    fn parked(&self) -> Result<Option<Calling>, Refusal> {
        let Some(ticket) = self.context.kept::<String>(TICKET) else { return Ok(None) };
        let parked = self.way.upstream.parked.take(&ticket);
        if parked.is_none() && !self.way.is_repeatable {
            // The next request without a state begins anew.
            return Err(self.way.upstream.failed(
                "the call that asked is not there any more, and may not be made twice; make the \
                 request again without `requestState`, if it may",
            ));
        }
        Ok(parked)
    }

    /// What the client has brought of what was asked in the round before.
    fn brought(&self) -> More {
        let round = self.context.kept::<Round>(ROUND);
        let Some(round) = round.filter(|round| round.upstream == self.way.upstream.name()) else {
            return More::default();
        };
        let answers = self.context.brought(&round.keys);
        let answers = answers.iter().map(|(key, answer)| (&**key, answer.clone()));
        More { answers: Some(responses(answers)), state: round.state }
    }

    /// Asks, while the request waits.
    async fn ask_once(&self, more: &More) -> Result<Passed, ClientError> {
        let mut listener = |notice| tell(&self.way.upstream, self.context, notice);
        self.told.ask(self.client, more, None, &mut listener).await
    }

    /// Begins a request that may outlive this one.
    fn begin(&self, more: &More) -> Calling {
        let (kind, name) = self.context.principal().key();
        let (inquirer, asked) = Inquirer::new(&format!("{kind} {name}"));
        let teller = Arc::new(Mutex::new(None::<Context>));
        let (told, client) = (self.told.keep(), Arc::clone(self.client.client()));
        let (waiting, over) = (self.client.waiting(), Arc::clone(&client));
        // As it is kept and as it is sent.
        let bytes = 2 * (told.bytes() + more.answers.as_ref().map_or(0, String::len));
        let (upstream, to) = (Arc::clone(&self.way.upstream), Arc::clone(&teller));
        let more = More { answers: more.answers.clone(), state: more.state.clone() };
        let work = async move {
            let mut listener = |notice: Notice| {
                let context = to.lock().unwrap_or_else(PoisonError::into_inner).clone();
                context.inspect(|context| tell(&upstream, context, notice));
            };
            let ended = told.ask(&client, &more, Some(&inquirer), &mut listener).await;
            drop(waiting);
            ended
        };
        Calling::new(Box::pin(work), asked, teller, bytes).over(&over)
    }

    async fn carry(&self, calling: Calling) -> Result<Passed, ClientError> {
        let lot = &self.way.upstream.parked;
        let ended = calling.carry(lot, self.context, TICKET).await;
        // It is over: another round, of another question, begins another.
        if self.context.kept::<String>(TICKET).is_some() {
            self.context.keep(TICKET, &None::<String>);
        }
        ended
    }
}

impl Told<'_> {
    fn bytes(&self) -> usize {
        let all = self.members.iter().chain(&self.meta);
        all.map(|(key, value)| key.len() + value.len()).sum()
    }

    /// The same for as long as it may take.
    fn keep(&self) -> Told<'static> {
        let keep = |text: &Cow<'_, str>| Cow::Owned(text.clone().into_owned());
        let all = |members: &[Member<'_>]| {
            members.iter().map(|(key, value)| (keep(key), keep(value))).collect()
        };
        Told {
            method: self.method,
            target: self.target.as_ref().map(keep),
            members: all(&self.members),
            capabilities: self.capabilities.clone(),
            tasks: self.tasks,
            meta: all(&self.meta),
        }
    }

    async fn ask(
        &self,
        client: &Client,
        more: &More,
        inquirer: Option<&Inquirer>,
        listener: &mut (dyn FnMut(Notice) + Send),
    ) -> Result<Passed, ClientError> {
        let mut members = pairs(&self.members);
        members.extend(more.answers.as_deref().map(|answers| ("inputResponses", answers)));
        members.extend(more.state.as_deref().map(|state| ("requestState", state.get())));
        let meta = pairs(&self.meta);
        let (capabilities, tasks) = (&*self.capabilities, self.tasks);
        let passing = Passing { inquirer, capabilities, tasks, meta: &meta };
        client.pass(self.method, self.target.as_deref(), &members, &passing, listener).await
    }
}

pub(crate) fn can_be_asked(offers: ClientCapabilities) -> bool {
    offers.form || offers.url || offers.sampling || offers.roots
}

fn pairs<'t>(all: &'t [Member<'_>]) -> Vec<(&'t str, &'t str)> {
    all.iter().map(|(key, value)| (&**key, &**value)).collect()
}

fn inquiry((key, method, params): (String, Method, Box<str>)) -> Inquiry {
    Inquiry { key, method, params }
}

/// JSON text of an object of answers.
fn responses<'k>(answers: impl Iterator<Item = (&'k str, Box<RawValue>)>) -> String {
    let mut out = vec![b'{'];
    for (key, answer) in answers {
        if out.len() > 1 {
            out.push(b',');
        }
        encode::string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(answer.get().as_bytes());
    }
    out.push(b'}');
    String::from_utf8(out).expect("encoders write UTF-8")
}

/// The members of `_meta` that are not between this server and its client.
fn others(meta: &str) -> Vec<Member<'_>> {
    let (mut cursor, mut is_first) = (Cursor::new(meta, DEPTH_MAX), true);
    let mut others = Vec::new();
    if cursor.enter_object().is_err() {
        return others;
    }
    while let Ok(Some(key)) = cursor.next_key(&mut is_first) {
        let Ok(value) = cursor.value() else { break };
        if !is_of_mcp(&key.decode()) {
            others.push((key.raw().into(), value.into()));
        }
    }
    others
}

/// Whether a key of `_meta` is defined by MCP for two that speak with each other (2026-07-28,
/// "General Fields"). What traces a request is for all.
fn is_of_mcp(key: &str) -> bool {
    let second = key.split_once('/').and_then(|(prefix, _)| prefix.split('.').nth(1));
    key == "progressToken" || matches!(second, Some("modelcontextprotocol" | "mcp"))
}

/// How long an upstream is left alone that wants to know nothing and does not answer either.
fn come_again(rounds_before: u32) -> Duration {
    COME_AGAIN.saturating_mul(1 << rounds_before.min(16)).min(COME_AGAIN_MAX)
}

/// What an upstream is told whose question has no answer.
pub(crate) fn declined(error: &AskError) -> haft_client::Declined {
    let code = match error {
        AskError::Refused { code, .. } => i32::try_from(*code).unwrap_or_default(),
        AskError::Unsupported { .. } => Mistake::MethodNotFound.code(),
        AskError::TooMany => Mistake::Overloaded.code(),
        _ => Mistake::Internal.code(),
    };
    let code = if code == 0 { Mistake::Internal.code() } else { code };
    let message: Cow<'_, str> = match error {
        AskError::Refused { message, .. } => message.into(),
        error => error.to_string().into(),
    };
    haft_client::Declined { code, message: message.into_owned() }
}

/// A request that is counted. One that ends with questions has not failed.
pub(crate) struct Counted<'a> {
    running: Running<'a>,
    context: &'a Context,
    is_over: bool,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(running: Running<'a>, context: &'a Context) -> Self {
        Self { running, context, is_over: false }
    }

    /// It is over.
    pub(crate) fn end<T>(&mut self, ended: &Result<T, Refusal>) {
        self.running.end(ended);
        self.is_over = true;
    }

    /// Its long result is on its way, which is counted instead.
    pub(crate) fn go_on(&mut self, way: &Forward) -> Arriving {
        self.is_over = true;
        self.running.go_on(way)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.is_over && self.context.is_asking() {
            self.running.end(&Ok::<(), Refusal>(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_request_carries_only_what_is_between_two_stays_here() {
        let meta = r#"{"progressToken":7,"traceparent":"00-1-2-01","com.mcp.x/y":1,
            "io.modelcontextprotocol/logLevel":"info","x.mcp":[1.50],"com.example/\u0061":null,
            "dev.mcp/z":{}}"#;
        let kept = others(meta);
        let kept: Vec<_> = kept.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(
            kept,
            [
                ("traceparent", r#""00-1-2-01""#),
                ("x.mcp", "[1.50]"),
                (r"com.example/\u0061", "null")
            ]
        );
    }

    #[test]
    fn an_upstream_that_wants_nothing_is_left_alone_longer_and_longer() {
        let pauses = [0, 1, 5, 6, 16, u32::MAX].map(come_again).map(|pause| pause.as_millis());
        assert_eq!(pauses, [100, 200, 3200, 5000, 5000, 5000]);
    }
}
