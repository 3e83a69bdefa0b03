//! Six ways to read a JSON-RPC message: ours, and five of others. Each finds the same facts, in the
//! form that is cheapest for it. Called by `codec` and `readings`; it measures nothing.

use haft_benchmarks::{ERROR, LEGACY_CALL, MODERN_CALL, NOTIFICATION, RESPONSE};
use haft_proto::envelope::{self, Incoming};
use haft_proto::limits::Limits;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use simd_json::prelude::{ValueAsScalar, ValueObjectAccess};

pub(crate) use haft_proto::envelope::Kind;

/// What is read.
pub(crate) const MESSAGES: [(&str, &str); 5] = [
    ("legacy_request", LEGACY_CALL),
    ("modern_request", MODERN_CALL),
    ("notification", NOTIFICATION),
    ("response", RESPONSE),
    ("error", ERROR),
];

/// Makes sure that all read the same out of each message.
pub(crate) fn agree() {
    let (limits, mut simd) = (Limits::default(), Simd::new());
    for (name, message) in MESSAGES {
        let bytes = message.as_bytes();
        let theirs = dom_twice(bytes).expect("it is a message").facts();
        let ours = ours(bytes, &limits).expect("it is a message");
        let others: [(&str, Facts); 5] = [
            ("dom_once", dom_once(bytes).expect("it is a message").facts()),
            ("serde_once", serde_once(bytes).expect("it is a message").facts()),
            ("sonic", sonic(bytes).expect("it is a message").facts()),
            ("simd", simd.read(bytes).expect("it is a message").facts()),
            ("ours", facts_of_ours(&ours)),
        ];
        for (reader, facts) in others {
            assert_eq!(facts, theirs, "{reader} of {name}");
        }
    }
}

/// What a reading is asked for. An answer's result or error is `said`, the parameters of the others
/// too.
#[derive(Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) id: Option<Value>,
    pub(crate) method: Option<String>,
    pub(crate) said: Option<Value>,
}

fn kind(has_method: bool, has_id: bool, has_result: bool, has_error: bool) -> Option<Kind> {
    match (has_method, has_id, has_result, has_error) {
        (true, true, false, false) => Some(Kind::Request),
        (true, false, false, false) => Some(Kind::Notification),
        (false, true, true, false) => Some(Kind::Response),
        (false, _, false, true) => Some(Kind::Error),
        _ => None,
    }
}

/// A message that was taken out of a DOM.
pub(crate) struct Dom {
    kind: Kind,
    id: Option<Value>,
    method: Option<String>,
    said: Option<Value>,
}

/// A DOM to see what the message is, and a second one to take it apart.
pub(crate) fn dom_twice(bytes: &[u8]) -> Option<Dom> {
    let kind = kind_of_dom(&serde_json::from_slice(bytes).ok()?)?;
    taken_apart(serde_json::from_slice(bytes).ok()?, kind)
}

/// One DOM for both.
pub(crate) fn dom_once(bytes: &[u8]) -> Option<Dom> {
    let tree: Value = serde_json::from_slice(bytes).ok()?;
    let kind = kind_of_dom(&tree)?;
    taken_apart(tree, kind)
}

fn kind_of_dom(tree: &Value) -> Option<Kind> {
    let has = |name| tree.get(name).is_some();
    if tree.get("jsonrpc")?.as_str()? != "2.0" {
        return None;
    }
    kind(has("method"), has("id"), has("result"), has("error"))
}

fn taken_apart(mut tree: Value, kind: Kind) -> Option<Dom> {
    let object = tree.as_object_mut()?;
    let method = match object.remove("method") {
        Some(Value::String(method)) => Some(method),
        Some(_) => return None,
        None => None,
    };
    let said = match kind {
        Kind::Request | Kind::Notification => object.remove("params"),
        Kind::Response => object.remove("result"),
        Kind::Error => object.remove("error"),
    };
    Some(Dom { kind, id: object.remove("id"), method, said })
}

impl Dom {
    pub(crate) fn facts(self) -> Facts {
        Facts { kind: self.kind, id: self.id, method: self.method, said: self.said }
    }
}

/// One pass into borrowed fields, with the raw text of what is inside.
#[derive(Deserialize)]
pub(crate) struct Frame<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Frame<'a> {
    fn kind(&self) -> Option<Kind> {
        if self.jsonrpc != "2.0" {
            return None;
        }
        let (result, error) = (self.result.is_some(), self.error.is_some());
        kind(self.method.is_some(), self.id.is_some(), result, error)
    }

    pub(crate) fn facts(&self) -> Facts {
        let value = |raw: &'a RawValue| serde_json::from_str(raw.get()).expect("it is JSON");
        Facts {
            kind: self.kind().expect("it was read"),
            id: self.id.map(value),
            method: self.method.map(str::to_owned),
            said: self.params.or(self.result).or(self.error).map(value),
        }
    }
}

pub(crate) fn serde_once(bytes: &[u8]) -> Option<Frame<'_>> {
    let frame: Frame<'_> = serde_json::from_slice(bytes).ok()?;
    frame.kind().map(|_| frame)
}

/// The same with sonic-rs, whose lazy values are text.
#[derive(Deserialize)]
pub(crate) struct LazyFrame<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<sonic_rs::LazyValue<'a>>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<sonic_rs::LazyValue<'a>>,
    #[serde(borrow)]
    result: Option<sonic_rs::LazyValue<'a>>,
    #[serde(borrow)]
    error: Option<sonic_rs::LazyValue<'a>>,
}

impl LazyFrame<'_> {
    fn kind(&self) -> Option<Kind> {
        if self.jsonrpc != "2.0" {
            return None;
        }
        let (result, error) = (self.result.is_some(), self.error.is_some());
        kind(self.method.is_some(), self.id.is_some(), result, error)
    }

    pub(crate) fn facts(&self) -> Facts {
        let value = |lazy: &sonic_rs::LazyValue<'_>| {
            serde_json::from_str(lazy.as_raw_str()).expect("it is JSON")
        };
        let said = self.params.as_ref().or(self.result.as_ref()).or(self.error.as_ref());
        Facts {
            kind: self.kind().expect("it was read"),
            id: self.id.as_ref().map(value),
            method: self.method.map(str::to_owned),
            said: said.map(value),
        }
    }
}

pub(crate) fn sonic(bytes: &[u8]) -> Option<LazyFrame<'_>> {
    let frame: LazyFrame<'_> = sonic_rs::from_slice(bytes).ok()?;
    frame.kind().map(|_| frame)
}

/// A DOM of simd-json's, which writes over the bytes that it reads: they are copied first, into the
/// same room each time, as are its own buffers.
pub(crate) struct Simd {
    copy: Vec<u8>,
    buffers: simd_json::Buffers,
}

pub(crate) struct SimdRead<'a> {
    kind: Kind,
    tree: simd_json::BorrowedValue<'a>,
}

impl Simd {
    pub(crate) fn new() -> Self {
        Self { copy: Vec::new(), buffers: simd_json::Buffers::default() }
    }

    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<SimdRead<'_>> {
        self.copy.clear();
        self.copy.extend_from_slice(bytes);
        let tree =
            simd_json::to_borrowed_value_with_buffers(&mut self.copy, &mut self.buffers).ok()?;
        let has = |name| tree.get(name).is_some();
        if tree.get("jsonrpc")?.as_str()? != "2.0" {
            return None;
        }
        let kind = kind(has("method"), has("id"), has("result"), has("error"))?;
        Some(SimdRead { kind, tree })
    }
}

impl SimdRead<'_> {
    pub(crate) fn facts(&self) -> Facts {
        let value = |name| {
            let found = self.tree.get(name)?;
            Some(serde_json::to_value(found).expect("it is JSON"))
        };
        Facts {
            kind: self.kind,
            id: value("id"),
            method: self.tree.get("method").and_then(|method| method.as_str()).map(str::to_owned),
            said: value("params").or_else(|| value("result")).or_else(|| value("error")),
        }
    }
}

pub(crate) fn ours<'a>(
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<Incoming<'a>, envelope::Rejected<'a>> {
    envelope::read(bytes, limits)
}

pub(crate) fn facts_of_ours(incoming: &Incoming<'_>) -> Facts {
    let Incoming::One(message) = incoming else { panic!("it is one message") };
    let value = |raw: &str| serde_json::from_str(raw).expect("it is JSON");
    Facts {
        kind: message.kind,
        id: message.id.map(|id| value(id.raw())),
        method: message.method.map(|method| method.decode().into_owned()),
        said: message.params.raw.or(message.result).or(message.error).map(value),
    }
}
