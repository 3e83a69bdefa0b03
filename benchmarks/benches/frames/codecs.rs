//! Six ways to put messages of a link into bytes and to take them out: ours, and five that it might
//! have been. Called by `frames` and `frame_codecs`; it measures nothing.

use haft_link::{Credit, ExecuteRequest, Frame, Kind, Read, StreamResponse};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::hint::black_box;

pub(crate) const CODECS: [&str; 6] = ["ours", "prost", "prost_warm", "msgpack", "json", "raw"];
pub(crate) const MESSAGES: [&str; 4] = ["request_200", "request_4k", "response", "credit"];

const SESSION: [u8; 16] = *b"\x0f\x1e\x2d\x3c\x4b\x5a\x69\x78\x87\x96\xa5\xb4\xc3\xd2\xe1\xf0";
const MOST: usize = 64 * 1024;

/// A codec with a message: it writes into a buffer that is warm, unless it is `prost`, and reads.
pub(crate) struct Codec {
    way: Way,
    message: Message,
    json: String,
    json_raw: Box<RawValue>,
    out: Vec<u8>,
    written: Vec<u8>,
    warm: Warm,
}

/// One of [`CODECS`].
#[derive(Clone, Copy)]
enum Way {
    Ours,
    Prost,
    ProstWarm,
    MsgPack,
    Json,
    Raw,
}

#[derive(Clone, Copy)]
enum Message {
    Request,
    Response,
    Credit,
}

#[derive(Default)]
struct Warm {
    request: Proto,
    response: ProtoResponse,
    credit: ProtoCredit,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Proto {
    #[prost(bytes = "vec", tag = "1")]
    session_id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    stream_id: u64,
    #[prost(uint32, tag = "3")]
    deadline_ms: u32,
    #[prost(uint64, tag = "4")]
    window: u64,
    #[prost(bool, tag = "5")]
    repeatable: bool,
    #[prost(bytes = "vec", tag = "6")]
    message: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ProtoResponse {
    #[prost(uint64, tag = "1")]
    stream_id: u64,
    #[prost(uint64, tag = "2")]
    sequence: u64,
    #[prost(uint32, tag = "3")]
    kind: u32,
    #[prost(string, tag = "4")]
    detail: String,
    #[prost(bytes = "vec", tag = "5")]
    payload: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ProtoCredit {
    #[prost(uint64, tag = "1")]
    stream_id: u64,
    #[prost(uint64, tag = "2")]
    messages: u64,
    #[prost(uint64, tag = "3")]
    bytes: u64,
}

/// With the payload as bytes in MessagePack, and as it is in JSON, which has no bytes: the session
/// is a text there.
#[derive(Serialize, Deserialize)]
struct Request<S, P> {
    session_id: S,
    stream_id: u64,
    deadline_ms: u32,
    window: u64,
    repeatable: bool,
    message: P,
}

#[derive(Serialize, Deserialize)]
struct Response<'a, P> {
    stream_id: u64,
    sequence: u64,
    kind: u32,
    detail: &'a str,
    payload: P,
}

#[derive(Serialize, Deserialize)]
struct Sums {
    stream_id: u64,
    messages: u64,
    bytes: u64,
}

impl Codec {
    pub(crate) fn new(name: &str, message: &str) -> Self {
        let ways = [Way::Ours, Way::Prost, Way::ProstWarm, Way::MsgPack, Way::Json, Way::Raw];
        let way = ways[CODECS.iter().position(|known| *known == name).expect("one of them")];
        let (message, length) = match message {
            "request_200" => (Message::Request, 200),
            "request_4k" => (Message::Request, 4096),
            "response" => (Message::Response, 1024),
            "credit" => (Message::Credit, 20),
            _ => panic!("there is no message `{message}`"),
        };
        let json = format!("{{\"text\":\"{}\"}}", "x".repeat(length - 11));
        let json_raw = RawValue::from_string(json.clone()).expect("it is JSON");
        let (out, warm) = (Vec::with_capacity(MOST), Warm::default());
        let mut codec = Self { way, message, json, json_raw, out, written: Vec::new(), warm };
        codec.write();
        codec.written.clone_from(&codec.out);
        codec.read();
        codec
    }

    /// How many bytes it is.
    pub(crate) fn length(&self) -> usize {
        self.written.len()
    }

    pub(crate) fn write(&mut self) {
        self.out.clear();
        match self.way {
            Way::Ours => haft_link::write(&frame(self.message, &self.json), &mut self.out),
            Way::Prost => self.out = self.fresh(),
            Way::ProstWarm => self.proto_into(),
            Way::MsgPack => self.msgpack(),
            Way::Json => self.json(),
            Way::Raw => self.raw(),
        }
        black_box(&self.out);
    }

    pub(crate) fn read(&mut self) {
        let bytes = black_box(self.written.as_slice());
        match self.way {
            Way::Ours => {
                let read = haft_link::read(bytes, MOST).expect("it is a frame");
                assert!(matches!(black_box(&read), Read::Frame { .. }), "it is known");
            }
            Way::Prost => read_fresh(self.message, bytes),
            Way::ProstWarm => self.warm.read(self.message, bytes),
            Way::MsgPack => read_msgpack(self.message, bytes),
            Way::Json => read_json(self.message, bytes),
            Way::Raw => assert!(black_box(raw_parts(self.message, bytes)).is_some(), "it is whole"),
        }
    }

    /// Messages of their own, as whoever sends one makes it, and a buffer of its own.
    fn fresh(&self) -> Vec<u8> {
        use prost::Message as _;
        match self.message {
            Message::Request => self.request().encode_length_delimited_to_vec(),
            Message::Response => self.response().encode_length_delimited_to_vec(),
            Message::Credit => CREDIT.encode_length_delimited_to_vec(),
        }
    }

    fn request(&self) -> Proto {
        Proto {
            session_id: SESSION.to_vec(),
            stream_id: 123_456,
            deadline_ms: 30_000,
            window: 65_536,
            repeatable: true,
            message: self.json.clone().into_bytes(),
        }
    }

    fn response(&self) -> ProtoResponse {
        let payload = self.json.clone().into_bytes();
        ProtoResponse { stream_id: 123_456, sequence: 1, kind: 1, detail: String::new(), payload }
    }

    /// From a message that is there.
    fn proto_into(&mut self) {
        use prost::Message as _;
        if self.written.is_empty() {
            self.warm = Warm { request: self.request(), response: self.response(), credit: CREDIT };
        }
        let (out, warm) = (&mut self.out, &self.warm);
        let encoded = match self.message {
            Message::Request => warm.request.encode_length_delimited(out),
            Message::Response => warm.response.encode_length_delimited(out),
            Message::Credit => warm.credit.encode_length_delimited(out),
        };
        encoded.expect("a buffer grows");
    }

    fn msgpack(&mut self) {
        use serde_bytes::Bytes;
        let (out, payload) = (&mut self.out, Bytes::new(self.json.as_bytes()));
        let written = match self.message {
            Message::Request => {
                rmp_serde::encode::write(out, &request_of(Bytes::new(&SESSION), payload))
            }
            Message::Response => rmp_serde::encode::write(out, &response_of(payload)),
            Message::Credit => rmp_serde::encode::write(out, &SUMS),
        };
        written.expect("a buffer grows");
    }

    fn json(&mut self) {
        let (out, payload) = (&mut self.out, &*self.json_raw);
        let written = match self.message {
            Message::Request => serde_json::to_writer(out, &request_of(SESSION_TEXT, payload)),
            Message::Response => serde_json::to_writer(out, &response_of(payload)),
            Message::Credit => serde_json::to_writer(out, &SUMS),
        };
        written.expect("a buffer grows");
    }

    /// Four bytes of length, one of kind, and all fields in places of their own.
    fn raw(&mut self) {
        let (out, payload) = (&mut self.out, self.json.as_bytes());
        out.extend_from_slice(&[0; 4]);
        match self.message {
            Message::Request => {
                out.push(4);
                out.extend_from_slice(&SESSION);
                out.extend_from_slice(&123_456_u64.to_le_bytes());
                out.extend_from_slice(&30_000_u32.to_le_bytes());
                out.extend_from_slice(&65_536_u64.to_le_bytes());
                out.push(1);
                out.extend_from_slice(payload);
            }
            Message::Response => {
                out.push(5);
                out.extend_from_slice(&123_456_u64.to_le_bytes());
                out.extend_from_slice(&1_u64.to_le_bytes());
                out.push(1);
                out.extend_from_slice(&0_u32.to_le_bytes());
                out.extend_from_slice(payload);
            }
            Message::Credit => {
                out.push(6);
                for sum in [123_456_u64, 40, 1_000_000] {
                    out.extend_from_slice(&sum.to_le_bytes());
                }
            }
        }
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_le_bytes());
    }
}

fn frame(message: Message, json: &str) -> Frame<'_> {
    let (stream_id, payload) = (123_456, json.as_bytes());
    match message {
        Message::Request => Frame::from(ExecuteRequest {
            session_id: &SESSION,
            stream_id,
            deadline_ms: 30_000,
            window: 65_536,
            repeatable: true,
            message: payload,
            messages: 0,
        }),
        Message::Response => {
            let (sequence, kind, detail) = (1, Kind::End, "");
            Frame::from(StreamResponse { stream_id, sequence, kind, detail, payload, total: 0 })
        }
        Message::Credit => Frame::from(Credit { stream_id, messages: 40, bytes: 1_000_000 }),
    }
}

const SESSION_TEXT: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const CREDIT: ProtoCredit = ProtoCredit { stream_id: 123_456, messages: 40, bytes: 1_000_000 };
const SUMS: Sums = Sums { stream_id: 123_456, messages: 40, bytes: 1_000_000 };

fn request_of<S, P>(session_id: S, message: P) -> Request<S, P> {
    let (stream_id, deadline_ms, window, repeatable) = (123_456, 30_000, 65_536, true);
    Request { session_id, stream_id, deadline_ms, window, repeatable, message }
}

const fn response_of<P>(payload: P) -> Response<'static, P> {
    Response { stream_id: 123_456, sequence: 1, kind: 1, detail: "", payload }
}

impl Warm {
    fn read(&mut self, message: Message, bytes: &[u8]) {
        use prost::Message as _;
        let read = match message {
            Message::Request => {
                self.request.clear();
                self.request.merge_length_delimited(bytes)
            }
            Message::Response => {
                self.response.clear();
                self.response.merge_length_delimited(bytes)
            }
            Message::Credit => {
                self.credit.clear();
                self.credit.merge_length_delimited(bytes)
            }
        };
        read.expect("it is a message");
        black_box((&self.request, &self.response, &self.credit));
    }
}

fn read_fresh(message: Message, bytes: &[u8]) {
    use prost::Message as _;
    match message {
        Message::Request => {
            black_box(&Proto::decode_length_delimited(bytes).expect("it is a message"));
        }
        Message::Response => {
            black_box(&ProtoResponse::decode_length_delimited(bytes).expect("it is a message"));
        }
        Message::Credit => {
            black_box(&ProtoCredit::decode_length_delimited(bytes).expect("it is a message"));
        }
    }
}

fn read_msgpack(message: Message, bytes: &[u8]) {
    use serde_bytes::Bytes;
    match message {
        Message::Request => {
            let read: Request<&Bytes, &Bytes> =
                rmp_serde::from_slice(bytes).expect("it is a message");
            black_box(&read);
        }
        Message::Response => {
            let read: Response<'_, &Bytes> = rmp_serde::from_slice(bytes).expect("a message");
            black_box(&read);
        }
        Message::Credit => {
            black_box(&rmp_serde::from_slice::<Sums>(bytes).expect("it is a message"));
        }
    }
}

fn read_json(message: Message, bytes: &[u8]) {
    match message {
        Message::Request => {
            let read: Request<&str, &RawValue> =
                serde_json::from_slice(bytes).expect("it is a message");
            black_box(&read);
        }
        Message::Response => {
            let read: Response<'_, &RawValue> = serde_json::from_slice(bytes).expect("a message");
            black_box(&read);
        }
        Message::Credit => {
            black_box(&serde_json::from_slice::<Sums>(bytes).expect("it is a message"));
        }
    }
}

/// Its numbers added up, its text and its payload.
fn raw_parts(message: Message, bytes: &[u8]) -> Option<(u64, &str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let rest = rest.get(..u32::from_le_bytes(*length) as usize)?.get(1..)?;
    let long = |at: usize| Some(u64::from_le_bytes(*rest.get(at..)?.first_chunk::<8>()?));
    let short = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk::<4>()?));
    let (sum, text_at) = match message {
        Message::Request => {
            let sum = long(16)? ^ u64::from(short(24)?) ^ long(28)? ^ u64::from(*rest.get(36)?);
            return Some((sum, "", rest.get(37..)?));
        }
        Message::Response => (long(0)? ^ long(8)? ^ u64::from(*rest.get(16)?), 17),
        Message::Credit => return Some((long(0)? ^ long(8)? ^ long(16)?, "", &[])),
    };
    let end = text_at + 4 + short(text_at)? as usize;
    let text = std::str::from_utf8(rest.get(text_at + 4..end)?).ok()?;
    Some((sum, text, rest.get(end..)?))
}
