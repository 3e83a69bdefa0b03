//! The answer to a call, put together from its parts; or handed over while they come, as fast as
//! somebody takes them.

use super::call::Call;
use bytes::{Bytes, BytesMut};
use haft_client::{Answer, Hear, Rest, Uncarried};
use std::fmt;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// All of it; or, once so many bytes are there, what follows as it comes.
pub(super) async fn gather(
    mut call: Call,
    pieces_from: Option<usize>,
    hear: Hear<'_>,
) -> Result<Answer, Uncarried> {
    let mut whole = BytesMut::new();
    loop {
        let (part, is_last) = call.next(hear).await?;
        if is_last && whole.is_empty() {
            call.answered();
            return Ok(Answer::Whole(part));
        }
        whole.extend_from_slice(&part);
        if is_last {
            call.answered();
            return Ok(Answer::Whole(whole.freeze()));
        }
        if pieces_from.is_some_and(|from| whole.len() >= from) {
            call.is_read_slowly();
            let rest = Box::new(Parts::of(call));
            return Ok(Answer::Long { begun: whole.freeze(), rest });
        }
    }
}

/// The parts that are to come. What is read before somebody wants it is one of them.
struct Parts(mpsc::Receiver<Result<Bytes, Uncarried>>);

impl Parts {
    fn of(mut call: Call) -> Self {
        let (parts, coming) = mpsc::channel(1);
        tokio::spawn(async move {
            let passing = async {
                // The place for it comes first: what was taken before has been read then.
                while let Ok(place) = parts.reserve().await {
                    // Nothing belongs to a call whose answer has begun.
                    match call.next(&mut |_| {}).await {
                        Ok((part, false)) => place.send(Ok(part)),
                        Ok((part, true)) => return place.send(Ok(part)),
                        Err(why) => return place.send(Err(why)),
                    }
                }
            };
            tokio::select! {
                () = passing => {}
                () = parts.closed() => {}
            }
        });
        Self(coming)
    }
}

impl Rest for Parts {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Uncarried>>> {
        self.0.poll_recv(cx)
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}
