//! Calls within calls: a handler that is running calls another tool of its server. Everything that
//! a client's call goes through, this one does too, but for the middleware of the server and the
//! wire; the caller, its principal and its cancellation are those of the call that it is part of.

use crate::calls::{explain, left_out, mend, misfit};
use crate::context::{Context, Place};
use crate::driver::panicked;
use crate::layers;
use crate::middleware::{Outcome, Request};
use crate::missing;
use crate::nearest::nearest;
use crate::registry::Snapshot;
use crate::tool::Registered;
use futures_util::FutureExt;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::json::Cursor;
use haft_proto::method::Method;
use haft_proto::spec::tool_result::ToolResult;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

/// What a context knows of the calls around it.
#[derive(Clone, Default)]
pub(crate) struct Nesting {
    /// How many calls are around this one.
    depth: usize,
    /// Which call within a call this is.
    link: Option<Arc<Link>>,
    /// What the calls of this part are told from others by, if not by their arguments.
    name: Option<u64>,
    /// Which attempt of one that is made again this is.
    attempt: Option<Arc<Attempt>>,
    /// Which part of the progress of the outermost call this is.
    part: Option<Part>,
}

/// A call within a call, told from the others around and beside it. It is the same again when the
/// whole runs again, in another round or attempt, whichever of those beside it begins first.
struct Link {
    around: Option<Arc<Self>>,
    tool: Arc<Registered>,
    told_by: ToldBy,
    /// How many equal ones began before it in the one around it.
    index: usize,
    /// How many attempts within one another it is in, since the one around it.
    attempts: usize,
    begun: Begun,
}

/// What tells a call from others of the same tool.
#[derive(Clone, Copy, Hash)]
enum ToldBy {
    /// Whoever calls with others is answered for itself.
    Arguments(u64),
    /// The name that the caller gave it.
    Name(u64),
}

/// How many calls began, by what they are told from others by. No more than there may be calls.
#[derive(Default)]
pub(crate) struct Begun(Mutex<FxHashMap<u64, usize>>);

impl Begun {
    /// How many equal ones there were before this one.
    fn count(&self, tool: &str, told_by: ToldBy) -> usize {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = begun.entry(FxBuildHasher.hash_one((tool, told_by))).or_default();
        *count += 1;
        *count - 1
    }
}

/// A call that may be made again: what begins in one attempt is what began in the one before.
#[derive(Default)]
struct Attempt {
    /// How many attempts are around it in the same call.
    around: usize,
    begun: Begun,
}

impl Link {
    /// Calls `act` with the tools of this call and of those around it.
    fn each(&self, act: &mut impl FnMut(&Registered)) {
        act(&self.tool);
        if let Some(around) = &self.around {
            around.each(act);
        }
    }

    /// Appends what tells its questions and steps from those of others.
    fn path(&self, path: &mut String) {
        if let Some(around) = &self.around {
            around.path(path);
        }
        path.extend(std::iter::repeat_n('~', self.attempts));
        let (tool, index) = (&self.tool.tool.name, self.index);
        // Writing to a string does not fail.
        let _ = match self.told_by {
            ToldBy::Arguments(arguments) => write!(path, "{tool}.{index}.{arguments:x}/"),
            ToldBy::Name(name) => write!(path, "{tool}.{index}#{name:x}/"),
        };
    }
}

/// A part of the way, in the units of the whole.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: f64,
    to: f64,
    total: f64,
}

impl Nesting {
    /// What to tell of progress in this part.
    pub(crate) fn progress(&self, progress: f64, total: Option<f64>) -> (f64, Option<f64>) {
        let Some(Part { from, to, total: whole }) = self.part else { return (progress, total) };
        let share = match total {
            Some(total) if total > 0.0 => (progress / total).clamp(0.0, 1.0),
            // How much is still to come is not known; the whole gets no further by it.
            _ => 0.0,
        };
        (from + share * (to - from), Some(whole))
    }
}

/// How often the time of a call is looked at while its client is asked.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How many calls one request makes before others get a turn.
const CALLS_AT_ONCE: usize = 64;

impl Context {
    /// Calls another tool of the same server and waits for its result. Its arguments are checked
    /// and mended, its own middleware, timeout and output schema apply; the middleware of the
    /// server stands around the whole call and is not asked again. Whoever is asked or told of
    /// progress is the client of the call that this one is part of, and dropping the future ends
    /// what has begun. The called tool sees HTTP headers only if the calling one wants them, and
    /// its calls never become tasks by themselves.
    ///
    /// A tool that fails says so in its result, and so do arguments that do not fit and a timeout.
    ///
    /// # Errors
    /// There is no such tool; it panicked; a middleware refused; calls nest deeper than
    /// [`Limits::call_depth`](haft_proto::limits::Limits::call_depth), or are more than
    /// [`Limits::calls_within`](haft_proto::limits::Limits::calls_within) in one request.
    ///
    /// ```
    /// use haft_server::{Context, Server, Tool, handler};
    /// use serde_json::{Value, json};
    /// # #[derive(serde::Deserialize)] struct Text { text: String }
    /// let upper = Tool::new("upper", handler::function(|it: Text| it.text.to_uppercase()))
    ///     .input_schema(r#"{"type":"object","properties":{"text":{"type":"string"}},
    ///         "required":["text"]}"#);
    /// let shout = handler::future(|_: Value, context: Context| async move {
    ///     context.call("upper", json!({ "text": "help" })).await
    /// });
    /// let server =
    ///     Server::builder("voice", "1.0.0").tool(upper).tool(Tool::new("shout", shout)).build()?;
    /// # Ok::<(), haft_server::BuildError>(())
    /// ```
    pub async fn call(&self, tool: &str, arguments: impl Serialize) -> Result<ToolResult, Refusal> {
        let arguments = to_raw_value(&arguments).map_err(|error| {
            Refusal::new(Mistake::Internal, format!("Internal error: no arguments: {error}"))
        })?;
        self.call_raw(tool, arguments).await
    }

    /// The same with arguments that are JSON text already.
    ///
    /// # Errors
    /// As above.
    pub async fn call_raw(
        &self,
        tool: &str,
        arguments: Box<RawValue>,
    ) -> Result<ToolResult, Refusal> {
        let before = self.go_deeper()?;
        // Tools that never wait must not keep a thread from others, nor from the time.
        if before % CALLS_AT_ONCE == CALLS_AT_ONCE - 1 {
            yield_now().await;
        }
        let core = &self.inner.core;
        let tool = {
            // Those that were there when it began, whatever is swapped meanwhile, and new ones.
            let (first, now) = (&self.inner.snapshot, core.snapshot.load());
            let found = first.find_called(tool).or_else(|| now.find_called(tool));
            found.map(Arc::clone).ok_or_else(|| unknown(&now, tool))?
        };
        // The checks below go as deep as their text, on this stack.
        if let Err(error) = Cursor::new(arguments.get(), core.limits.depth).value() {
            let text = format!("Invalid arguments for `{}`: {error}", tool.tool.name);
            return Ok(ToolResult::error(text));
        }
        let mut arguments = String::from(Box::<str>::from(arguments));
        if let Some(kept) = left_out(&tool, &arguments) {
            arguments = kept;
        }
        if !tool.is_relayed
            && let Err(violations) = tool.checks.input().check(&arguments)
        {
            match mend((core, &self.inner.snapshot.face), &tool, &arguments) {
                Some(mended) => arguments = mended,
                None => return Ok(ToolResult::error(explain(&tool.tool.name, &violations))),
            }
        }
        let context = self.within(&tool, &arguments);
        let name = tool.tool.name.clone();
        let (method, annotations) = (Method::ToolsCall, tool.tool.annotations);
        let time_limit = tool.timeout;
        let request = Request { method, name, arguments, annotations, time_limit, context };
        let work = async { layers::call_within(core, &tool, request).await };
        let work = AssertUnwindSafe(work).catch_unwind();
        let Some(ended) = self.in_time(tool.timeout, work).await else {
            let (name, limit) = (&tool.tool.name, tool.timeout);
            let text = format!("The tool `{name}` was stopped: it took longer than {limit:?}.");
            return Ok(ToolResult::error(text));
        };
        match ended.map_err(|_| panicked("tool"))? {
            Outcome::Tool(result) if result.is_error => Ok(result),
            Outcome::Tool(result) => {
                let structured = result.structured.as_deref().map(RawValue::get);
                Ok(misfit(&tool, structured).unwrap_or(result))
            }
            Outcome::Refused(refusal) => Err(refusal),
            Outcome::Prompt(_) | Outcome::Relayed(_) | Outcome::Resource(_) => {
                Err(layers::mistaken("tool"))
            }
        }
    }

    /// Whether a handler calls this way, and no client.
    pub(crate) fn is_within(&self) -> bool {
        self.nesting.depth > 0
    }

    /// The same context for a part of the work: what is told of progress through it becomes a
    /// share of the range, of which `total` is the end. For a call that does others and knows how
    /// much of the whole each of them is.
    ///
    /// ```
    /// # async fn both(context: haft_server::Context) {
    /// context.part(0.0..1.0, 2.0).progress(5.0, Some(10.0), None); // is told as 0.5 of 2
    /// # }
    /// ```
    #[must_use]
    pub fn part(&self, range: Range<f64>, total: f64) -> Self {
        let (from, _) = self.nesting.progress(range.start, Some(total));
        let (to, whole) = self.nesting.progress(range.end, Some(total));
        let mut part = self.clone();
        part.nesting.part = Some(Part { from, to, total: whole.unwrap_or(total) });
        part
    }

    /// What comes of a part of the work within a time, in which waiting for the client does not
    /// count; `None` if it took longer. Then it has been dropped, and what it had begun is ended.
    ///
    /// ```
    /// # async fn look(context: haft_server::Context) {
    /// let second = std::time::Duration::from_secs(1);
    /// let slow = context.call("look", serde_json::json!({}));
    /// let found = context.in_time(second, slow).await;
    /// # }
    /// ```
    pub async fn in_time<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        let mut work = pin!(work);
        // A tool that answers at once needs no alarm.
        if let Poll::Ready(made) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            return Some(made);
        }
        let before = self.desk().waited();
        let mut alarm = pin!(sleep(limit));
        poll_fn(|cx| {
            if let Poll::Ready(made) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(made));
            }
            while alarm.as_mut().poll(cx).is_ready() {
                let (waited, is_waiting) = {
                    let desk = self.desk();
                    (desk.waited(), desk.waiting.is_some())
                };
                let allowed = limit.saturating_add(waited.saturating_sub(before));
                let rest = allowed.saturating_sub(begun.elapsed());
                if rest.is_zero() {
                    return Poll::Ready(None);
                }
                let pause = if is_waiting { LOOK_AGAIN } else { Duration::ZERO };
                alarm.set(sleep(rest.max(pause)));
            }
            Poll::Pending
        })
        .await
    }

    /// How many calls within the whole there were before this one, if there may be one more.
    fn go_deeper(&self) -> Result<usize, Refusal> {
        let limits = &self.inner.core.limits;
        let limit = limits.call_depth;
        if self.nesting.depth >= limit {
            return Err(exceeded(format!("calls within calls nest deeper than {limit}")));
        }
        let before = self.inner.calls_within.fetch_add(1, Ordering::Relaxed);
        let limit = limits.calls_within;
        if before >= limit {
            return Err(exceeded(format!("one call made more than {limit} others")));
        }
        Ok(before)
    }

    /// The same context for a part of the work whose calls are told from others by this name, not
    /// by their arguments. What a call within this one was told, and what it has done
    /// [`once`](Context::once), is found again by which tool was called with which arguments, and
    /// how often before. Where arguments are not the same each time the handler runs (there is a
    /// time in them, or what another tool said), and where equal calls begin in an order that is
    /// not always the same, each needs a name that is. Names within names add up.
    ///
    /// ```
    /// # async fn all(context: haft_server::Context, paths: Vec<String>) {
    /// for (index, path) in paths.iter().enumerate() {
    ///     let now = std::time::SystemTime::now();
    ///     let remove = serde_json::json!({ "path": path, "at": format!("{now:?}") });
    ///     let removed = context.named(("remove", index)).call("remove", remove).await;
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn named(&self, name: impl Hash) -> Self {
        let mut part = self.clone();
        let name = FxBuildHasher.hash_one(name);
        part.nesting.name = Some(match self.nesting.name {
            Some(around) => FxBuildHasher.hash_one((around, name)),
            None => name,
        });
        part
    }

    /// The same context for one attempt of a call that may be made again: what begins in it is what
    /// began in the attempt before.
    pub(crate) fn attempt(&self) -> Self {
        let around = self.nesting.attempt.as_ref().map_or(0, |attempt| attempt.around + 1);
        let mut attempt = self.clone();
        attempt.nesting.attempt = Some(Arc::new(Attempt { around, begun: Begun::default() }));
        attempt
    }

    /// The context of a call within this one.
    fn within(&self, tool: &Arc<Registered>, arguments: &str) -> Self {
        let Nesting { depth, link, name, attempt, .. } = &self.nesting;
        let told_by = match name {
            Some(name) => ToldBy::Name(*name),
            None => ToldBy::Arguments(FxBuildHasher.hash_one(arguments)),
        };
        let begun = match (attempt, link) {
            (Some(attempt), _) => &attempt.begun,
            (None, Some(link)) => &link.begun,
            (None, None) => &self.inner.calls_begun,
        };
        let link = Link {
            around: link.clone(),
            tool: Arc::clone(tool),
            told_by,
            index: begun.count(&tool.tool.name, told_by),
            attempts: attempt.as_ref().map_or(0, |attempt| attempt.around + 1),
            begun: Begun::default(),
        };
        let part = self.nesting.part;
        let nesting =
            Nesting { depth: depth + 1, link: Some(Arc::new(link)), part, ..Nesting::default() };
        Self { inner: Arc::clone(&self.inner), nesting }
    }

    /// A key of a question or step, as it is told from the same key of other calls. What comes of
    /// it is good for the tools that are called here now.
    pub(crate) fn key<'k>(&self, key: &'k str) -> Cow<'k, str> {
        let Some(link) = &self.nesting.link else { return Cow::Borrowed(key) };
        if let Place::Rounds(rounds) = &mut self.desk().place {
            link.each(&mut |tool| rounds.note(tool));
        }
        let mut path = String::new();
        link.path(&mut path);
        path.push_str(key);
        Cow::Owned(path)
    }
}

fn exceeded(what: String) -> Refusal {
    Refusal::new(Mistake::Internal, format!("Internal error: {what}"))
}

fn unknown(snapshot: &Snapshot, name: &str) -> Refusal {
    if let Some(refusal) = missing::refusal(&snapshot.missing, name) {
        return refusal;
    }
    let names = snapshot.tools.iter().map(|tool| tool.tool.name.as_str());
    let end = match nearest(name, names) {
        Some(meant) => format!("; did you mean {meant:?}?"),
        None => String::new(),
    };
    let shown: String = name.chars().take(128).collect();
    Refusal::new(Mistake::InvalidParams, format!("Unknown tool: {shown:?}{end}"))
}
