//! What the endpoint does for a request that stands alone, as all of the modern era do, and those
//! of the legacy era where there are no sessions: it waits for no lock. Its client cancels it by
//! going away.

use super::answer::{self, Answer};
use super::endpoint::{Asking, Endpoint};
use super::long::LongAnswer;
use super::refusals::{refused_to, try_again};
use super::request::{Accepts, HttpHeaders};
use super::sessionless;
use super::sse::{AT_ONCE, Alarm, COMMENT, write_event};
use super::subscription::FeedEvents;
use crate::asking::{Along, Whole, ask_stateless};
use crate::bounds::{Bound, Share, oversubscribed};
use crate::outlet::{Queue, Reader, Sink};
use bytes::{Bytes, BytesMut};
use haft_proto::admit;
use haft_proto::envelope::{Envelope, Id};
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::mirror::Headers;
use haft_proto::service::{Feed, Outcome, Principal, Reply, Turn};
use haft_proto::version::Era;
use http::{Response, StatusCode};
use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::JoinHandle;
use tokio::time::sleep;

impl Endpoint {
    /// Answers a request.
    pub(super) async fn alone(
        &self,
        asking: &Asking<'_>,
        message: &Envelope<'_>,
        id: Id<'_>,
        era: Era,
    ) -> Response<Answer> {
        let mut place = self.in_flight.share();
        if !place.take(1) {
            return self.try_again(Some(id), era);
        }
        let (said, turn, mut message) = {
            let queue =
                LazyQueue { limits: &self.limits, accepts: asking.accepts, made: OnceCell::new() };
            let mut out = self.buffers.take();
            let headers = HttpHeaders(asking.heads.all);
            let asker = (&Principal::Anonymous, Some(&headers as &dyn Headers));
            let sink = || queue.sink();
            let turn = asking.trip.run(|| {
                let admitted = match era {
                    Era::Modern => admit::modern_request(message, Some(&headers)),
                    Era::Legacy => sessionless::admit(message, &asking.heads),
                };
                let request = (message, id, admitted);
                ask_stateless(&*self.service, request, asker, &sink, &mut out)
            });
            self.buffers.take_back(&mut out);
            (Reader::new(queue.made.into_inner()), turn, out)
        };
        match turn {
            Turn::Done(outcome) if asking.accepts.json && said.is_of_nothing() => {
                answer::whole(self.buffers.sent(message), outcome, era)
            }
            Turn::Done(outcome) => {
                finished(Reply::new(message, outcome), &said, era, asking.accepts)
            }
            Turn::Listed(rest) if asking.accepts.json && said.is_of_nothing() => {
                self.listed(&asking.heads, self.buffers.sent(message), rest)
            }
            Turn::Listed(rest) => {
                message.extend_from_slice(rest.as_bytes());
                finished(Reply::new(message, Outcome::Result), &said, era, asking.accepts)
            }
            Turn::Stream(feed) => self.subscribe(asking, feed, id),
            Turn::Later(work) => {
                let work = asking.trip.run(|| Along::new(work));
                later(Work::Here(work, place), said, (era, asking), &self.limits).await
            }
        }
    }

    /// Answers with a stream that goes on until its client goes or the server stops.
    fn subscribe(&self, asking: &Asking<'_>, feed: Box<dyn Feed>, id: Id<'_>) -> Response<Answer> {
        if !asking.accepts.events {
            let refusal = Refusal::new(
                Mistake::InvalidRequest,
                "Not acceptable: this is answered with a stream; `Accept` must list \
                 `text/event-stream`",
            );
            let mut response = refused_to(Some(id), Era::Modern, &refusal);
            *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return response;
        }
        let mut place = self.subscriptions.share();
        if !place.take(1) {
            return try_again(Some(id), Era::Modern, &oversubscribed(&self.limits));
        }
        let stopped = self.stopping.wait();
        let events = FeedEvents::new(feed, self.limits.keep_alive, stopped, place);
        answer::event_response(Answer::Feed(Box::new(events)))
    }
}

/// An answer to come: JSON if it is the first thing that comes, else a stream.
async fn later(
    mut work: Work,
    said: Reader,
    (era, asking): (Era, &Asking<'_>),
    limits: &Limits,
) -> Response<Answer> {
    let accepts = asking.accepts;
    if !accepts.events {
        return match (&mut work).await {
            Some(reply) => sent(reply, work, &said, (era, accepts), limits).await,
            None => answer::empty(StatusCode::ACCEPTED),
        };
    }
    let mut first = None;
    tokio::select! {
        biased;
        message = poll_fn(|cx| said.poll_pop(cx)) => first = Some(message),
        reply = &mut work => return match reply {
            Some(reply) => sent(reply, work, &said, (era, accepts), limits).await,
            None => answer::event_response(Answer::Whole(None)),
        },
        () = sleep(limits.keep_alive) => {}
    }
    // hyper polls a stream only as fast as its client reads; the work shall not wait for that.
    let work = Some(work.on_its_own(asking.unread));
    let alarm = Alarm::new(limits.keep_alive);
    answer::event_response(Answer::Events(Box::new(EventStream { work, said, first, alarm })))
}

/// An answer that came before anything was sent. A long one is passed on as it comes, if nothing
/// comes before it.
async fn sent(
    mut reply: Reply,
    work: Work,
    said: &Reader,
    (era, accepts): (Era, Accepts),
    limits: &Limits,
) -> Response<Answer> {
    let events = rest_of(said);
    if accepts.json
        && events.is_empty()
        && let Some(rest) = reply.rest.take()
    {
        let place = work.into_place();
        return answer::long(LongAnswer::new(reply.message, rest, place, limits.write_stall));
    }
    poll_fn(|cx| reply.poll_whole(cx)).await;
    finished_after(events, reply, era, accepts)
}

/// The same for one that is all there, with what was said about it on the way.
fn finished(reply: Reply, said: &Reader, era: Era, accepts: Accepts) -> Response<Answer> {
    finished_after(rest_of(said), reply, era, accepts)
}

fn rest_of(said: &Reader) -> BytesMut {
    let mut events = BytesMut::new();
    write_rest(&mut events, said);
    events
}

fn finished_after(
    mut events: BytesMut,
    reply: Reply,
    era: Era,
    accepts: Accepts,
) -> Response<Answer> {
    if events.is_empty() {
        return answer::now(reply, era, accepts);
    }
    write_event(&mut events, &reply.message);
    answer::event_response(Answer::Whole(Some(events.freeze())))
}

/// What was said about a request and has not been sent, now that it is answered.
fn write_rest(events: &mut BytesMut, said: &Reader) {
    let Some(mut rest) = said.rest() else { return };
    while let Some(message) = rest.pop() {
        write_event(events, &message);
    }
}

/// A queue for what is said about one request, made when its call wants one.
struct LazyQueue<'a> {
    limits: &'a Limits,
    accepts: Accepts,
    made: OnceCell<Arc<Queue>>,
}

impl LazyQueue<'_> {
    fn sink(&self) -> Arc<dyn Sink> {
        let make = || match self.accepts.events {
            true => Queue::new(self.limits),
            false => Queue::without_reader(),
        };
        Arc::<Queue>::clone(self.made.get_or_init(make))
    }
}

/// The work on one answer; it ends when it is no longer waited for.
enum Work {
    /// Counts towards the requests in flight.
    Here(Along, Share),
    /// Goes on whether or not it is polled.
    Task(Tied),
}

/// A task that ends when nobody waits for it.
struct Tied(JoinHandle<(Reply, Share)>);

impl Drop for Tied {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Work {
    fn into_place(self) -> Option<Share> {
        match self {
            Self::Here(_, place) => Some(place),
            Self::Task(_) => None,
        }
    }

    /// Until it is fetched, the answer counts as unread.
    fn on_its_own(self, unread: &Arc<Bound>) -> Self {
        match self {
            Self::Here(work, place) => {
                let unread = Arc::clone(unread);
                Self::Task(Tied(tokio::spawn(async move {
                    let reply = Whole::of(work).await;
                    drop(place);
                    let held = unread.share_of(reply.message.len());
                    (reply, held)
                })))
            }
            task => task,
        }
    }
}

impl Future for Work {
    /// `None` only as the whole runtime ends.
    type Output = Option<Reply>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Here(work, _) => Pin::new(work).poll(cx).map(Some),
            Self::Task(Tied(task)) => Pin::new(task).poll(cx).map(|ended| Some(ended.ok()?.0)),
        }
    }
}

/// Notifications as they come, then the answer, then the end; comments while it is quiet.
pub(super) struct EventStream {
    /// `None` once it is answered.
    work: Option<Work>,
    said: Reader,
    /// What was said before the stream began.
    first: Option<Vec<u8>>,
    alarm: Alarm,
}

impl EventStream {
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut events = BytesMut::new();
        if let Some(message) = self.first.take() {
            write_event(&mut events, &message);
        }
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        // The work first, so that whatever it said on its way is in the queue when it is done.
        let reply = Pin::new(work).poll(cx);
        if let Poll::Ready(reply) = reply {
            self.work = None;
            write_rest(&mut events, &self.said);
            if let Some(reply) = reply {
                write_event(&mut events, &reply.message);
            }
            return Poll::Ready((!events.is_empty()).then(|| events.freeze()));
        }
        while events.len() < AT_ONCE
            && let Poll::Ready(message) = self.said.poll_pop(cx)
        {
            write_event(&mut events, &message);
        }
        if events.is_empty() {
            return self.alarm.poll(cx).map(|()| Some(Bytes::from_static(COMMENT)));
        }
        self.alarm.reset();
        Poll::Ready(Some(events.freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_proto::service::Outcome;

    #[tokio::test]
    async fn what_a_call_says_is_handed_over_in_pieces() {
        let limits = Limits::default();
        let (queue, unread) = (Queue::new(&limits), Bound::new(0));
        while queue.notify(vec![b' '; 1024]) {}
        let reply = Reply::new(b"{}".to_vec(), Outcome::Result);
        let (answer, answered) = tokio::sync::oneshot::channel();
        let later = async { answered.await.expect("it is answered") };
        let work = Work::Here(Along::new(Box::pin(later)), unread.share()).on_its_own(&unread);
        let alarm = Alarm::new(limits.keep_alive);
        let said = Reader::new(Some(Arc::clone(&queue)));
        let mut stream = EventStream { work: Some(work), said, first: None, alarm };
        let piece = poll_fn(|cx| stream.poll_event(cx)).await.expect("events");
        assert!((AT_ONCE..AT_ONCE + 2048).contains(&piece.len()), "{}", piece.len());
        answer.send(reply).expect("it is waited for");
        let mut rest = Vec::new();
        while let Some(piece) = poll_fn(|cx| stream.poll_event(cx)).await {
            rest.extend_from_slice(&piece);
        }
        assert!(rest.ends_with(b"data: {}\n\n"));
        let said = limits.queued_notifications * "event: message\ndata: \n\n".len();
        assert!(rest.len() + piece.len() > limits.queued_notifications * 1024 + said);
        assert!(!queue.notify(Vec::new()), "nothing is said after the answer");
    }
}
