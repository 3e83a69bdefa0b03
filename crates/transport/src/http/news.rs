//! What a legacy client is told unasked: the one stream of a session that no request opened
//! (2025-11-25, "Listening for Messages from the Server").

use super::replay::{Kind, Place};
use super::sessions::InUse;
use super::sse::{Alarm, COMMENT};
use super::stopping::Stopped;
use super::streams::NEWS;
use crate::feeds::{end_feed, poll_feed};
use bytes::Bytes;
use haft_proto::service::Feed;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The stream of a session, open or not.
#[derive(Default)]
pub(super) struct News(Mutex<State>);

#[derive(Default)]
struct State {
    /// While somebody reads.
    feed: Option<Box<dyn Feed>>,
    /// Tells a reader from those before it.
    turn: u64,
    waker: Option<Waker>,
    /// How many events there have been.
    events: u64,
    /// Whether the session has ended.
    is_over: bool,
}

/// Why a stream is not opened.
pub(super) enum NoNews {
    /// The service has nothing to tell.
    Never,
    /// The client has not had the event that it names.
    NoSuchEvent,
    /// The session ended as the stream was to be opened.
    NoSession,
}

impl News {
    /// Opens the stream, after the event `last` if there is one; whoever read it so far is sent
    /// away.
    pub(super) fn open(
        in_use: InUse,
        feed: impl FnOnce() -> Option<Box<dyn Feed>>,
        last: Option<u64>,
        stopped: Stopped,
    ) -> Result<NewsEvents, NoNews> {
        let (news, streams) = (&in_use.session().news, &in_use.session().streams);
        let mut first = VecDeque::new();
        let turn = {
            let mut state = news.lock();
            if state.is_over {
                return Err(NoNews::NoSession);
            }
            if last.is_some_and(|last| last > state.events) {
                return Err(NoNews::NoSuchEvent);
            }
            if state.feed.is_none() {
                state.feed = Some(feed().ok_or(NoNews::Never)?);
            }
            state.turn += 1;
            state.waker.take().inspect(Waker::wake_by_ref);
            match last {
                Some(number) => first.extend(streams.after(Place { stream: NEWS, number })),
                None if streams.can_poll() => first.push_back(streams.priming(state.next_place())),
                None => {}
            }
            state.turn
        };
        let alarm = Alarm::new(streams.limits.keep_alive);
        Ok(NewsEvents { in_use, turn, first, alarm, stopped, is_over: false })
    }

    /// The session has ended.
    pub(super) fn end(&self) {
        let feed = {
            let mut state = self.lock();
            state.is_over = true;
            state.turn += 1;
            state.waker.take().inspect(Waker::wake_by_ref);
            state.feed.take()
        };
        drop(feed);
    }

    fn left(&self, turn: u64) {
        let feed = {
            let mut state = self.lock();
            if state.turn != turn {
                return;
            }
            state.feed.take()
        };
        drop(feed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_place(&mut self) -> Place {
        self.events += 1;
        Place { stream: NEWS, number: self.events }
    }
}

/// The events of one connection. Dropped, it gives up the feed, and what changes from then on is
/// told by the next.
pub(super) struct NewsEvents {
    in_use: InUse,
    turn: u64,
    /// What comes before everything else.
    first: VecDeque<Bytes>,
    alarm: Alarm,
    stopped: Stopped,
    is_over: bool,
}

impl NewsEvents {
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.first.pop_front() {
            return Poll::Ready(Some(event));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        let is_stopped = self.stopped.poll(cx).is_ready();
        let event = match self.poll_feed(cx, is_stopped) {
            Poll::Ready(Some(event)) => event,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                return self.alarm.poll(cx).map(|()| Some(Bytes::from_static(COMMENT)));
            }
        };
        self.alarm.reset();
        Poll::Ready(Some(event))
    }

    fn poll_feed(&mut self, cx: &mut Context<'_>, is_stopped: bool) -> Poll<Option<Bytes>> {
        let session = self.in_use.session();
        let mut state = session.news.lock();
        if state.turn != self.turn {
            return Poll::Ready(None);
        }
        let Some(feed) = &mut state.feed else { return Poll::Ready(None) };
        let mut message = Vec::new();
        let mut polled = poll_feed(&mut **feed, cx, &mut message);
        if polled.is_pending() && is_stopped {
            self.is_over = true;
            polled = Poll::Ready(end_feed(&mut **feed, &mut message));
        }
        match polled {
            Poll::Ready(true) => {
                let at = state.next_place();
                Poll::Ready(Some(session.streams.sent(at, &message, Kind::Notification)))
            }
            Poll::Ready(false) => {
                // Whoever comes next is told by another.
                state.feed = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for NewsEvents {
    fn drop(&mut self) {
        self.in_use.session().news.left(self.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Conversation;
    use crate::http::sessions::Sessions;
    use crate::http::stopping::Stopping;
    use haft_proto::limits::Limits;
    use haft_proto::service::Principal;
    use haft_proto::session::Session as Agreed;
    use haft_proto::spec::client::ClientCapabilities;
    use haft_proto::version::Revision;
    use std::sync::Arc;

    /// Ends at once.
    struct Over;

    impl Feed for Over {
        fn poll_next(&mut self, _: &mut Context<'_>, _: &mut Vec<u8>) -> Poll<bool> {
            Poll::Ready(false)
        }
    }

    #[tokio::test]
    async fn a_feed_that_has_ended_and_a_session_that_has_are_not_read_again() {
        let limits = Arc::new(Limits::default());
        let sessions = Sessions::new(&limits);
        let agreed = Agreed::new(Revision::LATEST_LEGACY, ClientCapabilities::default());
        let conversation = Conversation::new(Principal::Anonymous, &limits);
        let id = sessions.begin(Arc::new(agreed), conversation, "").expect("there is room");
        let session = sessions.find(&id).expect("it is there");
        let mut made = 0;
        let mut open = || {
            let feed = || {
                made += 1;
                Some(Box::new(Over) as Box<dyn Feed>)
            };
            News::open(session.in_use(), feed, None, Stopping::default().wait())
        };
        let mut first = open().unwrap_or_else(|_| panic!("it opens"));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(first.poll_event(&mut cx), Poll::Ready(Some(_))), "the first event");
        assert_eq!(first.poll_event(&mut cx), Poll::Ready(None));
        // The first is not yet dropped.
        assert!(open().is_ok());
        assert!(sessions.end(&id));
        assert!(matches!(open(), Err(NoNews::NoSession)));
        assert_eq!(made, 2);
    }
}
