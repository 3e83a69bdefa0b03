//! Frames as they come: in pieces, with what nobody knows between them, and broken.

use haft_link::limits::{ACKED_MAX, PEERS_MAX};
use haft_link::{
    Ack, Credit, ExecuteRequest, Frame, Kind, Malformed, Ping, Read, StreamResponse, Welcome, read,
    write,
};
use proptest::prelude::*;

const MOST: usize = 64 * 1024;

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(frame, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        session_id: [u8; 16], stream_id: u64, deadline_ms: u32, window: u64, repeatable: bool,
        message in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let frame = Frame::from(ExecuteRequest {
            session_id: &session_id, stream_id, deadline_ms, window, repeatable,
            message: &message, messages: window / 7,
        });
        let bytes = written(&frame);
        let expected = Read::Frame { frame: frame.clone(), length: bytes.len() };
        prop_assert_eq!(read(&bytes, MOST), Ok(expected));
        // However much of it is there, as much as is said to be missing is missing.
        for end in 0..bytes.len() {
            match read(&bytes[..end], MOST) {
                Ok(Read::More { needed }) => prop_assert!(end < needed && needed <= bytes.len()),
                other => prop_assert!(false, "{end}: {other:?}"),
            }
        }
    }

    #[test]
    fn any_bytes_are_a_frame_or_a_mistake(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        match read(&bytes, 100) {
            Ok(Read::Frame { frame, length }) => {
                prop_assert!(length <= bytes.len());
                let again = written(&frame);
                let Ok(Read::Frame { frame: twice, .. }) = read(&again, MOST) else {
                    return Err(TestCaseError::fail("it is not read again"));
                };
                prop_assert_eq!(twice, frame);
            }
            Ok(Read::Unknown { length }) => prop_assert!(0 < length && length <= bytes.len()),
            Ok(Read::More { needed }) => {
                prop_assert!(needed > bytes.len() && needed < bytes.len() + 112);
            }
            Err(_) => {}
        }
    }

    #[test]
    fn ids_that_have_arrived_are_read_in_their_order(
        ids in proptest::collection::vec(any::<u64>(), 0..ACKED_MAX)
    ) {
        let bytes = written(&Ack { stream_ids: ids[..].into() }.into());
        let Ok(Read::Frame { frame: Frame::Ack(ack), .. }) = read(&bytes, MOST) else {
            return Err(TestCaseError::fail("no frame"));
        };
        prop_assert_eq!(ack.stream_ids.iter().collect::<Vec<_>>(), ids);
    }
}

#[test]
fn a_frame_that_claims_4_gib_is_refused_before_it_comes() {
    let head = [0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let expected = Malformed::FrameTooLong { bytes: u64::from(u32::MAX), most: MOST };
    assert_eq!(read(&head, MOST), Err(expected));
}

#[test]
fn messages_and_fields_of_a_later_version_are_passed_over() {
    // Field 16 of a stream, and a number where a message would be.
    assert_eq!(read(&[0x82, 0x01, 2, 1, 2, 9], MOST), Ok(Read::Unknown { length: 5 }));
    assert_eq!(read(&[0x08, 0x96, 0x01, 9], MOST), Ok(Read::Unknown { length: 3 }));
    // Ping with fields 9 (a text), 10 (eight bytes), 11 (four) and 12 (a number).
    let more = [0x4a, 1, b'x', 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x5d, 1, 2, 3, 4, 0x60, 5];
    let mut bytes = vec![0x52, 2 + more.len() as u8, 8, 7];
    bytes.extend_from_slice(&more);
    let expected = Read::Frame { frame: Ping { nonce: 7 }.into(), length: bytes.len() };
    assert_eq!(read(&bytes, MOST), Ok(expected));
    let later = written(&StreamResponse { kind: Kind::Other(99), ..Default::default() }.into());
    let Ok(Read::Frame { frame: Frame::StreamResponse(said), .. }) = read(&later, MOST) else {
        panic!("a response")
    };
    assert_eq!(said.kind, Kind::Other(99));
}

#[test]
fn known_fields_are_checked() {
    for (body, expected) in [
        // A nonce that is a text.
        (
            &[0x52, 3, 0x0a, 1, b'x'][..],
            Malformed::OtherType { message: "Ping", field: 1, wire: 2 },
        ),
        // A text that is no text.
        (&[0x4a, 3, 0x12, 1, 0xff], Malformed::NotUtf8 { message: "Cancel", field: 2 }),
        // 33 bits in a field of 32.
        (
            &[0x6a, 6, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10],
            Malformed::NumberTooLarge { message: "Close", field: 1 },
        ),
        // Eleven bytes.
        (
            &[0x52, 12, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            Malformed::NumberTooLong,
        ),
        // A text that is longer than its message.
        (&[0x4a, 3, 0x12, 9, b'x'], Malformed::CutShort),
        // Field 0, and a group.
        (&[0x52, 2, 0x00, 1], Malformed::NoField),
        (&[0x52, 1, 0x4b], Malformed::NoField),
    ] {
        assert_eq!(read(body, MOST), Err(expected), "{body:?}");
    }
}

#[test]
fn lists_have_their_limits() {
    let peers = vec!["a"; PEERS_MAX];
    let welcome = Welcome { peers, ..Default::default() };
    assert!(matches!(read(&written(&welcome.clone().into()), MOST), Ok(Read::Frame { .. })));
    let mut more = welcome;
    more.peers.push("a");
    let expected = Malformed::TooMany { message: "Welcome", field: 4, most: PEERS_MAX };
    assert_eq!(read(&written(&more.into()), MOST), Err(expected));
    let ids = vec![1; ACKED_MAX + 1];
    let expected = Malformed::TooMany { message: "Ack", field: 1, most: ACKED_MAX };
    assert_eq!(read(&written(&Ack { stream_ids: ids[..].into() }.into()), MOST), Err(expected));
    let ack = Ack { stream_ids: ids[1..].into() }.into();
    assert!(matches!(read(&written(&ack), MOST), Ok(Read::Frame { .. })));
}

#[test]
fn what_is_not_written_is_as_it_is_by_default() {
    assert_eq!(written(&Credit::default().into()), [0x32, 0]);
    let expected = Read::Frame { frame: Credit::default().into(), length: 2 };
    assert_eq!(read(&[0x32, 0], MOST), Ok(expected));
}
