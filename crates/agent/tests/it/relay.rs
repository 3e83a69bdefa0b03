//! What is between an agent and its gateway: it passes datagrams on, late if it shall, changes the
//! agent's address, loses what goes one way or both, and remembers what the agent sent.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// How it treats datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Where it leads.
    pub(crate) gateway: SocketAddr,
    /// What the gateway sends is lost.
    pub(crate) is_cut: bool,
    /// Of what the agent sends so many pass; the rest is lost.
    pub(crate) passes: Option<usize>,
    /// Changes whenever the agent gets another address.
    address: u32,
    /// How long each is on its way.
    pub(crate) delay: Duration,
}

/// What the agent sent, and when.
type Sent = Vec<(Instant, Vec<u8>)>;

/// See above: an agent dials it instead of its gateway.
pub(crate) struct Relay {
    pub(crate) at: SocketAddr,
    way: watch::Sender<Way>,
    sent: Arc<Mutex<Sent>>,
    task: JoinHandle<io::Result<()>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    pub(crate) async fn to(gateway: SocketAddr) -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into(), gateway).await.expect("a port")
    }

    pub(crate) async fn at(at: SocketAddr, gateway: SocketAddr) -> io::Result<Self> {
        let inside = UdpSocket::bind(at).await?;
        let at = inside.local_addr()?;
        let way = Way { gateway, is_cut: false, passes: None, address: 0, delay: Duration::ZERO };
        let (way, sent) = (watch::Sender::new(way), Arc::default());
        let relaying = relay(inside, way.subscribe(), Arc::clone(&sent));
        Ok(Self { at, way, sent, task: tokio::spawn(relaying) })
    }

    pub(crate) fn change_address(&self) {
        self.way.send_modify(|way| way.address += 1);
    }

    pub(crate) fn cut(&self, is_cut: bool) {
        let passes = is_cut.then_some(0);
        self.way.send_modify(|way| *way = Way { is_cut, passes, ..*way });
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Way)) {
        self.way.send_modify(change);
    }

    /// What the agent has sent since this was asked the last time, and when.
    pub(crate) fn sent(&self) -> Sent {
        std::mem::take(&mut *self.sent.lock().expect("no panics"))
    }
}

async fn relay(
    inside: UdpSocket,
    mut way: watch::Receiver<Way>,
    sent: Arc<Mutex<Sent>>,
) -> io::Result<()> {
    let (mut agent, mut from_agent, mut from_gateway) = (None, vec![0; 65536], vec![0; 65536]);
    let mut passed = 0;
    loop {
        let now = *way.borrow_and_update();
        let outside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        outside.connect(now.gateway).await?;
        let (mut out, mut back) = (Late::default(), Late::default());
        while (way.borrow().address, way.borrow().gateway) == (now.address, now.gateway) {
            tokio::select! {
                came = inside.recv_from(&mut from_agent) => {
                    let (length, from) = came?;
                    agent = Some(from);
                    let (now, datagram) = (Instant::now(), from_agent[..length].to_vec());
                    sent.lock().expect("no panics").push((now, datagram.clone()));
                    let Way { passes, delay, .. } = *way.borrow();
                    match passes {
                        Some(passes) if passed >= passes => {}
                        Some(_) => {
                            passed += 1;
                            out.push(now + delay, datagram);
                        }
                        None => {
                            passed = 0;
                            out.push(now + delay, datagram);
                        }
                    }
                }
                came = outside.recv(&mut from_gateway) => {
                    let Way { is_cut, delay, .. } = *way.borrow();
                    if let (Ok(length), false) = (came, is_cut) {
                        back.push(Instant::now() + delay, from_gateway[..length].to_vec());
                    }
                }
                // Nobody may be there.
                datagram = out.next() => {
                    _ = outside.send(&datagram).await;
                }
                datagram = back.next() => {
                    if let Some(agent) = agent {
                        _ = inside.send_to(&datagram, agent).await;
                    }
                }
                _ = way.changed() => {}
            }
        }
    }
}

/// Datagrams that are on their way, and when they arrive.
#[derive(Default)]
struct Late(VecDeque<(Instant, Vec<u8>)>);

impl Late {
    fn push(&mut self, due: Instant, datagram: Vec<u8>) {
        self.0.push_back((due, datagram));
    }

    /// The next, when it is due. May be dropped before.
    async fn next(&mut self) -> Vec<u8> {
        if let Some((due, _)) = self.0.front() {
            _ = timeout_at(*due, std::future::pending::<()>()).await;
        } else {
            std::future::pending::<()>().await;
        }
        self.0.pop_front().expect("there is one").1
    }
}
