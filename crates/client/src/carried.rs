//! The wire to a server whose messages somebody else carries, in the modern era: each request on
//! its own, with what belongs to it. It knows neither how nor how far.

use crate::desk::Desk;
use crate::error::{ClientError, excerpt};
use crate::express::Expressed;
use crate::limits::LONG_BYTES;
use crate::long::{LongResult, Passed, Source};
use crate::message::{Ask, Heard, Listener, hear};
use crate::options::Options;
use crate::tools::Tool;
use bytes::Bytes;
use haft_proto::envelope::{self, Incoming};
use haft_proto::limits::Limits;
use haft_proto::long;
use haft_proto::method::Method;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// Somebody who carries requests to a server, and back what comes of them.
pub trait Carrier: fmt::Debug + Send + Sync {
    /// Carries one request: what belongs to it is heard as it comes, message for message; the last
    /// is returned, or nothing of one whose answer are the messages before. Dropping the future, or
    /// what is left of an answer, takes the request back.
    ///
    /// # Errors
    /// [`Uncarried`].
    fn carry<'a>(&'a self, parcel: Parcel, hear: Hear<'a>) -> Carrying<'a>;

    /// Waits until nobody is there whom anything can be carried to.
    fn gone<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// A request that is to be carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// JSON-RPC, on one line.
    pub message: Bytes,
    /// How long it is waited for, if not for ever.
    pub within: Option<Duration>,
    /// It may be done twice without harm: it reads, or its tool is said to be `readOnlyHint` or
    /// `idempotentHint`.
    pub is_repeatable: bool,
    /// An answer is handed over while it comes, once so many bytes of it are there.
    pub pieces_from: Option<usize>,
}

/// The last message that belongs to a request.
#[derive(Debug)]
pub enum Answer {
    /// All of it.
    Whole(Bytes),
    /// One of which more is to come.
    Long {
        /// How it begins.
        begun: Bytes,
        /// What follows.
        rest: Box<dyn Rest>,
    },
}

/// The rest of a message. It comes as fast as it is taken, and no faster.
pub trait Rest: fmt::Debug + Send + Sync {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`Uncarried`], and nothing comes after that.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Uncarried>>>;
}

/// Whoever hears messages that belong to a request.
pub type Hear<'a> = &'a mut (dyn FnMut(Bytes) + Send);

/// A request that is being carried.
pub type Carrying<'a> = Pin<Box<dyn Future<Output = Result<Answer, Uncarried>> + Send + 'a>>;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncarried {
    /// It never began, for this reason: it may be made again.
    NotBegun(Box<str>),
    /// It may have been done or not, for this reason.
    Lost(Box<str>),
    /// Its answer is longer than so many bytes.
    TooLong(usize),
}

/// What answers a request.
enum Taken {
    Whole(Box<RawValue>),
    Long(Box<LongResult>),
}

pub(crate) fn uncarried(method: &'static str, why: Uncarried) -> ClientError {
    match why {
        Uncarried::NotBegun(reason) => ClientError::NotCarried { reason: reason.into() },
        Uncarried::TooLong(limit) => ClientError::MessageTooLarge { limit },
        Uncarried::Lost(reason) => ClientError::LostOnTheWay { method, reason: reason.into() },
    }
}

/// See above.
#[derive(Debug)]
pub(crate) struct Carried {
    carrier: Arc<dyn Carrier>,
    desk: Arc<Desk>,
    timeout: Duration,
    limits: Limits,
    /// The tools of which it is known that calls may be made twice.
    repeatable: Mutex<HashSet<String>>,
}

impl Carried {
    pub(crate) fn new(carrier: &Arc<dyn Carrier>, desk: Arc<Desk>, options: &Options) -> Self {
        let (carrier, limits) = (Arc::clone(carrier), options.limits.clone());
        Self { carrier, desk, timeout: options.timeout, limits, repeatable: Mutex::default() }
    }

    /// What the server has, as it said last.
    pub(crate) fn has(&self, tools: &[Tool]) {
        let repeatable = tools.iter().filter(|tool| tool.is_repeatable);
        let names = repeatable.map(|tool| tool.name.clone()).collect();
        *self.repeatable.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    fn is_repeatable(&self, ask: &Ask) -> bool {
        match (ask.method, &ask.target) {
            (Method::ToolsCall, Some(tool)) => {
                self.repeatable.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
            }
            (Method::ToolsCall | Method::TasksUpdate, _) => false,
            _ => true,
        }
    }

    /// Asks and waits for the answer. Dropping the future takes the request back.
    pub(crate) async fn ask(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        match self.carry(ask, None, listener).await? {
            Taken::Whole(raw) => Ok(raw),
            Taken::Long(long) => {
                let method = ask.method.name();
                let whole = Passed::Long(long).whole(method).await?;
                let raw = RawValue::from_string(whole.to_string());
                raw.map_err(|error| ClientError::NotJsonRpc { method, reason: error.to_string() })
            }
        }
    }

    /// The same; a long result is handed over as it comes.
    pub(crate) async fn pass(
        &self,
        ask: &Ask,
        listener: Listener<'_>,
    ) -> Result<Expressed, ClientError> {
        let from = usize::try_from(LONG_BYTES).unwrap_or(usize::MAX);
        Ok(match self.carry(ask, Some(from), listener).await {
            Ok(Taken::Long(long)) => Expressed::Complete(Passed::Long(long)),
            Ok(Taken::Whole(raw)) => Expressed::Open(Ok(raw)),
            Err(error) => Expressed::Open(Err(error)),
        })
    }

    async fn carry(
        &self,
        ask: &Ask,
        pieces_from: Option<usize>,
        listener: Listener<'_>,
    ) -> Result<Taken, ClientError> {
        let first_wrong = Mutex::new(None);
        let mut hear = |message: Bytes| {
            if let Err(error) = self.take(ask, &message, listener) {
                let mut wrong = first_wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.get_or_insert(error);
            }
        };
        // Who listens does so for as long as it likes.
        let within = (ask.method != Method::SubscriptionsListen).then_some(self.timeout);
        let is_repeatable = self.is_repeatable(ask);
        let parcel = Parcel { message: ask.message().into(), within, is_repeatable, pieces_from };
        let last = self.carrier.carry(parcel, &mut hear).await;
        let method = ask.method.name();
        let last = last.map_err(|why| uncarried(method, why))?;
        if let Some(error) = first_wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let whole = match last {
            Answer::Whole(whole) => whole,
            Answer::Long { begun, rest } => match self.long(ask, begun, rest).await? {
                Ok(long) => return Ok(Taken::Long(long)),
                Err(whole) => whole,
            },
        };
        let answer = match whole.is_empty() {
            true => None,
            false => self.take(ask, &whole, listener)?,
        };
        answer.map(Taken::Whole).ok_or(ClientError::ClosedMidAnswer { method })
    }

    /// A result that can be handed over as it comes; or all of a message that is not so plain.
    async fn long(
        &self,
        ask: &Ask,
        begun: Bytes,
        rest: Box<dyn Rest>,
    ) -> Result<Result<Box<LongResult>, Bytes>, ClientError> {
        let method = ask.method.name();
        let mut source = Source::Carried(rest);
        if let Some(start) = long::result_begins(&begun, &ask.id) {
            match LongResult::new(begun.slice(start..), source, (method, self.timeout)) {
                Ok(long) => return Ok(Ok(Box::new(long))),
                Err(given_back) => source = given_back,
            }
        }
        let mut whole = Vec::from(begun);
        while let Some(piece) = poll_fn(|cx| source.poll_piece(cx, method)).await {
            whole.extend_from_slice(&piece?);
        }
        Ok(Err(whole.into()))
    }

    /// Waits until nobody is there.
    pub(crate) async fn ended(&self) {
        self.carrier.gone().await;
    }

    /// Takes a message; the answer, if it is that.
    fn take(
        &self,
        ask: &Ask,
        bytes: &[u8],
        listener: Listener<'_>,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        let method = ask.method.name();
        let mut room = Vec::new();
        let message = match envelope::read_with_halves(bytes, &mut room, &self.limits) {
            Ok(Incoming::One(message)) => message,
            Ok(Incoming::Batch(_)) => {
                let reason = "it is a batch".to_owned();
                return Err(ClientError::NotJsonRpc { method, reason });
            }
            Err(rejected) => {
                let reason = rejected.reason.to_string();
                return Err(ClientError::NotJsonRpc { method, reason });
            }
        };
        let listens = ask.method == Method::SubscriptionsListen;
        let subscription =
            |named: Option<String>| if listens { Some(ask.id.clone()) } else { named };
        match hear(&message) {
            Heard::Notice(token, notice) => {
                if token.is_none_or(|token| token == ask.id) {
                    listener(notice);
                }
            }
            Heard::Reply(theirs, outcome) => {
                if let Some(theirs) = theirs.filter(|theirs| *theirs != ask.id) {
                    let theirs = excerpt(theirs.as_bytes());
                    return Err(ClientError::AnsweredAnotherId { ours: ask.id.clone(), theirs });
                }
                return outcome.map(Some).map_err(|reply| ask.refused(reply, None));
            }
            Heard::Acknowledged(named, interest) => {
                self.desk.hub().acknowledge(subscription(named).as_deref(), &interest);
            }
            Heard::Changed(named, change) => {
                self.desk.hub().tell(subscription(named).as_deref(), &change);
            }
            Heard::VisitEnded(id) => self.desk.visit_ended(id),
            // A modern server has no requests, and takes none back.
            Heard::Asked(_) | Heard::TakenBack(_) | Heard::Nothing => {}
        }
        Ok(None)
    }
}
