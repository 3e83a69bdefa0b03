//! One call of a pipeline: steps in order, at the same time, for each item. Everything runs in one
//! future, so that whatever ends the call ends every step. Called by `handler`.

use crate::kind::Setting;
use crate::limits::{KEPT_BYTES_MAX, PASSED_BYTES_MAX, REASON_BYTES};
use crate::pipeline::form::Form;
use crate::pipeline::scope::{Added, Scope};
use crate::pipeline::{Action, Each, Step, report};
use crate::place::Placed;
use crate::written::pipeline::OnError;
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use haft_proto::spec::content::Content;
use haft_proto::spec::tool_result::ToolResult;
use haft_server::Context;
use minijinja::Value;
use serde::Serialize;
use serde_json::value::RawValue;
use std::future::Future;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::task::yield_now;

/// A call of a pipeline.
pub(crate) struct Run<'r> {
    pub(crate) setting: &'r Setting,
    context: Context,
    /// The steps of the pipeline itself.
    total: usize,
    /// How much of them is done, in parts of one.
    done: AtomicU64,
    /// How many steps were skipped.
    skipped: AtomicUsize,
    /// How many bytes of results are kept.
    kept: AtomicUsize,
}

/// What comes of a step.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) value: Value,
    /// What later steps see of it.
    pub(crate) added: Vec<Added>,
    /// The result of its call, if it is one call.
    pub(crate) answer: Option<ToolResult>,
}

/// Why a pipeline does not go on.
pub(crate) struct Failure {
    /// The step.
    pub(crate) at: String,
    pub(crate) reason: String,
}

impl Failure {
    pub(crate) fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// One step of the pipeline itself, in parts.
const WHOLE: u64 = 1 << 40;

/// How many steps are skipped before others get a turn.
const STEPS_AT_ONCE: usize = 64;

/// Which part of the whole a step is.
#[derive(Clone, Copy)]
struct Share<'s> {
    /// How much.
    parts: u64,
    within: Option<&'s Attempt<'s>>,
    item: Option<&'s Item<'s>>,
}

/// Which of the items of an `each` a step is for.
#[derive(Hash)]
struct Item<'s> {
    index: usize,
    around: Option<&'s Self>,
}

/// What may fail without an end to the pipeline: then the rest of its share is done as well.
struct Attempt<'s> {
    done: AtomicU64,
    share: Share<'s>,
}

impl<'s> Share<'s> {
    fn of(self, count: usize) -> Self {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        Self { parts: self.parts / count, ..self }
    }

    fn attempt(self) -> Attempt<'s> {
        Attempt { done: AtomicU64::new(0), share: self }
    }
}

impl<'s> Attempt<'s> {
    fn share(&'s self) -> Share<'s> {
        Share { within: Some(self), ..self.share }
    }

    /// What is left of it.
    fn rest(&self) -> Share<'s> {
        let done = self.done.load(Ordering::Relaxed);
        Share { parts: self.share.parts.saturating_sub(done), ..self.share }
    }
}

/// Where and why an item failed.
type Why = (String, String);

type Doing<'s, T = Done> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 's>>;

impl<'r> Run<'r> {
    pub(crate) fn new(setting: &'r Setting, context: Context, total: usize) -> Self {
        let (done, skipped, kept) = <(AtomicU64, AtomicUsize, AtomicUsize)>::default();
        Self { setting, context, total, done, skipped, kept }
    }

    /// The steps of the pipeline itself, one after the other.
    pub(crate) async fn all(&self, steps: &[Step], scope: Scope) -> Result<Done, Failure> {
        self.row(steps, scope, Share { parts: WHOLE, within: None, item: None }).await
    }

    /// One step of the pipeline itself.
    pub(crate) async fn one(&self, step: &Step, scope: Scope) -> Result<Done, Failure> {
        self.step(step, scope, Share { parts: WHOLE, within: None, item: None }).await
    }

    /// A value for what a step sees.
    pub(crate) fn value(&self, form: &Form, context: &Value) -> Result<Value, String> {
        let value = form.value(&self.setting.templates, context);
        value.map_err(|error| format!("a template cannot be filled: {error}"))
    }

    /// Steps one after the other, each of which is that much of the whole.
    async fn row(
        &self,
        steps: &[Step],
        mut scope: Scope,
        share: Share<'_>,
    ) -> Result<Done, Failure> {
        let mut all = Done::default();
        for step in steps {
            let Done { value, added, answer } = self.step(step, scope.clone(), share).await?;
            scope = scope.with_all(&added);
            all.added.extend(added);
            (all.value, all.answer) = (value, answer);
        }
        Ok(all)
    }

    /// One step, unless it is to be skipped.
    fn step<'s>(&'s self, step: &'s Step, scope: Scope, share: Share<'s>) -> Doing<'s> {
        Box::pin(async move {
            let name = step.name.as_ref().map(|name| Arc::from(name.value.as_str()));
            if let Some(when) = &step.when {
                let holds = self.value(when, &scope.context());
                let holds =
                    holds.map_err(|why| Failure::new(step.noun(), format!("`when`: {why}")));
                if !holds?.is_true() {
                    self.advance(share, None);
                    self.pause().await;
                    let added = name.map(Added::Skipped).into_iter().collect();
                    return Ok(Done { value: Value::from(()), added, answer: None });
                }
            }
            let mut done = match (&step.each, step.on_error) {
                (Some(each), _) => self.each(step, each, scope, share).await?,
                (None, OnError::Stop) => self.once(step, scope, share).await?,
                (None, OnError::Continue) => {
                    let attempt = share.attempt();
                    match self.once(step, scope, attempt.share()).await {
                        Ok(done) => done,
                        Err(failure) => {
                            self.advance(attempt.rest(), None);
                            forgive(step, failure, name.clone())
                        }
                    }
                }
            };
            // The names that it gave to steps within it are known to them alone.
            if step.each.is_some() || step.when.is_some() || step.on_error == OnError::Continue {
                done.added.retain(|added| matches!(added, Added::Error(..)));
            }
            done.added.extend(name.map(|name| Added::Value(name, done.value.clone())));
            Ok(done)
        })
    }

    /// A step for each item of a list.
    async fn each(
        &self,
        step: &Step,
        each: &Each,
        scope: Scope,
        share: Share<'_>,
    ) -> Result<Done, Failure> {
        let failed = |reason: String| Failure::new(step.noun(), reason);
        let list = self.value(&each.list, &scope.context()).map_err(failed)?;
        let items = items(&list, each.max).map_err(failed)?;
        let (count, item) = (items.len(), Arc::from(each.item.value.as_str()));
        let part = share.of(count);
        if count == 0 {
            self.advance(share, None);
        }
        let works = items.into_iter().enumerate().map(|(index, value)| {
            self.item(step, index, scope.with(Arc::clone(&item), value), part)
        });
        let made: Vec<(Value, Option<Why>)> =
            stream::iter(works).buffered(each.concurrency).try_collect().await?;
        let failures = made.iter().filter_map(|(_, failure)| failure.as_ref());
        let error = summary(failures, count);
        let name = step.name.as_ref().map(|name| Arc::from(name.value.as_str()));
        let added = name.zip(error).map(|(name, error)| Added::Error(name, error));
        let value = match step.is_wanted {
            true => made.into_iter().map(|(value, _)| value).collect(),
            false => Value::UNDEFINED,
        };
        Ok(Done { value, added: added.into_iter().collect(), answer: None })
    }

    /// A step for one item: what it makes, or why it failed where that is no end.
    fn item<'s>(
        &'s self,
        step: &'s Step,
        index: usize,
        scope: Scope,
        share: Share<'s>,
    ) -> Doing<'s, (Value, Option<Why>)> {
        Box::pin(async move {
            let item = Item { index, around: share.item };
            let attempt = Share { item: Some(&item), ..share }.attempt();
            match self.once(step, scope, attempt.share()).await {
                Ok(done) => Ok((done.value, None)),
                Err(Failure { at, reason }) => {
                    let at = format!("{at}, item {}", index + 1);
                    if step.on_error == OnError::Stop {
                        return Err(Failure { at, reason });
                    }
                    self.advance(attempt.rest(), None);
                    Ok((Value::from(()), Some((at, reason))))
                }
            }
        })
    }

    /// What a step does, once, in the time that it has.
    async fn once(&self, step: &Step, scope: Scope, share: Share<'_>) -> Result<Done, Failure> {
        let work = self.act(step, scope, share);
        let Some(limit) = step.timeout else { return work.await };
        let late = || Failure::new(step.noun(), format!("it took longer than {limit:?}"));
        self.context.in_time(limit, work).await.unwrap_or_else(|| Err(late()))
    }

    /// What a step does, however long it takes.
    async fn act(&self, step: &Step, scope: Scope, share: Share<'_>) -> Result<Done, Failure> {
        match &step.action {
            Action::Call { tool, with } => {
                let called = self.call(step, tool, with, &scope, share).await;
                called.map_err(|reason| Failure::new(step.noun(), reason))
            }
            Action::Do(steps) => {
                let done = self.row(steps, scope, share.of(steps.len())).await?;
                Ok(Done { answer: None, ..done })
            }
            Action::Parallel(steps) => {
                let part = share.of(steps.len());
                let branches = steps.iter().map(|step| self.step(step, scope.clone(), part));
                let (mut values, mut added) = (Vec::new(), Vec::new());
                for done in try_join_all(branches).await? {
                    values.push(done.value);
                    added.extend(done.added);
                }
                Ok(Done { value: values.into(), added, answer: None })
            }
        }
    }

    async fn call(
        &self,
        step: &Step,
        tool: &Placed<String>,
        with: &[(Placed<String>, Form)],
        scope: &Scope,
        share: Share<'_>,
    ) -> Result<Done, String> {
        let context = scope.context();
        let mut arguments = Vec::with_capacity(with.len());
        for (name, form) in with {
            let value = self.value(form, &context)?;
            if !value.is_undefined() && !value.is_none() {
                arguments.push((name.value.as_str(), value));
            }
        }
        let arguments = json(&Members(&arguments), PASSED_BYTES_MAX)?;
        let arguments = RawValue::from_string(arguments).map_err(|error| error.to_string())?;
        let done = self.done.load(Ordering::Relaxed);
        let part = self.context.part(steps(done)..steps(done + share.parts), self.total as f64);
        // Steps run in any order, with what others made: their calls are told by where they stand.
        let part = part.named((&step.label, share.item));
        let result = part.call_raw(&tool.value, arguments).await;
        let result = result.map_err(|refusal| refusal.message.into_owned())?;
        if result.is_error && !(step.is_outcome_read && report::tells_outcome(&result)) {
            return Err(cut(text(&result)));
        }
        let value = if step.is_wanted { self.keep(&result)? } else { Value::UNDEFINED };
        self.advance(share, Some(step));
        Ok(Done { value, added: Vec::new(), answer: Some(result) })
    }

    /// What a result is for later steps, counted.
    fn keep(&self, result: &ToolResult) -> Result<Value, String> {
        let (value, length) = match &result.structured {
            Some(json) => {
                let value = serde_json::from_str::<Value>(json.get());
                let value = value.map_err(|error| format!("its result cannot be used: {error}"))?;
                (value, json.get().len())
            }
            None => {
                let text = text(result);
                let length = text.len();
                (Value::from(text), length)
            }
        };
        let kept = self.kept.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        if kept > KEPT_BYTES_MAX {
            return Err(format!(
                "the results of its steps are more than {KEPT_BYTES_MAX} bytes together"
            ));
        }
        Ok(value)
    }

    /// Steps that never wait must not keep a thread from others, nor from the time; calls see to
    /// that themselves.
    async fn pause(&self) {
        let before = self.skipped.fetch_add(1, Ordering::Relaxed);
        if before % STEPS_AT_ONCE == STEPS_AT_ONCE - 1 {
            yield_now().await;
        }
    }

    /// More of the whole is done; a client that wants to know is told which step.
    fn advance(&self, share: Share<'_>, step: Option<&Step>) {
        let mut around = share.within;
        while let Some(attempt) = around {
            attempt.done.fetch_add(share.parts, Ordering::Relaxed);
            around = attempt.share.within;
        }
        let done = self.done.fetch_add(share.parts, Ordering::Relaxed) + share.parts;
        let message = step.map(|step| format!("{} is done", step.noun()));
        self.context.progress(steps(done), Some(self.total as f64), message.as_deref());
    }
}

/// A failure that the pipeline goes on after.
fn forgive(step: &Step, Failure { at, reason }: Failure, name: Option<Arc<str>>) -> Done {
    let reason = if at == step.noun() { reason } else { format!("{at}: {reason}") };
    let added = name.map(|name| Added::Error(name, reason)).into_iter().collect();
    Done { value: Value::from(()), added, answer: None }
}

impl Step {
    /// What it is called where it failed.
    pub(crate) fn noun(&self) -> String {
        match &self.action {
            Action::Call { tool, .. } => format!("step {} (`{}`)", self.label, tool.value),
            Action::Do(_) | Action::Parallel(_) => format!("step {}", self.label),
        }
    }
}

/// How many steps that is, to a millionth: thirds do not add up to one.
fn steps(parts: u64) -> f64 {
    (parts as f64 / WHOLE as f64 * 1e6).round() / 1e6
}

/// The items of what must be a list, and not too long a one.
fn items(list: &Value, max: usize) -> Result<Vec<Value>, String> {
    use minijinja::value::ValueKind::{Iterable, Seq};
    if !matches!(list.kind(), Iterable | Seq) {
        let found = match list.is_undefined() || list.is_none() {
            true => "there is nothing".to_owned(),
            false => format!("this is a {}", list.kind()),
        };
        return Err(format!("`each` needs a list, and {found}."));
    }
    let mut items = list.try_iter().map_err(|error| error.to_string())?;
    let taken: Vec<_> = items.by_ref().take(max).collect();
    match items.next() {
        None => Ok(taken),
        Some(_) => Err(format!("The list has more than {max} items, the `max` of this step.")),
    }
}

/// How many items failed, and why the first one did.
fn summary<'f>(failures: impl Iterator<Item = &'f Why>, count: usize) -> Option<String> {
    let mut failures = failures.peekable();
    let (at, reason) = failures.peek()?;
    let first = format!("{at}: {reason}");
    Some(format!("{} of {count} items failed; the first at {first}", failures.count()))
}

/// The texts of a result.
fn text(result: &ToolResult) -> String {
    let mut texts = result.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        Content::Annotated(annotated) => match &annotated.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        },
        _ => None,
    });
    let first = texts.next().unwrap_or_default().to_owned();
    texts.fold(first, |all, text| all + "\n" + text)
}

fn cut(mut text: String) -> String {
    if text.len() > REASON_BYTES {
        let end = (0..=REASON_BYTES).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

/// Names and values as a mapping.
struct Members<'v>(&'v [(&'v str, Value)]);

impl Serialize for Members<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A value as JSON text of so many bytes at most.
pub(crate) fn json(value: &impl Serialize, bytes_max: usize) -> Result<String, String> {
    let mut out = Bounded { bytes: Vec::new(), bytes_max };
    serde_json::to_writer(&mut out, value).map_err(|error| match error.is_io() {
        true => format!("it makes more than {bytes_max} bytes"),
        false => error.to_string(),
    })?;
    String::from_utf8(out.bytes).map_err(|error| error.to_string())
}

/// A buffer that takes so much and no more.
struct Bounded {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
