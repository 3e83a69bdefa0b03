//! Calls that are worked on by one thread, sent by others, and taken up again while they are.

use super::calls::{Attached, Call, Calls, Taken};
use crate::credit::{Allowance, Share, Sums};
use crate::orders::{block_on, poll_once, spawn};
use bytes::Bytes;
use haft_link::Kind;
use std::sync::Arc;

/// Of a link over which much may be under way.
fn wide() -> Arc<Allowance> {
    Allowance::new(sums(100))
}

/// So many messages, of any length.
fn sums(messages: u64) -> Sums {
    Sums { messages, bytes: 1000 }
}

fn begun(calls: &Calls, window: u64, over: &Arc<Allowance>) -> (Arc<Call>, Attached) {
    match calls.begin(1, sums(window), Share::of(over), true) {
        Taken::Yes(call, at) => (call, at),
        _ => panic!("nobody has begun it"),
    }
}

/// Makes a result of so many responses, each when there is room for it.
async fn make(call: &Call, count: u64) {
    for number in 1..=count {
        call.room().await;
        let kind = if number == count { Kind::End } else { Kind::Part };
        call.push(kind, "", Bytes::from_static(b"x"));
    }
}

/// Takes what is sent over one stream behind what came before, granting one more for each; until it
/// ends, or so many have come.
async fn read(
    call: &Call,
    (at, over): (Attached, &Allowance),
    (mut received, most): (u64, u64),
    window: u64,
) -> u64 {
    while received < most {
        let Some(response) = call.next(at, over).await else { break };
        assert_eq!(response.sequence, received + 1, "in order, and none twice");
        received = response.sequence;
        let granted = Sums { messages: received + window, bytes: received + 1000 };
        assert_eq!(call.grant(granted), Ok(()));
    }
    received
}

/// A link is lost after the first response, and the next goes on while the first may still send.
pub fn resumed() {
    let calls = Arc::new(Calls::new(4, false));
    let (first, second) = (wide(), wide());
    let (call, at) = begun(&calls, 1, &first);
    let making = {
        let call = Arc::clone(&call);
        spawn(async move { make(&call, 2).await })
    };
    // That more may be sent does not arrive any more.
    let received = block_on(call.next(at, &first)).map_or(0, |response| response.sequence);
    assert_eq!(received, 1);
    let sending = {
        let call = Arc::clone(&call);
        spawn(async move { call.next(at, &first).await.is_none() })
    };
    let granted = Sums { messages: received + 1, bytes: received + 1000 };
    let Taken::Yes(call, at) = calls.resume(1, received, granted, Share::of(&second)) else {
        panic!("it is known")
    };
    assert_eq!(block_on(read(&call, (at, &second), (received, 9), 1)), 2);
    making.join().expect("it ends");
    assert!(sending.join().expect("it ends"), "the first link is not used any more");
}

/// The gateway grants one response after the other.
pub fn read_slowly() {
    let calls = Calls::new(4, false);
    let over = wide();
    let (call, at) = begun(&calls, 1, &over);
    let making = {
        let call = Arc::clone(&call);
        spawn(async move { make(&call, 3).await })
    };
    assert_eq!(block_on(read(&call, (at, &over), (0, 9), 1)), 3);
    making.join().expect("it ends");
}

/// The gateway takes a call back while it is made and sent.
pub fn forgotten() {
    let calls = Arc::new(Calls::new(4, false));
    let over = Allowance::new(sums(2));
    let (call, at) = begun(&calls, 9, &over);
    let making = {
        let call = Arc::clone(&call);
        spawn(async move { make(&call, 1).await })
    };
    let forgetting = {
        let calls = Arc::clone(&calls);
        spawn(async move { calls.forget(1) })
    };
    // It may be sent before, or never.
    _ = poll_once(call.next(at, &over));
    making.join().expect("it ends");
    forgetting.join().expect("it ends");
    _ = poll_once(call.next(at, &over));
    let (mut one, mut other) = (Share::of(&over), Share::of(&over));
    assert!(one.take(1) && other.take(1), "all of it is free again");
    assert!(matches!(calls.resume(1, 0, sums(1), Share::of(&over)), Taken::Lost(_)));
}

/// A request is on its way while the gateway asks what became of it.
pub fn begun_once() {
    let calls = Arc::new(Calls::new(4, false));
    let ask = |calls: Arc<Calls>, is_request: bool| async move {
        let share = Share::of(&wide());
        match is_request {
            true => calls.begin(1, sums(1), share, true),
            false => calls.resume(1, 0, sums(1), share),
        }
    };
    let request = spawn(ask(Arc::clone(&calls), true));
    let resumed = block_on(ask(Arc::clone(&calls), false));
    let request = request.join().expect("it ends");
    match (request, resumed) {
        // It is begun, and known from then on.
        (Taken::Yes(..), Taken::Yes(..)) => assert_eq!(calls.begun(), 1),
        // It was said to be unknown, so it is not begun later.
        (Taken::Lost(_), Taken::NotBegun(_)) => assert_eq!(calls.begun(), 0),
        _ => panic!("both must know the same"),
    }
}

/// A request is on its way while nobody waits for it any more.
pub fn taken_back() {
    let calls = Arc::new(Calls::new(4, false));
    let forgetting = {
        let calls = Arc::clone(&calls);
        spawn(async move { calls.forget(1) })
    };
    let taken = calls.begin(1, sums(1), Share::of(&wide()), true);
    forgetting.join().expect("it ends");
    assert!(matches!(taken, Taken::Yes(..) | Taken::Lost(_)));
    assert!(poll_once(calls.at_rest()).is_some(), "nobody works on it");
}

/// A link over which one response may be under way has two calls.
pub fn shared() {
    let calls = Calls::new(4, false);
    let over = Allowance::new(sums(1));
    let called = [1, 2].map(|id| match calls.begin(id, sums(9), Share::of(&over), true) {
        Taken::Yes(call, at) => (call, at),
        _ => panic!("nobody has begun it"),
    });
    let [one, other] = called.map(|(call, at)| {
        let over = Arc::clone(&over);
        async move {
            call.push(Kind::End, "", Bytes::from_static(b"x"));
            let received = read(&call, (at, &over), (0, 9), 9).await;
            assert_eq!(received, 1);
        }
    });
    let one = spawn(one);
    block_on(other);
    one.join().expect("it ends");
}
