//! A feed as an event stream, pulled only as fast as its client reads: nothing is queued in
//! between. Made by `modern`.

use super::sse::{AT_ONCE, Alarm, COMMENT, write_event};
use super::stopping::Stopped;
use crate::bounds::Share;
use crate::feeds::{end_feed, poll_feed};
use bytes::{Bytes, BytesMut};
use haft_proto::service::Feed;
use std::task::{Context, Poll};
use std::time::Duration;

/// One subscription. Dropping it, as its client goes, ends it.
pub(super) struct FeedEvents {
    /// `None` once all is said.
    feed: Option<Box<dyn Feed>>,
    alarm: Alarm,
    stopped: Stopped,
    /// Its place among the subscriptions.
    _place: Share,
}

impl FeedEvents {
    pub(super) fn new(
        feed: Box<dyn Feed>,
        keep_alive: Duration,
        stopped: Stopped,
        place: Share,
    ) -> Self {
        Self { feed: Some(feed), alarm: Alarm::new(keep_alive), stopped, _place: place }
    }

    pub(super) fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut events = BytesMut::new();
        let is_stopped = self.stopped.poll(cx).is_ready();
        self.pull(cx, &mut events);
        if is_stopped && let Some(mut feed) = self.feed.take() {
            let mut last = Vec::new();
            if end_feed(&mut *feed, &mut last) {
                write_event(&mut events, &last);
            }
        }
        if events.is_empty() {
            if self.feed.is_none() {
                return Poll::Ready(None);
            }
            if self.alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
            return Poll::Ready(Some(Bytes::from_static(COMMENT)));
        }
        self.alarm.reset();
        Poll::Ready(Some(events.freeze()))
    }

    fn pull(&mut self, cx: &mut Context<'_>, events: &mut BytesMut) {
        let mut message = Vec::new();
        while let Some(feed) = &mut self.feed
            && events.len() < AT_ONCE
        {
            message.clear();
            match poll_feed(&mut **feed, cx, &mut message) {
                Poll::Ready(true) => write_event(events, &message),
                Poll::Ready(false) => self.feed = None,
                Poll::Pending => return,
            }
        }
    }
}
