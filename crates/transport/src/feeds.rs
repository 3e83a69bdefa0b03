//! The feeds of one connection: subscriptions of the modern era, and what a legacy client is told
//! unasked. Polled by the connection when it has room for what they say; a feed that has nothing
//! new is not polled.

use crate::bounds::Share;
use crate::conversation::Ticket;
use futures_util::future::{AbortHandle, AbortRegistration};
use futures_util::task::AtomicWaker;
use haft_proto::service::Feed;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// All feeds of one connection.
#[derive(Default)]
pub(crate) struct Feeds {
    entries: Vec<Entry>,
    /// Whose turn it is.
    turn: usize,
    bell: Arc<AtomicWaker>,
}

/// A request whose answer is a feed.
pub(crate) struct Subscription {
    pub(crate) ticket: Ticket,
    pub(crate) feed: Box<dyn Feed>,
    /// Aborted when it is cancelled.
    pub(crate) abort: AbortHandle,
}

struct Entry {
    feed: Box<dyn Feed>,
    /// `None`: nobody asked for it.
    request: Option<(Ticket, AbortHandle)>,
    flag: Arc<Flag>,
    /// Raises the flag.
    waker: Waker,
    /// Its place among the subscriptions of a listener.
    _place: Option<Share>,
}

/// Whether a feed may have something new.
struct Flag {
    is_up: AtomicBool,
    bell: Arc<AtomicWaker>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.is_up.store(true, Ordering::Release);
        self.bell.wake();
    }
}

impl Subscription {
    /// A subscription, and a handle by which it is cancelled.
    pub(crate) fn new(ticket: Ticket, feed: Box<dyn Feed>) -> (Self, AbortHandle) {
        let (abort, _): (_, AbortRegistration) = AbortHandle::new_pair();
        (Self { ticket, feed, abort: abort.clone() }, abort)
    }
}

impl Feeds {
    /// A subscription begins, which takes that place until it ends.
    pub(crate) fn subscribe(&mut self, subscription: Subscription, place: Option<Share>) {
        let Subscription { ticket, feed, abort } = subscription;
        self.add(feed, Some((ticket, abort)), place);
    }

    /// What is told unasked from now on, in place of what was.
    pub(crate) fn tell(&mut self, news: Option<Box<dyn Feed>>) {
        self.entries.retain(|entry| entry.request.is_some());
        if let Some(feed) = news {
            self.add(feed, None, None);
        }
    }

    fn add(
        &mut self,
        feed: Box<dyn Feed>,
        request: Option<(Ticket, AbortHandle)>,
        place: Option<Share>,
    ) {
        let is_up = AtomicBool::new(true);
        let flag = Arc::new(Flag { is_up, bell: Arc::clone(&self.bell) });
        let waker = Waker::from(Arc::clone(&flag));
        self.entries.push(Entry { feed, request, flag, waker, _place: place });
    }

    /// Drops the subscriptions that have been cancelled.
    pub(crate) fn drop_cancelled(&mut self) {
        self.entries
            .retain(|entry| entry.request.as_ref().is_none_or(|(_, abort)| !abort.is_aborted()));
    }

    /// Appends lines until there are `enough` bytes, each feed in its turn. The tickets are those
    /// of subscriptions that have come to their end.
    pub(crate) fn poll_lines(
        &mut self,
        cx: &Context<'_>,
        enough: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Vec<Ticket>> {
        if self.entries.is_empty() {
            return Poll::Pending;
        }
        self.bell.register(cx.waker());
        let mut ended = Vec::new();
        let mut silent = 0;
        while silent < self.entries.len() && out.len() < enough {
            self.turn = (self.turn + 1) % self.entries.len();
            match self.entries[self.turn].poll_line(out) {
                Poll::Ready(true) => silent = 0,
                Poll::Ready(false) => {
                    let entry = self.entries.swap_remove(self.turn);
                    ended.extend(entry.request.map(|(ticket, _)| ticket));
                    // Another stands in its place now, which has not been asked.
                    silent = 0;
                }
                Poll::Pending => silent += 1,
            }
        }
        match out.is_empty() && ended.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(ended),
        }
    }

    /// Ends all feeds, as the server stops: appends their last lines, and returns the tickets.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) -> Vec<Ticket> {
        self.drop_cancelled();
        let mut ended = Vec::new();
        for mut entry in std::mem::take(&mut self.entries) {
            if end_feed(&mut *entry.feed, out) {
                out.push(b'\n');
            }
            ended.extend(entry.request.map(|(ticket, _)| ticket));
        }
        ended
    }
}

/// Polls a feed; one that panics has come to its end, and harms nothing else.
pub(crate) fn poll_feed(
    feed: &mut dyn Feed,
    cx: &mut Context<'_>,
    out: &mut Vec<u8>,
) -> Poll<bool> {
    let start = out.len();
    // The panic hook has told of it; there is nobody else to tell.
    catch_unwind(AssertUnwindSafe(|| feed.poll_next(cx, out))).unwrap_or_else(|_| {
        out.truncate(start);
        Poll::Ready(false)
    })
}

/// The last message of a feed, if it has one.
pub(crate) fn end_feed(feed: &mut dyn Feed, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    catch_unwind(AssertUnwindSafe(|| feed.end(out))).unwrap_or_else(|_| {
        out.truncate(start);
        false
    })
}

impl Entry {
    fn poll_line(&mut self, out: &mut Vec<u8>) -> Poll<bool> {
        if !self.flag.is_up.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        if self.request.as_ref().is_some_and(|(_, abort)| abort.is_aborted()) {
            return Poll::Ready(false);
        }
        let mut cx = Context::from_waker(&self.waker);
        let polled = poll_feed(&mut *self.feed, &mut cx, out);
        if polled == Poll::Ready(true) {
            out.push(b'\n');
            // There may be more.
            self.flag.is_up.store(true, Ordering::Release);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Says what it has, and then ends if it is to.
    struct Scripted(VecDeque<&'static str>, bool);

    impl Feed for Scripted {
        fn poll_next(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
            match self.0.pop_front() {
                Some(line) => out.extend_from_slice(line.as_bytes()),
                None if self.1 => return Poll::Ready(false),
                None => return Poll::Pending,
            }
            Poll::Ready(true)
        }
    }

    fn feed(lines: &[&'static str], ends: bool) -> Box<dyn Feed> {
        Box::new(Scripted(lines.iter().copied().collect(), ends))
    }

    #[test]
    fn a_feed_that_ends_keeps_no_other_from_being_heard() {
        let mut feeds = Feeds::default();
        let subscription = |feed| Subscription::new(Ticket::default(), feed).0;
        feeds.subscribe(subscription(feed(&[], false)), None);
        feeds.tell(Some(feed(&[], true)));
        feeds.subscribe(subscription(feed(&["heard"], false)), None);
        // The next turn is that of the first.
        feeds.turn = 2;
        let mut out = Vec::new();
        let polled = feeds.poll_lines(&Context::from_waker(Waker::noop()), 100, &mut out);
        assert!(polled.is_ready());
        assert_eq!(out, b"heard\n");
    }
}
