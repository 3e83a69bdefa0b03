//! What becomes of calls when their link is cut: each is done once, and each result comes once.

use crate::pair::{Gateway, Running, client, here, whole};
use haft_client::{ClientError, Passed};
use serde_json::json;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way over TCP that can be cut: what goes over it then is lost at both ends.
pub(crate) struct Way {
    pub(crate) at: SocketAddr,
    cuts: watch::Sender<u64>,
    passed: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Way {
    pub(crate) async fn to(gateway: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let at = listener.local_addr().expect("it has one");
        let (cuts, passed) = (watch::Sender::new(0), Arc::<AtomicU64>::default());
        let (ordered, counted) = (cuts.clone(), Arc::clone(&passed));
        let task = tokio::spawn(async move {
            while let Ok((mut inside, _)) = listener.accept().await {
                let mut cut = ordered.subscribe();
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let Ok(mut outside) = TcpStream::connect(gateway).await else { return };
                    inside.set_nodelay(true).expect("it is there");
                    outside.set_nodelay(true).expect("it is there");
                    tokio::select! {
                        _ = copy_bidirectional(&mut inside, &mut outside) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { at, cuts, passed, task }
    }

    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    fn links(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_outlives_its_link_and_is_done_once() {
    let gateway = Gateway::new().await;
    let way = Way::to(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[way.at]);
    here(&member).await;
    let client = Arc::new(client(&member).await);
    for (tool, bytes) in [("wait", 2), ("wait", 200_000), ("wait", 2_000_000)] {
        let done = agent.done();
        let call = {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let arguments = json!({"bytes": bytes}).to_string();
                client.call_tool_raw(tool, &arguments, &mut |_| {}).await
            })
        };
        agent.begun(done + 1).await;
        way.cut();
        agent.let_go();
        let passed = tokio::time::timeout(Duration::from_secs(20), call).await;
        let passed = passed.expect("in time").expect("no panic").expect("it comes");
        let read = tokio::time::timeout(Duration::from_secs(20), whole(passed)).await;
        assert_eq!(read.expect("in time").matches('~').count(), bytes);
        assert_eq!(agent.done(), done + 1);
    }
    assert!(way.links() >= 4, "{}", way.links());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_is_being_read_goes_on_over_the_next_link() {
    const BYTES: usize = 3 << 20;
    let gateway = Gateway::new().await;
    let way = Way::to(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[way.at]);
    here(&member).await;
    let client = client(&member).await;
    agent.let_go();
    let arguments = json!({"bytes": BYTES}).to_string();
    let passed = client.call_tool_raw("wait", &arguments, &mut |_| {}).await;
    let Passed::Long(mut long) = passed.expect("it comes") else { panic!("in pieces") };
    let mut all = long.begun().to_vec();
    for cut in 0_u64.. {
        let next = poll_fn(|cx| long.poll_piece(cx));
        let piece = tokio::time::timeout(Duration::from_secs(20), next).await.expect("in time");
        let Some(piece) = piece else { break };
        all.extend_from_slice(&piece.expect("it comes"));
        if cut % 20 == 0 {
            way.cut();
        }
    }
    let count = all.iter().filter(|byte| **byte == b'~').count();
    assert_eq!((count, agent.done()), (BYTES, 1));
    assert!(way.links() > 3, "{}", way.links());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_with_cuts_are_each_done_once_and_answered_once() {
    const CALLS: u64 = 4000;
    let gateway = Gateway::new().await;
    let way = Way::to(gateway.at).await;
    let member = gateway.member("plant-7");
    let agent = Running::begin(gateway.joined("plant-7").await, &[way.at]);
    here(&member).await;
    let client = Arc::new(client(&member).await);
    let mut became = Became::default();
    for batch in 0..CALLS / 8 {
        let calls = (0..8).map(|number| {
            let (client, text) = (Arc::clone(&client), format!("{batch}-{number}"));
            tokio::spawn(async move {
                let arguments = json!({"text": text}).to_string();
                let passed = client.call_tool_raw("once", &arguments, &mut |_| {}).await;
                (text, passed)
            })
        });
        let calls = calls.collect::<Vec<_>>();
        if batch % 50 == 49 {
            // Some of them have been sent, or done, or answered.
            agent.begun(batch * 8 + batch / 50 % 8).await;
            way.cut();
        }
        for call in calls {
            match call.await.expect("no panic") {
                (text, Ok(Passed::Whole(result))) => {
                    assert!(result.contains(&text), "{result}");
                    became.answered += 1;
                }
                (text, Err(ClientError::NotCarried { .. })) => {
                    assert_eq!(agent.said(&text), 0, "{text} was not begun");
                    became.not_begun += 1;
                }
                (_, Err(ClientError::LostOnTheWay { .. })) => became.lost += 1,
                (text, other) => panic!("{text}: {other:?}"),
            }
        }
    }
    println!("{became:?} of {CALLS} over {} links, {} done", way.links(), agent.done());
    assert_eq!(agent.said_twice(), Vec::<String>::new());
    assert_eq!(became.answered + became.not_begun + became.lost, CALLS);
    assert!((became.answered..=became.answered + became.lost).contains(&agent.done()));
    // A link that comes back in time loses nothing.
    assert_eq!((became.answered, way.links()), (CALLS, CALLS / 8 / 50 + 1), "{became:?}");
}

/// What became of calls, as their callers were told.
#[derive(Debug, Default)]
struct Became {
    answered: u64,
    not_begun: u64,
    lost: u64,
}
