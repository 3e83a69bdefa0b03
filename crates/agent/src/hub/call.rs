//! One call that a gateway makes to an agent: over one link, and if that is lost, over the next,
//! where it goes on with what is missing. It is done once at most; what is not known is said to be.

use super::member::{Member, Place};
use crate::credit::Sums;
use crate::ending::Ending;
use crate::limits::{ANSWER_BYTES_MAX, AWAY_PATIENCE, BROKEN_MAX, CALL_MESSAGES, CALL_WINDOW};
use crate::link::Streams;
use crate::wire::{Broken, Came};
use bytes::{Bytes, BytesMut};
use haft_client::{Carrier, Carrying, Hear, Parcel, Uncarried};
use haft_link::limits::RESPONSE_FRAME_MAX;
use haft_link::{Credit, ExecuteRequest, Frame, Kind, Outcome, Resume, StreamResponse};
use std::pin::Pin;
use tokio::time::{Instant, timeout};

/// How much of what comes of a call may be under way.
const WINDOW: Sums = Sums { messages: CALL_MESSAGES, bytes: CALL_WINDOW };
const HALF: Sums = Sums { messages: CALL_MESSAGES / 2, bytes: CALL_WINDOW / 2 };

impl Carrier for Member {
    fn carry<'a>(&'a self, parcel: Parcel, hear: Hear<'a>) -> Carrying<'a> {
        Box::pin(async move {
            let deadline = parcel.within.map(|within| Instant::now() + within);
            let place = self.place(parcel.within.is_some()).await?;
            let answer = BytesMut::new();
            let (consumed, granted) = (Sums::default(), WINDOW);
            let (received, is_over) = (0, false);
            let call = Call { member: self, place, answer, received, consumed, granted, is_over };
            call.run(&parcel, deadline, hear).await
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
struct Call<'a> {
    member: &'a Member,
    place: Place,
    /// What came of the answer so far.
    answer: BytesMut,
    /// The sequence of the last response that came.
    received: u64,
    /// What of responses was read.
    consumed: Sums,
    /// Up to where it may be sent.
    granted: Sums,
    is_over: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.place.words.cancel(self.place.stream_id);
        }
    }
}

/// What became of a call over one link.
enum Became {
    Answered(Bytes),
    /// The link was lost.
    Broken,
    /// The agent has never heard of it, and will not begin it.
    NeverCame,
    Failed(Uncarried),
    /// Its answer is longer than any may be, and is given up.
    TooLong,
    /// More was sent than may be.
    Miscounted,
}

impl Call<'_> {
    async fn run(
        mut self,
        parcel: &Parcel,
        deadline: Option<Instant>,
        hear: Hear<'_>,
    ) -> Result<Bytes, Uncarried> {
        let (mut was_sent, mut broken) = (false, 0);
        loop {
            let Some(live) = self.member.link_of(self.place.session).await else {
                self.is_over = true;
                return Err(match was_sent {
                    true => self.member.lost("its link was lost, and it did not come back"),
                    false => self.member.not_begun("it has gone"),
                });
            };
            let opened = async {
                // Of an agent that may be an echo nobody knows what becomes of what it is told.
                if !parcel.is_repeatable {
                    live.link.proven().await?;
                }
                live.link.open(RESPONSE_FRAME_MAX).await
            };
            let became = match opened.await {
                Err(_) => Became::Broken,
                Ok(mut streams) => {
                    let sent = match was_sent {
                        true => self.resume(&mut streams).await,
                        false => self.execute(parcel, deadline, &mut streams).await,
                    };
                    let is_taken_up = std::mem::replace(&mut was_sent, true);
                    let heard = match sent {
                        Ok(()) => self.hear(&mut streams, hear, is_taken_up).await,
                        Err(_) => Became::Broken,
                    };
                    streams.1.stream().abandon();
                    heard
                }
            };
            match became {
                Became::Answered(answer) => {
                    self.place.ended(Outcome::Answered);
                    self.end();
                    return Ok(answer);
                }
                Became::Failed(why) => {
                    self.end();
                    return Err(why);
                }
                // Taken back as it is dropped: there is nothing to acknowledge.
                Became::TooLong => return Err(Uncarried::TooLong(ANSWER_BYTES_MAX)),
                Became::Miscounted => {
                    live.link.end(Ending::Credit);
                    self.end();
                    return Err(self.member.lost(&Ending::Credit.to_string()));
                }
                Became::NeverCame => {
                    self.member.renumber(&mut self.place)?;
                    was_sent = false;
                }
                // A stream breaks because its link does, which may be seen a moment later.
                Became::Broken => {
                    let ended = timeout(AWAY_PATIENCE, live.link.ended()).await;
                    broken = if ended.is_ok() { 0 } else { broken + 1 };
                    if broken == BROKEN_MAX {
                        self.end();
                        return Err(self.member.lost("it breaks off its answers"));
                    }
                }
            }
        }
    }

    /// Nothing of it need be kept.
    fn end(&mut self) {
        self.is_over = true;
        self.place.words.ack(self.place.stream_id);
    }

    async fn execute(
        &self,
        parcel: &Parcel,
        deadline: Option<Instant>,
        (_, outgoing): &mut Streams,
    ) -> Result<(), Broken> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let deadline_ms = left.map_or(0, |left| left.as_millis().clamp(1, u32::MAX.into()) as u32);
        let execute = ExecuteRequest {
            session_id: &self.place.session_id,
            stream_id: self.place.stream_id,
            deadline_ms,
            window: WINDOW.bytes,
            messages: WINDOW.messages,
            repeatable: parcel.is_repeatable,
            message: &parcel.message,
            ..Default::default()
        };
        outgoing.send(execute).await
    }

    async fn resume(&mut self, (_, outgoing): &mut Streams) -> Result<(), Broken> {
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

    /// Hears what comes of it, until nothing more does.
    async fn hear(
        &mut self,
        (incoming, outgoing): &mut Streams,
        hear: Hear<'_>,
        is_taken_up: bool,
    ) -> Became {
        loop {
            let came = match incoming.next().await {
                Ok(Some(came)) => came,
                Err(Broken::Malformed(error)) => {
                    return Became::Failed(self.member.lost(&error.to_string()));
                }
                Ok(None) | Err(_) => return Became::Broken,
            };
            let Frame::StreamResponse(said) = came.frame() else {
                return Became::Failed(self.member.lost("it answered with another frame"));
            };
            if let Some(became) = self.take(&came, &said, hear, is_taken_up) {
                return became;
            }
            if !self.consumed.plus(HALF).is_within(self.granted) {
                self.granted = self.consumed.plus(WINDOW);
                let Sums { messages, bytes } = self.granted;
                let credit = Credit { stream_id: self.place.stream_id, messages, bytes };
                // Whoever has said all takes no more; a lost link is seen where it is read.
                _ = outgoing.send(credit).await;
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
        if self.answer.len() + said.payload.len() > ANSWER_BYTES_MAX {
            return Some(Became::TooLong);
        }
        self.received = said.sequence;
        self.consumed = self.consumed.and(said.payload.len() as u64);
        if !self.consumed.is_within(self.granted) {
            return Some(Became::Miscounted);
        }
        match said.kind {
            Kind::Notice => hear(came.share(said.payload)),
            Kind::Part => self.answer.extend_from_slice(said.payload),
            Kind::End if self.answer.is_empty() => {
                return Some(Became::Answered(came.share(said.payload)));
            }
            Kind::End => {
                self.answer.extend_from_slice(said.payload);
                return Some(Became::Answered(self.answer.split().freeze()));
            }
            _ => {}
        }
        None
    }
}
