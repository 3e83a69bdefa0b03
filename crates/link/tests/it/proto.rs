//! `link.proto` and the table in `message.rs` say the same: what one writes, a reader made of the
//! other reads, field by field, and the other way round.

use haft_link::{
    Ack, Cancel, Close, Credit, Drain, ExecuteRequest, Frame, Hello, Join, Joined, Kind, Ping,
    Pong, Read, Register, Resume, StreamResponse, Welcome, read, write,
};
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, ReflectMessage, Value};

const IDS: [u64; 3] = [1, 300, u64::MAX];

/// One of each, in the order of their numbers, with something in every field.
fn all() -> Vec<Frame<'static>> {
    vec![
        Hello {
            version: 1,
            agent: "plant-7",
            software: "haft 0.1.0",
            session_id: &[7; 16],
            keeps_ms: 60_000,
            expects: "gw-1",
        }
        .into(),
        Welcome {
            version: 1,
            gateway: "gw-1",
            epoch: 1 << 40,
            peers: vec!["10.0.0.1:7443", "[::1]:7443"],
            goes_on: true,
            software: "haft 0.1.0",
            messages: 1 << 14,
            bytes: 1 << 24,
        }
        .into(),
        Register { slots: 64 }.into(),
        ExecuteRequest {
            session_id: &[7; 16],
            stream_id: 1 << 33,
            deadline_ms: 30_000,
            window: 262_144,
            repeatable: true,
            message: br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            messages: 1024,
        }
        .into(),
        StreamResponse {
            stream_id: 5,
            sequence: 2,
            kind: Kind::Notice,
            detail: "as asked",
            payload: b"{}",
            total: 70_000,
        }
        .into(),
        Credit { stream_id: 5, messages: 10, bytes: u64::MAX }.into(),
        Ack { stream_ids: IDS[..].into() }.into(),
        Resume { session_id: &[7; 16], stream_id: 5, received: 2, window: 1000, messages: 9 }
            .into(),
        Cancel { stream_id: 5, reason: "nobody waits" }.into(),
        Ping { nonce: 128 }.into(),
        Pong { nonce: 127 }.into(),
        Drain { reason: "it stops" }.into(),
        Close { code: 3, reason: "revoked" }.into(),
        Join { token: "t", agent: "plant-7", request: &[48, 0] }.into(),
        Joined { certificate: &[48, 1], authority: &[48, 2], expires: 2_000_000_000 }.into(),
    ]
}

fn stream() -> MessageDescriptor {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/link.proto");
    let files = protox::compile([file], [env!("CARGO_MANIFEST_DIR")]).expect("it compiles");
    let pool = DescriptorPool::from_file_descriptor_set(files).expect("it is whole");
    pool.get_message_by_name("haft.link.v1.Stream").expect("it is there")
}

#[test]
fn a_reader_of_the_file_reads_every_field_that_is_written() {
    let mut bytes = Vec::new();
    all().iter().for_each(|frame| write(frame, &mut bytes));
    let message = DynamicMessage::decode(stream(), &bytes[..]).expect("a stream");
    assert_eq!(message.unknown_fields().count(), 0);
    let mut fields: Vec<_> = stream().fields().collect();
    fields.sort_by_key(prost_reflect::FieldDescriptor::number);
    assert_eq!(fields.len(), all().len());
    for (frame, field) in all().iter().zip(&fields) {
        let Value::List(said) = message.get_field(field).into_owned() else { panic!("a list") };
        let said = said[0].as_message().expect("a message");
        assert_eq!(said.descriptor().name(), frame.name());
        assert_eq!(said.unknown_fields().count(), 0, "{}", frame.name());
        for field in said.descriptor().fields() {
            assert!(said.has_field(&field), "{} of {}", field.name(), frame.name());
        }
    }
}

#[test]
fn what_a_writer_of_the_file_writes_is_read_as_it_was_meant() {
    let mut ours = Vec::new();
    all().iter().for_each(|frame| write(frame, &mut ours));
    let theirs = DynamicMessage::decode(stream(), &ours[..]).expect("a stream").encode_to_vec();
    let mut rest = &theirs[..];
    for expected in all() {
        let Ok(Read::Frame { frame, length }) = read(rest, 1 << 20) else { panic!("a frame") };
        assert_eq!(frame, expected);
        rest = &rest[length..];
    }
    assert!(rest.is_empty());
}

#[test]
fn names_in_json_are_those_of_the_file() {
    for field in stream().fields() {
        let message = field.kind().as_message().cloned().expect("a message");
        for field in message.fields() {
            let mut words = field.name().split('_');
            let first = words.next().unwrap_or_default().to_owned();
            let camel =
                words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..]);
            assert_eq!(field.json_name(), camel, "{}", message.name());
        }
    }
}

#[test]
fn kinds_have_the_numbers_of_the_file() {
    let response = stream().parent_pool().get_message_by_name("haft.link.v1.StreamResponse");
    let kind = response.expect("it is there").get_field_by_name("kind").expect("it is there");
    let kind = kind.kind().as_enum().cloned().expect("an enumeration");
    for value in kind.values() {
        let name: String = value
            .name()
            .split('_')
            .map(|word| word[..1].to_owned() + &word[1..].to_lowercase())
            .collect();
        let number = value.number() as u32;
        let mut bytes = vec![0x2a, 2, 0x18, number as u8];
        if number == 0 {
            bytes = vec![0x2a, 0];
        }
        let Ok(Read::Frame { frame: Frame::StreamResponse(said), .. }) = read(&bytes, 64) else {
            panic!("a response")
        };
        assert_eq!(format!("{:?}", said.kind), name);
    }
}
