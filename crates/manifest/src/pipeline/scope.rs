//! The values that a step sees in a call: the arguments, and what steps before it have made. A step
//! adds to it without changing what others see, so that branches share what they have in common.

use minijinja::Value;
use minijinja::value::{Enumerator, Object};
use std::sync::Arc;

/// The name of why steps have failed, by their names.
pub(crate) const ERRORS: &str = "errors";

/// Values by their names. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    arguments: Value,
    last: Option<Arc<Frame>>,
}

#[derive(Debug)]
struct Frame {
    name: Arc<str>,
    value: Value,
    before: Option<Arc<Self>>,
}

/// What a step adds.
#[derive(Clone, Debug)]
pub(crate) enum Added {
    /// Why it failed.
    Error(Arc<str>, String),
    /// It was skipped: nothing, unless the name has a value.
    Skipped(Arc<str>),
    /// What it made.
    Value(Arc<str>, Value),
}

impl Scope {
    pub(crate) fn new(arguments: Value) -> Self {
        let scope = Self { arguments, last: None };
        scope.with(ERRORS.into(), Value::from_pairs(std::iter::empty::<(String, Value)>()))
    }

    pub(crate) fn with(&self, name: Arc<str>, value: Value) -> Self {
        let frame = Frame { name, value, before: self.last.clone() };
        Self { arguments: self.arguments.clone(), last: Some(Arc::new(frame)) }
    }

    /// The same, and all that steps have added.
    pub(crate) fn with_all(&self, added: &[Added]) -> Self {
        added.iter().fold(self.clone(), |scope, added| match added {
            Added::Value(name, value) => scope.with(Arc::clone(name), value.clone()),
            // A caller may send an argument of that name where the schema is open.
            Added::Skipped(name) if scope.made(name).is_some() => scope,
            Added::Skipped(name) => scope.with(Arc::clone(name), Value::from(())),
            Added::Error(name, reason) => {
                let errors = scope.find(ERRORS).unwrap_or_default();
                let known = errors.try_iter().into_iter().flatten();
                let known = known.filter_map(|key| {
                    let reason = errors.get_item(&key).ok()?;
                    Some((key, reason))
                });
                let new = (Value::from(&**name), Value::from(reason.as_str()));
                let errors: Vec<_> = known.chain([new]).collect();
                scope.with(ERRORS.into(), Value::from_pairs(errors))
            }
        })
    }

    /// For templates.
    pub(crate) fn context(&self) -> Value {
        Value::from_object(self.clone())
    }

    fn find(&self, name: &str) -> Option<Value> {
        let argument = || self.arguments.get_attr(name).ok().filter(|value| !value.is_undefined());
        self.made(name).or_else(argument)
    }

    /// What a step has made.
    fn made(&self, name: &str) -> Option<Value> {
        let mut next = self.last.as_ref();
        while let Some(frame) = next {
            if *frame.name == *name {
                return Some(frame.value.clone());
            }
            next = frame.before.as_ref();
        }
        None
    }
}

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.find(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.find(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

/// Frames are let go one by one: there may be more than a stack has room for.
impl Drop for Frame {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut frame) = next.and_then(Arc::into_inner) {
            next = frame.before.take();
        }
    }
}
