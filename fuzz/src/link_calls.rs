//! Whatever a gateway says of its calls, in any order, over any number of links. The files are
//! those of `haft-agent`, which shows them to nobody else.

#![expect(dead_code, reason = "not all of it is fuzzed")]

#[path = "../../crates/agent/src/agent/calls.rs"]
mod calls;
#[path = "../../crates/agent/src/agent/delivery.rs"]
mod delivery;
#[path = "../../crates/agent/src/agent/seen.rs"]
mod seen;

use crate::credit::{Allowance, Share, Sums};
use bytes::Bytes;
use calls::{Attached, Call, Calls, Taken};
use haft_link::Kind;
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How many calls there are at most: few, so that they meet.
const IDS: u8 = 6;
/// What may be under way over each link.
const WINDOW: Sums = Sums { messages: 6, bytes: 600 };

/// A call as the gateway reads it over the stream that it asked for last.
struct Reader {
    call: Arc<Call>,
    at: Attached,
    received: u64,
    bytes: u64,
    window: Sums,
    granted: Sums,
}

/// Each call is begun once at most, comes in order without a gap over each stream, and no more of
/// it is sent than was granted.
pub fn calls_keep_their_word(bytes: &[u8]) {
    let mut script = bytes.iter().copied();
    let calls = Calls::new(4, script.next().is_some_and(|byte| byte & 1 == 1));
    let mut link = Allowance::new(WINDOW);
    let (mut begun, mut readers) = (HashSet::new(), HashMap::<u64, Reader>::new());
    while let (Some(what), Some(more)) = (script.next(), script.next()) {
        let id = u64::from(what >> 4) % u64::from(IDS);
        let amount = u64::from(more);
        match what & 7 {
            0 => {
                let window = Sums { messages: amount % 5, bytes: amount };
                let least = Sums { messages: 1, bytes: 1 };
                let granted = window.largest(least);
                let taken = calls.begin(id, window, Share::of(&link), amount & 1 == 0);
                if let Taken::Yes(call, at) = taken {
                    assert!(begun.insert(id), "{id} is begun twice");
                    let (window, received, bytes) = (granted, 0, 0);
                    readers.insert(id, Reader { call, at, received, bytes, window, granted });
                }
            }
            1 => resumes(&calls, (id, amount), &link, &mut readers, &begun),
            2 => {
                calls.forget(id);
                readers.remove(&id);
                // It cannot be begun any more.
                begun.insert(id);
            }
            3 => link = Allowance::new(WINDOW),
            4 => {
                let Some(reader) = readers.get_mut(&id) else { continue };
                let plus = Sums { messages: amount % 7, bytes: amount };
                let granted = Sums { messages: reader.received, bytes: reader.bytes }.plus(plus);
                if reader.call.grant(granted).is_ok() {
                    reader.granted = reader.granted.largest(granted);
                }
            }
            5 => {
                let Some(reader) = readers.get_mut(&id) else { continue };
                reads(reader, &link);
            }
            _ => {
                let Some(reader) = readers.get_mut(&id) else { continue };
                if now(reader.call.room()).is_some() {
                    let kind = if what & 7 == 6 { Kind::Part } else { Kind::End };
                    reader.call.push(kind, "", Bytes::from(vec![0; more.into()]));
                }
            }
        }
    }
}

/// The gateway takes up a call behind what it has, or what it says that it has.
fn resumes(
    calls: &Calls,
    (id, amount): (u64, u64),
    link: &Arc<Allowance>,
    readers: &mut HashMap<u64, Reader>,
    begun: &HashSet<u64>,
) {
    let before = readers.get(&id);
    let (received, bytes) = match (amount & 3, before) {
        (0, _) => (amount >> 2, amount),
        (_, Some(reader)) => (reader.received, reader.bytes),
        (_, None) => (0, 0),
    };
    let granted = Sums { messages: received, bytes }.plus(Sums { messages: 1, bytes: amount });
    match calls.resume(id, received, granted, Share::of(link)) {
        Taken::Yes(call, at) => {
            assert!(begun.contains(&id), "{id} was never begun");
            match readers.get_mut(&id).filter(|reader| reader.received == received) {
                Some(reader) => {
                    (reader.call, reader.at) = (call, at);
                    reader.granted = reader.granted.largest(granted);
                }
                // Who claims to have what was never sent has lost count by itself.
                None => {
                    calls.forget(id);
                    readers.remove(&id);
                }
            }
        }
        Taken::NotBegun(_) => assert!(!begun.contains(&id), "{id} was begun"),
        Taken::Lost(_) => {}
    }
}

/// Reads what is sent now.
fn reads(reader: &mut Reader, link: &Allowance) {
    while let Some(Some(response)) = now(reader.call.next(reader.at, link)) {
        assert_eq!(response.sequence, reader.received + 1);
        let before = Sums { messages: reader.received, bytes: reader.bytes };
        reader.received = response.sequence;
        reader.bytes += response.payload.len() as u64;
        let after = Sums { messages: reader.received, bytes: reader.bytes };
        // One that is longer than the window goes alone.
        let is_alone = before.is_within(reader.granted.minus(reader.window));
        assert!(after.is_within(reader.granted) || is_alone, "{after:?} of {:?}", reader.granted);
    }
}

/// What a future has already.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
