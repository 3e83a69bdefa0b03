//! Frames as lines of a log, for whoever looks for what goes wrong: what each is, of which call,
//! and how long, and never what is in it. Where nobody looks, a frame costs one look at a flag.

use haft_link::{Frame, Read, read};
use std::fmt::Write;
use std::sync::OnceLock;

type Hears = Box<dyn Fn(&str) + Send + Sync>;

static HEARS: OnceLock<Hears> = OnceLock::new();

/// From now on each frame of all links of this process is told, on a line of its own. Once; who
/// comes later hears nothing.
pub fn log_frames(hears: impl Fn(&str) + Send + Sync + 'static) {
    _ = HEARS.set(Box::new(hears));
}

/// One that came.
pub(crate) fn came(frame: &Frame<'_>) {
    if let Some(hears) = HEARS.get() {
        hears(&line("<-", frame));
    }
}

/// One that goes.
pub(crate) fn goes(frame: &Frame<'_>) {
    if let Some(hears) = HEARS.get() {
        hears(&line("->", frame));
    }
}

/// Some that go, as they were written.
pub(crate) fn go(mut written: &[u8]) {
    if HEARS.get().is_none() {
        return;
    }
    while let Ok(Read::Frame { frame, length }) = read(written, written.len()) {
        goes(&frame);
        written = &written[length..];
    }
}

fn line(way: &str, frame: &Frame<'_>) -> String {
    let mut line = format!("{way} {}", frame.name());
    // Writing to a string cannot fail.
    _ = match frame {
        Frame::Hello(it) => write!(line, " version {}, keeps {} ms", it.version, it.keeps_ms),
        Frame::Welcome(it) => {
            let goes_on = if it.goes_on { ", goes on" } else { "" };
            write!(line, " version {}, {} peers{goes_on}", it.version, it.peers.len())
        }
        Frame::Register(it) => write!(line, " {} slots", it.slots),
        Frame::ExecuteRequest(it) => {
            let (message, deadline) = (it.message.len(), it.deadline_ms);
            let repeatable = if it.repeatable { ", repeatable" } else { "" };
            write!(line, " {}: {message} bytes, {deadline} ms{repeatable}", it.stream_id)
        }
        Frame::StreamResponse(it) => {
            let (kind, bytes) = (it.kind, it.payload.len());
            write!(line, " {}: {} {kind:?}, {bytes} bytes", it.stream_id, it.sequence)
        }
        Frame::Credit(it) => {
            write!(line, " {}: {} messages, {} bytes", it.stream_id, it.messages, it.bytes)
        }
        Frame::Ack(it) => write!(line, " {:?}", it.stream_ids.iter().collect::<Vec<_>>()),
        Frame::Resume(it) => {
            let (received, window) = (it.received, it.window);
            write!(line, " {}: behind {received}, up to {window} bytes", it.stream_id)
        }
        Frame::Cancel(it) => write!(line, " {}", it.stream_id),
        Frame::Ping(it) => write!(line, " {}", it.nonce),
        Frame::Pong(it) => write!(line, " {}", it.nonce),
        Frame::Drain(_) => Ok(()),
        Frame::Close(it) => write!(line, " {}", it.code),
        Frame::Join(it) => write!(line, " {} bytes", it.request.len()),
        Frame::Joined(it) => write!(line, " {} bytes", it.certificate.len()),
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_link::{ExecuteRequest, Join};

    #[test]
    fn a_line_tells_lengths_and_no_contents() {
        let execute = ExecuteRequest {
            stream_id: 7,
            deadline_ms: 30_000,
            message: b"{\"secret\":1}",
            ..Default::default()
        };
        let told = line("->", &execute.into());
        assert_eq!(told, "-> ExecuteRequest 7: 12 bytes, 30000 ms");
        let join = Join { token: "haftjoin1.secret", agent: "secret", request: b"secret" };
        assert_eq!(line("<-", &join.into()), "<- Join 6 bytes");
    }
}
