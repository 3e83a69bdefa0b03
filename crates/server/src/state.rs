//! Values that all handlers of a server share: a pool of connections, a client, settings. Found by
//! their type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// A shared value, as a handler gets it.
#[derive(Debug)]
pub struct State<T>(pub(crate) Arc<T>);

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// All shared values, one of each type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub(crate) fn find<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        let found = self.0.get(&TypeId::of::<T>())?;
        Arc::clone(found).downcast().ok().map(State)
    }

    pub(crate) fn has(&self, needed: Needed) -> bool {
        self.0.contains_key(&needed.id)
    }
}

/// A type of which a handler needs a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    id: TypeId,
    pub(crate) name: &'static str,
}

impl Needed {
    pub(crate) fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }
}
