//! A link where no datagrams pass: the same streams, one beside the other over TLS and TCP. What
//! is lost on the way holds all of them up, so it is the second choice.

use crate::ending::Ending;
use crate::limits::{AGENT_STREAMS_MAX, LAST_WORD_TIME_MAX, LINK_STREAMS_MAX, SILENCE_MAX};
use crate::link::{Receiving, Sending, Streams};
use crate::wire::{Incoming, Outgoing};
use haft_link::limits::CONTROL_FRAME_MAX;
use haft_link::{Close, Frame};
use rustls::pki_types::CertificateDer;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, Mode, Stream};

/// A link over one connection of TCP.
#[derive(Clone)]
pub(crate) struct Mux(Arc<Shared>);

struct Shared {
    /// Who wants a stream.
    orders: mpsc::Sender<oneshot::Sender<Stream>>,
    came: Mutex<mpsc::Receiver<Came>>,
    /// Why this end ends it.
    ending: watch::Sender<Option<Ending>>,
    ended: watch::Sender<Option<String>>,
    certificates: Option<Vec<CertificateDer<'static>>>,
}

/// What comes on a stream, and what goes.
pub(crate) type Reading = ReadHalf<Compat<Stream>>;
pub(crate) type Writing = WriteHalf<Compat<Stream>>;

/// A stream that the other end has opened.
type Came = (Incoming<Reading>, Writing);

/// Which end of the connection of TCP this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It dialled.
    Agent,
    /// It was dialled.
    Gateway,
}

impl Mux {
    /// A link over a connection that TLS has found to be good: `certificates` are the other end's.
    /// In a runtime.
    pub(crate) fn new(
        socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        side: Side,
        certificates: Option<Vec<CertificateDer<'static>>>,
    ) -> Self {
        let mut config = Config::default();
        config.set_max_connection_receive_window(Some(
            LINK_STREAMS_MAX * yamux::DEFAULT_CREDIT as usize,
        ));
        config.set_max_num_streams(LINK_STREAMS_MAX);
        let mode = if side == Side::Agent { Mode::Client } else { Mode::Server };
        let connection = Connection::new(socket.compat(), config, mode);
        let (orders, ordered) = mpsc::channel(1);
        let (coming, came) = mpsc::channel(LINK_STREAMS_MAX);
        let shared = Arc::new(Shared {
            orders,
            came: Mutex::new(came),
            ending: watch::Sender::default(),
            ended: watch::Sender::default(),
            certificates,
        });
        tokio::spawn({
            let (ending, ended) = (shared.ending.subscribe(), shared.ended.clone());
            async move {
                let why = drive((connection, side), ordered, (coming, &ended), ending).await;
                // What the other end said is first.
                ended.send_if_modified(|said| {
                    let is_first = said.is_none();
                    said.get_or_insert(why);
                    is_first
                });
            }
        });
        Self(shared)
    }

    pub(crate) async fn open(&self, most: usize) -> io::Result<Streams> {
        let (order, stream) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.orders.send(order).await.map_err(|_| gone())?;
        let (receive, send) = split(stream.await.map_err(|_| gone())?.compat());
        let incoming = Incoming::new(Receiving::Tcp(receive), most);
        Ok((incoming, Outgoing::new(Sending::Tcp(send))))
    }

    pub(crate) async fn accept(&self, most: usize) -> io::Result<Streams> {
        let came = self.0.came.lock().await.recv().await;
        let (incoming, send) = came.ok_or(io::ErrorKind::BrokenPipe)?;
        let incoming = incoming.over(Receiving::Tcp, most);
        Ok((incoming, Outgoing::new(Sending::Tcp(send))))
    }

    pub(crate) fn end(&self, ending: Ending) {
        self.0.ending.send_replace(Some(ending));
    }

    pub(crate) async fn ended(&self) -> String {
        let mut ended = self.0.ended.subscribe();
        let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_else(|| "it ended".to_owned())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.borrow().is_some() || self.0.ending.borrow().is_some()
    }

    pub(crate) fn certificates(&self) -> Option<Vec<CertificateDer<'static>>> {
        self.0.certificates.clone()
    }
}

/// Moves what goes over the connection, until it ends; why it did.
async fn drive<T>(
    (mut connection, side): (Connection<T>, Side),
    mut ordered: mpsc::Receiver<oneshot::Sender<Stream>>,
    (coming, ended): (mpsc::Sender<Came>, &watch::Sender<Option<String>>),
    mut ending: watch::Receiver<Option<Ending>>,
) -> String
where
    T: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin,
{
    let (mut order, mut opened_there) = (None, 0);
    let (mut told, mut sorting) = (ended.subscribe(), JoinSet::new());
    let why = {
        let moved = poll_fn(|cx| {
            loop {
                if order.is_none() {
                    order = match ordered.poll_recv(cx) {
                        Poll::Ready(order) => order,
                        Poll::Pending => None,
                    };
                }
                if order.is_some()
                    && let Poll::Ready(opened) = connection.poll_new_outbound(cx)
                {
                    let Ok(stream) = opened else { return Poll::Ready(Why::Broken) };
                    // Whoever wanted it may have gone.
                    _ = order.take().expect("it is there").send(stream);
                    continue;
                }
                match connection.poll_next_inbound(cx) {
                    Poll::Ready(Some(Ok(stream))) => {
                        // Each may hold as much as it likes before anybody knows who it is.
                        opened_there += 1;
                        if side == Side::Gateway && opened_there > AGENT_STREAMS_MAX {
                            return Poll::Ready(Why::Broken);
                        }
                        while sorting.try_join_next().is_some() {}
                        sorting.spawn(sort(stream, coming.clone(), ended.clone()));
                    }
                    Poll::Ready(_) => return Poll::Ready(Why::Broken),
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
        tokio::select! {
            why = moved => why,
            ordered = ending.wait_for(Option::is_some) => match ordered.ok().and_then(|it| *it) {
                Some(ending) => Why::Ours(ending),
                None => Why::Forgotten,
            },
            _ = told.wait_for(Option::is_some) => Why::Told,
        }
    };
    if let Why::Ours(ending) = why {
        _ = timeout(SILENCE_MAX, say(&mut connection, ending)).await;
    }
    _ = timeout(SILENCE_MAX, poll_fn(|cx| connection.poll_close(cx))).await;
    drop((connection, coming));
    // What came last may be the other end's last word.
    _ = timeout(LAST_WORD_TIME_MAX, async { while sorting.join_next().await.is_some() {} }).await;
    match why {
        Why::Ours(ending) => ending.to_string(),
        Why::Broken | Why::Forgotten | Why::Told => "the connection broke".to_owned(),
    }
}

/// Why a connection is moved no more.
enum Why {
    Broken,
    Forgotten,
    Ours(Ending),
    Told,
}

/// Says why it ends, as the last word.
async fn say<T>(connection: &mut Connection<T>, ending: Ending)
where
    T: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin,
{
    let Ok(stream) = poll_fn(|cx| connection.poll_new_outbound(cx)).await else { return };
    let reason = ending.to_string();
    let mut said = pin!(async move {
        let (_receive, send) = split(stream.compat());
        let mut out = Outgoing::new(Sending::Tcp(send));
        _ = out.send(Close { code: ending.code(), reason: &reason }).await;
        _ = out.stream().shutdown().await;
    });
    poll_fn(|cx| {
        if said.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match connection.poll_next_inbound(cx) {
            Poll::Ready(Some(Ok(_))) => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => said.as_mut().poll(cx),
        }
    })
    .await;
}

/// Tells the other end's last word from streams of calls, by how it begins.
async fn sort(stream: Stream, coming: mpsc::Sender<Came>, ended: watch::Sender<Option<String>>) {
    let (receive, send) = split(stream.compat());
    let mut incoming = Incoming::new(receive, CONTROL_FRAME_MAX);
    let Ok(is_close) = incoming.begins_with(13).await else { return };
    if !is_close {
        // If there is no room, nobody takes streams any more.
        _ = coming.send((incoming, send)).await;
        return;
    }
    if let Ok(Some(came)) = incoming.next().await
        && let Frame::Close(close) = came.frame()
    {
        ended.send_replace(Some(Ending::of(close.code).to_string()));
    }
}
