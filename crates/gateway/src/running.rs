//! A request that an upstream was asked, from its beginning to its end: how it ended, and how long
//! it took, is kept with the upstream. Begun by `upstream`, ended by `asking`.

use crate::arriving::Arriving;
use crate::forward::Forward;
use crate::upstream::Upstream;
use haft_proto::error::Refusal;
use std::borrow::Cow;
use std::time::Instant;

/// A request that an upstream has been asked. One that is dropped before its end was cancelled.
pub(crate) struct Running<'a> {
    upstream: &'a Upstream,
    method: &'static str,
    name: &'a str,
    began: Option<Instant>,
    failure: Option<Cow<'static, str>>,
    /// Its result is on its way.
    goes_on: bool,
}

impl<'a> Running<'a> {
    /// One that has just begun, and is cancelled if nobody says otherwise.
    pub(crate) fn new(
        upstream: &'a Upstream,
        began: Option<Instant>,
        (method, name): (&'static str, &'a str),
    ) -> Self {
        let failure = Some(Cow::Borrowed("cancelled"));
        Self { upstream, method, name, began, failure, goes_on: false }
    }

    /// It is over.
    pub(crate) fn end<T>(&mut self, ended: &Result<T, Refusal>) {
        self.failure = ended.as_ref().err().map(|refusal| refusal.message.clone());
    }

    /// It is over when its long result is. `way` is that to what was asked for.
    pub(crate) fn go_on(&mut self, way: &Forward) -> Arriving {
        self.goes_on = true;
        let (way, method, began) = (way.clone(), self.method, self.began);
        Arriving { way, method, began, failure: self.failure.take() }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.goes_on {
            self.upstream.over((self.method, self.name), self.began, self.failure.as_deref());
        }
    }
}
