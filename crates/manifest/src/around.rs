//! What stands around the calls of a tool: from as typed to the middleware of the server. Called by
//! `tool` and `meant`; the middleware itself is `haft_server::around`.

use crate::amount;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::limits::{
    CACHE_BYTES_MAX, CACHE_ENTRIES_MAX, FAILURES_MAX, MAX_SIZE_MAX, PAUSE_MAX, RUNNING_MAX,
    TIMEOUT_MAX, TTL_MAX, WAITING_MAX,
};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::seen::Print;
use crate::tool::out_of_range;
use crate::written::around::{self as written, FailureKind, Redacted};
use crate::written::{Scalar, tool};
use haft_proto::spec::tool::Annotations;
use haft_proto::spec::tool_result::{Cause, ToolResult};
use haft_server::Tool;
use haft_server::around::{Breaker, Cache, MaxSize, Redact, Retry, Turns};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What stands around the calls of one tool. Every tool gets its own middleware of it; a
/// [`Standing`] is that which has a memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    pub(crate) timeout: Option<Duration>,
    pub(crate) concurrency: Option<usize>,
    /// How many calls wait for their turn, where that is said.
    waiting: Option<usize>,
    retry: Option<Retried>,
    breaker: Option<(u32, Duration)>,
    cache: Option<(Duration, usize, usize)>,
    max_size: Option<usize>,
    redact: Option<Redact>,
}

/// What stands around a tool and remembers its calls. A tool that is read again keeps it.
#[derive(Clone, Default)]
pub(crate) struct Standing {
    /// With how many run and how many wait.
    turns: Option<(usize, usize, Turns)>,
    breaker: Option<Breaker>,
    cache: Option<Cache>,
}

/// Around all tools of a file, by their names.
pub(crate) type Standings = BTreeMap<String, Standing>;

#[derive(Clone, Debug)]
struct Retried {
    attempts: u32,
    delay: Option<Duration>,
    max_delay: Option<Duration>,
    each: Option<Duration>,
    on: Option<Vec<FailureKind>>,
}

/// The keys of a tool, or those of `defaults`.
/// What the `defaults` of a file put around the tools of upstreams that speak MCP; two of them are
/// equal if the same was typed and filled in.
#[derive(Clone)]
pub struct Surrounding(Around, Print);

impl Surrounding {
    /// A tool of such an upstream with all of it around. What it remembers of calls begins anew.
    #[must_use]
    pub fn wrap(&self, tool: Tool) -> Tool {
        self.0.wrap(tool, &self.0.standing(None, None, false))
    }
}

impl PartialEq for Surrounding {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Surrounding {}

impl fmt::Debug for Surrounding {
    /// It may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surrounding").finish_non_exhaustive()
    }
}

struct Keys<'w> {
    timeout: Option<&'w Placed<Scalar>>,
    concurrency: Option<&'w Placed<u32>>,
    retry: Option<&'w Placed<written::Retry>>,
    breaker: Option<&'w Placed<written::Breaker>>,
    cache: Option<&'w Placed<written::Cache>>,
    max_size: Option<&'w Placed<Scalar>>,
    redact: &'w [Placed<Redacted>],
}

impl Around {
    /// Around all tools.
    pub(crate) fn of_all(
        defaults: &written::Defaults,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let written::Defaults { timeout, concurrency, retry, breaker, cache, max_size, redact } =
            defaults;
        let keys = Keys {
            timeout: timeout.as_ref(),
            concurrency: concurrency.as_ref(),
            retry: retry.as_ref(),
            breaker: breaker.as_ref(),
            cache: cache.as_ref(),
            max_size: max_size.as_ref(),
            redact,
        };
        Self::default().with(&keys, surroundings)
    }

    /// Around one tool: what it says itself, or else what is around all of them.
    pub(crate) fn of_tool(
        &self,
        tool: &tool::Tool,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let keys = Keys {
            timeout: tool.timeout.as_ref(),
            concurrency: tool.concurrency.as_ref(),
            retry: tool.retry.as_ref(),
            breaker: tool.breaker.as_ref(),
            cache: tool.cache.as_ref(),
            max_size: tool.max_size.as_ref(),
            redact: &tool.redact,
        };
        let around = Self { waiting: tool.foreign.waiting, ..self.clone() };
        around.with(&keys, surroundings)
    }

    /// Around the tools of an upstream.
    pub(crate) fn of_upstream(
        &self,
        timeout: Option<&Placed<Scalar>>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let timeout = timeout.map(|text| amount::time("timeout", text, TIMEOUT_MAX, surroundings));
        Ok(Self { timeout: timeout.transpose()?.or(self.timeout), ..self.clone() })
    }

    /// The same for who has their tools, unless it is nothing but a time; `print` is of what was
    /// typed. What one session is answered is nobody else's: of an upstream that is not shared
    /// nothing is kept.
    pub(crate) fn surrounding(&self, print: Print, is_shared: bool) -> Option<Surrounding> {
        let around = Self { cache: self.cache.filter(|_| is_shared), ..self.clone() };
        let Self { timeout: _, concurrency, waiting: _, retry, breaker, cache, max_size, redact } =
            &around;
        let is_any = concurrency.is_some()
            || retry.is_some()
            || breaker.is_some()
            || cache.is_some()
            || max_size.is_some()
            || redact.is_some();
        is_any.then(|| Surrounding(around, print))
    }

    fn with(mut self, keys: &Keys<'_>, surroundings: &Surroundings<'_>) -> Result<Self, Wrong> {
        let time = |key, text: &Placed<Scalar>, max| amount::time(key, text, max, surroundings);
        if let Some(text) = keys.timeout {
            self.timeout = Some(time("timeout", text, TIMEOUT_MAX)?);
        }
        if let Some(number) = keys.concurrency {
            self.concurrency = Some(amount::number("concurrency", number, 1, RUNNING_MAX)?);
        }
        if let Some(Placed { value: retry, .. }) = keys.retry {
            let pause = |key, text: &Option<Placed<Scalar>>| {
                text.as_ref().map(|text| time(key, text, PAUSE_MAX)).transpose()
            };
            let attempts =
                amount::number("attempts", &retry.attempts, 2, Retry::ATTEMPTS_MAX as usize)?;
            self.retry = Some(Retried {
                attempts: u32::try_from(attempts).unwrap_or(Retry::ATTEMPTS_MAX),
                delay: pause("delay", &retry.delay)?,
                max_delay: pause("max_delay", &retry.max_delay)?,
                each: pause("each", &retry.each)?,
                on: retry.on.as_ref().map(kinds).transpose()?,
            });
        }
        if let Some(Placed { value: breaker, .. }) = keys.breaker {
            let failures = breaker.failures.as_ref();
            let failures =
                failures.map(|number| amount::number("failures", number, 1, FAILURES_MAX));
            let failures = u32::try_from(failures.transpose()?.unwrap_or(5)).unwrap_or(u32::MAX);
            let rest = breaker.rest.as_ref().map(|text| time("rest", text, TIMEOUT_MAX));
            self.breaker = Some((failures, rest.transpose()?.unwrap_or(REST)));
        }
        if let Some(Placed { value: cache, .. }) = keys.cache {
            let entries = cache.entries.as_ref();
            let entries = entries.map(|n| amount::number("entries", n, 1, CACHE_ENTRIES_MAX));
            let size = cache.size.as_ref();
            let size = size.map(|text| amount::bytes("size", text, CACHE_BYTES_MAX, surroundings));
            let ttl = time("ttl", &cache.ttl, TTL_MAX)?;
            let (entries, size) = (entries.transpose()?, size.transpose()?);
            self.cache = Some((ttl, entries.unwrap_or(1024), size.unwrap_or(16 * 1024 * 1024)));
        }
        if let Some(text) = keys.max_size {
            self.max_size = Some(amount::bytes("max_size", text, MAX_SIZE_MAX, surroundings)?);
        }
        for redacted in keys.redact {
            self.redact = Some(redact(self.redact.take(), redacted, surroundings)?);
        }
        Ok(self)
    }

    /// The same without what all tools have of a cache: for tools whose answers are new each time.
    pub(crate) fn without_inherited_cache(mut self, tool: &tool::Tool) -> Self {
        if tool.cache.is_none() {
            self.cache = None;
        }
        self
    }

    /// What remembers the calls of a tool. `turns` are those of a tool without a `concurrency`: how
    /// many calls run, and how many wait. Calls that run count in a tool of that name that was read
    /// `before`; what came of calls counts if it is the same tool.
    pub(crate) fn standing(
        &self,
        turns: Option<(usize, usize)>,
        before: Option<&Standing>,
        is_same: bool,
    ) -> Standing {
        let own = self.concurrency.map(|running| (running, WAITING_MAX));
        let turns = own.or(turns).map(|(running, waiting)| {
            let waiting = self.waiting.unwrap_or(waiting);
            let known = before.and_then(|before| before.turns.clone());
            let known = known.filter(|known| (known.0, known.1) == (running, waiting));
            known.unwrap_or_else(|| (running, waiting, Turns::new(running, waiting)))
        });
        let before = before.filter(|_| is_same);
        let breaker = self.breaker.map(|(failures, rest)| {
            let known = before.and_then(|before| before.breaker.clone());
            known.unwrap_or_else(|| Breaker::new(failures, rest))
        });
        let cache = self.cache.map(|(ttl, entries, bytes)| {
            let known = before.and_then(|before| before.cache.clone());
            known.unwrap_or_else(|| Cache::new(ttl).entries_max(entries).bytes_max(bytes))
        });
        Standing { turns, breaker, cache }
    }

    /// The tool with all of it around, outermost first.
    pub(crate) fn wrap(&self, mut tool: Tool, standing: &Standing) -> Tool {
        if let Some(redact) = &self.redact {
            tool = tool.middleware(redact.clone());
        }
        if let Some(max) = self.max_size {
            tool = tool.middleware(MaxSize::new(max));
        }
        if let Some(cache) = &standing.cache {
            tool = tool.middleware(cache.clone());
        }
        if let Some((_, _, turns)) = &standing.turns {
            tool = tool.middleware(turns.clone());
        }
        if let Some(breaker) = &standing.breaker {
            tool = tool.middleware(breaker.clone());
        }
        if let Some(retry) = &self.retry {
            tool = tool.middleware(retry.middleware());
        }
        match self.timeout {
            Some(timeout) => tool.timeout(timeout),
            None => tool,
        }
    }
}

/// What can be wrong with what stands around a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum Mistake {
    /// A regular expression.
    BadPattern { reason: String },
    /// Answers are only kept of tools that change nothing.
    NotReadOnly,
    /// Calls are only made again of tools that may be called twice.
    NotRepeatable,
}

impl Mistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::BadPattern { reason } => format!("this is no regular expression: {reason}"),
            Self::NotReadOnly => {
                "`cache` would answer for a tool without calling it, and it may change something"
                    .to_owned()
            }
            Self::NotRepeatable => {
                "`retry` would call a tool twice that does not say that this is safe".to_owned()
            }
        }
    }

    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::BadPattern { .. } => None,
            Self::NotReadOnly => Some("if it does not, say `annotations: { readOnly: true }`"),
            Self::NotRepeatable => {
                Some("if it is, say `annotations: { readOnly: true }` or `idempotent: true`")
            }
        }
    }
}

/// How long a breaker rests.
const REST: Duration = Duration::from_secs(30);

/// The keys of a tool by which it may be called twice, or not at all, and their places.
#[derive(Clone, Copy)]
pub(crate) struct Repeats {
    retry: Option<Place>,
    cache: Option<Place>,
}

pub(crate) fn repeats(tool: &tool::Tool) -> Repeats {
    Repeats {
        retry: tool.retry.as_ref().map(|retry| retry.place),
        cache: tool.cache.as_ref().map(|cache| cache.place),
    }
}

/// What may be done twice alone is tried again, and what changes nothing alone is kept; who says so
/// of another tool is mistaken.
pub(crate) fn check_use(repeats: Repeats, annotations: Annotations) -> Result<(), Wrong> {
    let only_reads = annotations.read_only == Some(true);
    let is_repeatable = only_reads || annotations.idempotent == Some(true);
    match repeats {
        Repeats { retry: Some(place), .. } if !is_repeatable => {
            Err(Wrong::new(place, Problem::Around(Mistake::NotRepeatable)))
        }
        Repeats { cache: Some(place), .. } if !only_reads => {
            Err(Wrong::new(place, Problem::Around(Mistake::NotReadOnly)))
        }
        _ => Ok(()),
    }
}

impl Retried {
    fn middleware(&self) -> Retry {
        let mut retry = Retry::new(self.attempts);
        if let Some(delay) = self.delay {
            retry = retry.delay(delay);
        }
        if let Some(delay) = self.max_delay {
            retry = retry.delay_max(delay);
        }
        if let Some(limit) = self.each {
            retry = retry.each(limit);
        }
        match self.on.clone() {
            Some(kinds) => retry.when(move |result| kinds.iter().any(|kind| kind.is_of(result))),
            None => retry,
        }
    }
}

impl FailureKind {
    fn is_of(self, result: &ToolResult) -> bool {
        match result.cause {
            None => false,
            Some(Cause::Exit(_)) => self == Self::Exit,
            Some(Cause::Busy | Cause::Status(429)) => self == Self::Busy,
            Some(Cause::Status(status)) => self == Self::Server && status >= 500,
            Some(Cause::Timeout) => self == Self::Timeout,
            Some(Cause::Unreachable) => self == Self::Connect,
        }
    }
}

fn kinds(written: &Placed<Vec<FailureKind>>) -> Result<Vec<FailureKind>, Wrong> {
    if written.value.is_empty() {
        let help = "remove it, or name failures: [timeout, 5xx]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "on", help }));
    }
    Ok(written.value.clone())
}

fn redact(
    before: Option<Redact>,
    redacted: &Placed<Redacted>,
    surroundings: &Surroundings<'_>,
) -> Result<Redact, Wrong> {
    let before = before.unwrap_or_default();
    match &redacted.value {
        Redacted::Text(Scalar(text)) => {
            let text = Placed::new(redacted.place, text.clone());
            let word = surroundings.fill(&text)?.value;
            if word.chars().count() < Redact::WORD_MIN {
                let allowed = format!("texts of at least {} characters", Redact::WORD_MIN);
                return Err(out_of_range("redact", &allowed, redacted.place));
            }
            Ok(before.word(&word))
        }
        Redacted::Pattern(written::Pattern { pattern }) => {
            before.pattern(&surroundings.fill(pattern)?.value).map_err(|bad| {
                Wrong::new(
                    pattern.place,
                    Problem::Around(Mistake::BadPattern { reason: bad.reason }),
                )
            })
        }
    }
}
