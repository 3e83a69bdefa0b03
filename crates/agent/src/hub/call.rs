//! One call that a gateway makes to an agent: over one link, and if that is lost, over the next,
//! where it goes on with what is missing. It is done once at most; what is not known is said to be.

use super::answer::gather;
use super::member::{Live, Member, Place};
use crate::credit::Sums;
use crate::limits::{
    ANSWER_BYTES_MAX, AWAY_PATIENCE, BROKEN_MAX, CALL_MESSAGES, CALL_WINDOW, KEPT_TIME,
};
use crate::link::Streams;
use crate::wire::{Broken, Came};
use bytes::Bytes;
use haft_client::{Carrier, Carrying, Hear, Parcel, Uncarried};
use haft_link::limits::RESPONSE_FRAME_MAX;
use haft_link::{Credit, ExecuteRequest, Frame, Kind, Outcome, Resume, StreamResponse};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::time::{Instant, timeout};

/// How much of what comes of a call may be under way.
const WINDOW: Sums = Sums { messages: CALL_MESSAGES, bytes: CALL_WINDOW };
const HALF: Sums = Sums { messages: CALL_MESSAGES / 2, bytes: CALL_WINDOW / 2 };

impl Carrier for Member {
    fn carry<'a>(&'a self, parcel: Parcel, hear: Hear<'a>) -> Carrying<'a> {
        Box::pin(async move {
            let pieces_from = parcel.pieces_from;
            let deadline = parcel.within.map(|within| Instant::now() + within);
            let place = self.place(parcel.within.is_some()).await?;
            gather(Call::new(self.kept(), place, (parcel, deadline)), pieces_from, hear).await
        })
    }

    fn gone<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let mut presence = self.presence();
        let session = presence.borrow_and_update().session();
        Box::pin(async move {
            _ = presence.wait_for(|now| session.is_none() || now.session() != session).await;
        })
    }
}

/// A call. Dropped before its end, it is taken back.
pub(super) struct Call {
    member: Arc<Member>,
    place: Place,
    parcel: Parcel,
    deadline: Option<Instant>,
    /// The link that it is over.
    over: Option<Over>,
    /// The agent may have heard of it.
    was_sent: bool,
    /// How often in a row its stream broke, and no link with it.
    broken: u32,
    /// The sequence of the last response that came.
    received: u64,
    /// What of responses has come.
    arrived: Sums,
    /// What of that was handed over, and more was asked for.
    consumed: Sums,
    /// How many bytes of the answer have come.
    answer_bytes: u64,
    /// Up to where they may be sent.
    granted: Sums,
    is_over: bool,
}

struct Over {
    live: Arc<Live>,
    streams: Streams,
    /// It began over another.
    is_taken_up: bool,
}

/// What comes of a call over one link.
enum Became {
    /// A part of the answer, and whether it is the last.
    Part(Bytes, bool),
    /// The link was lost.
    Broken,
    /// The agent has never heard of it, and will not begin it.
    NeverCame,
    Failed(Uncarried),
    /// Its answer is longer than any may be, and is given up.
    TooLong,
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_over {
            self.place.words.cancel(self.place.stream_id);
        }
    }
}

impl Call {
    fn new(
        member: Arc<Member>,
        place: Place,
        (parcel, deadline): (Parcel, Option<Instant>),
    ) -> Self {
        let (arrived, consumed) = (Sums::default(), Sums::default());
        let (over, was_sent, broken, received, answer_bytes) = (None, false, 0, 0, 0);
        let (granted, is_over) = (WINDOW, false);
        #[rustfmt::skip]
        let call = Self {
            member, place, parcel, deadline, over, was_sent, broken, received, arrived, consumed,
            granted, is_over, answer_bytes,
        };
        call
    }

    /// The next part of the answer, and whether it is the last. What came before has been read.
    pub(super) async fn next(&mut self, hear: Hear<'_>) -> Result<(Bytes, bool), Uncarried> {
        loop {
            let mut over = match self.over.take() {
                Some(over) => over,
                None => self.begin().await?,
            };
            let became = self.hear(&mut over, hear).await;
            if let Became::Part(part, false) = became {
                self.over = Some(over);
                return Ok((part, false));
            }
            over.streams.1.stream().abandon();
            match became {
                Became::Part(part, _) => {
                    self.end();
                    return Ok((part, true));
                }
                Became::Failed(why) => {
                    self.end();
                    return Err(why);
                }
                // Taken back as it is dropped: there is nothing to acknowledge.
                Became::TooLong => return Err(Uncarried::TooLong(ANSWER_BYTES_MAX)),
                Became::NeverCame => {
                    self.member.renumber(&mut self.place)?;
                    self.was_sent = false;
                }
                Became::Broken => self.breaks(&over.live).await?,
            }
        }
    }

    /// It was answered as fast as the agent could.
    pub(super) fn answered(&mut self) {
        self.place.ended(Outcome::Answered);
    }

    /// How fast the rest comes is for whoever reads it.
    pub(super) fn is_read_slowly(&mut self) {
        self.place.is_read_slowly();
    }

    /// Nothing of it need be kept.
    fn end(&mut self) {
        self.is_over = true;
        self.place.words.ack(self.place.stream_id);
    }

    /// A stream breaks because its link does, which may be seen a moment later.
    async fn breaks(&mut self, live: &Live) -> Result<(), Uncarried> {
        let ended = timeout(AWAY_PATIENCE, live.link.ended()).await;
        self.broken = if ended.is_ok() { 0 } else { self.broken + 1 };
        if self.broken == BROKEN_MAX {
            self.end();
            return Err(self.member.lost("it breaks off its answers"));
        }
        Ok(())
    }

    /// Begins it over the link that is there, or goes on with it.
    async fn begin(&mut self) -> Result<Over, Uncarried> {
        let since = Instant::now();
        loop {
            // What was begun may have been done: that is worth a longer wait, unless it may be done
            // once more.
            let is_waited_for = self.deadline.is_some() && self.parcel.is_repeatable;
            let patience = match self.was_sent && !is_waited_for {
                true => KEPT_TIME,
                false => AWAY_PATIENCE.saturating_sub(since.elapsed()),
            };
            let Ok(opened) = timeout(patience, self.open()).await else {
                return Err(self.given_up("its link is lost"));
            };
            let (live, opened) = opened.ok_or_else(|| self.given_up("it has gone"))?;
            if let Ok(mut streams) = opened {
                let is_taken_up = std::mem::replace(&mut self.was_sent, true);
                let sent = match is_taken_up {
                    true => self.resume(&mut streams).await,
                    false => self.execute(&mut streams).await,
                };
                if sent.is_ok() {
                    return Ok(Over { live, streams, is_taken_up });
                }
                streams.1.stream().abandon();
            }
            self.breaks(&live).await?;
        }
    }

    /// A stream over the link that is there; nothing, once none is waited for.
    async fn open(&self) -> Option<(Arc<Live>, io::Result<Streams>)> {
        let live = self.member.link_of(self.place.session).await?;
        let opened = async {
            // Of an agent that may be an echo nobody knows what becomes of what it is told.
            if !self.parcel.is_repeatable {
                live.link.proven().await?;
            }
            live.link.open(RESPONSE_FRAME_MAX).await
        };
        let opened = opened.await;
        Some((live, opened))
    }

    /// It was waited for long enough.
    fn given_up(&mut self, why: &str) -> Uncarried {
        self.is_over = true;
        match self.was_sent {
            true => self.member.lost("its link was lost, and it did not come back"),
            false => self.member.not_begun(why),
        }
    }

    async fn execute(&self, (_, outgoing): &mut Streams) -> Result<(), Broken> {
        let left = self.deadline.map(|it| it.saturating_duration_since(Instant::now()));
        let deadline_ms = left.map_or(0, |left| left.as_millis().clamp(1, u32::MAX.into()) as u32);
        let execute = ExecuteRequest {
            session_id: &self.place.session_id,
            stream_id: self.place.stream_id,
            deadline_ms,
            window: WINDOW.bytes,
            messages: WINDOW.messages,
            repeatable: self.parcel.is_repeatable,
            message: &self.parcel.message,
        };
        outgoing.send(execute).await
    }

    async fn resume(&mut self, (_, outgoing): &mut Streams) -> Result<(), Broken> {
        self.consumed = self.arrived;
        self.granted = self.consumed.plus(WINDOW);
        let resume = Resume {
            session_id: &self.place.session_id,
            stream_id: self.place.stream_id,
            received: self.received,
            window: self.granted.bytes,
            messages: self.granted.messages,
        };
        outgoing.send(resume).await
    }

    /// Hears what comes of it, until there is a part of the answer, or nothing more comes.
    async fn hear(&mut self, over: &mut Over, hear: Hear<'_>) -> Became {
        let (incoming, outgoing) = &mut over.streams;
        loop {
            self.consumed = self.arrived;
            if !self.consumed.plus(HALF).is_within(self.granted) {
                self.granted = self.consumed.plus(WINDOW);
                let Sums { messages, bytes } = self.granted;
                let credit = Credit { stream_id: self.place.stream_id, messages, bytes };
                // Whoever has said all takes no more; a lost link is seen where it is read.
                _ = outgoing.send(credit).await;
            }
            let came = match incoming.next().await {
                Ok(Some(came)) => came,
                Err(Broken::Malformed(error)) => {
                    return Became::Failed(self.member.lost(&error.to_string()));
                }
                Ok(None) | Err(_) => return Became::Broken,
            };
            let said = match came.frame() {
                Frame::StreamResponse(said) => said,
                // Nothing has come of it yet.
                Frame::Ping(_) => continue,
                _ => return Became::Failed(self.member.lost("it answered with another frame")),
            };
            if let Some(became) = self.take(&came, &said, hear, over.is_taken_up) {
                return became;
            }
        }
    }

    /// Takes one response.
    fn take(
        &mut self,
        came: &Came,
        said: &StreamResponse<'_>,
        hear: Hear<'_>,
        is_taken_up: bool,
    ) -> Option<Became> {
        let why = |otherwise: &'static str| match said.detail {
            "" => otherwise.to_owned(),
            detail => detail.chars().filter(|letter| !letter.is_control()).take(200).collect(),
        };
        match said.kind {
            Kind::NotBegun if is_taken_up && self.received == 0 => return Some(Became::NeverCame),
            Kind::NotBegun => {
                let why = self.member.not_begun(&why("it does not take the call"));
                return Some(Became::Failed(why));
            }
            Kind::Lost | Kind::Cancelled | Kind::TooLate => {
                if said.kind == Kind::TooLate {
                    self.place.ended(Outcome::TooLate);
                }
                let why = self.member.lost(&why("it does not know what became of the call"));
                return Some(Became::Failed(why));
            }
            Kind::Part | Kind::End | Kind::Notice | Kind::Other(_) => {}
            _ => return None,
        }
        // What comes again after a link was lost has been heard.
        if said.sequence <= self.received {
            return None;
        }
        if said.sequence != self.received + 1 || said.stream_id != self.place.stream_id {
            return Some(Became::Failed(self.member.lost("a response is missing")));
        }
        self.received = said.sequence;
        self.arrived = self.arrived.and(said.payload.len() as u64);
        match said.kind {
            Kind::Notice => hear(came.share(said.payload)),
            Kind::Part | Kind::End => {
                let most = ANSWER_BYTES_MAX as u64;
                self.answer_bytes += said.payload.len() as u64;
                if said.total.max(self.answer_bytes) > most {
                    return Some(Became::TooLong);
                }
                let is_last = said.kind == Kind::End;
                return Some(Became::Part(came.share(said.payload), is_last));
            }
            _ => {}
        }
        None
    }
}
