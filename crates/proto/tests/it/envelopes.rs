//! What is read of a message, whatever the order of its keys.

use haft_proto::envelope::{self, Envelope, Incoming, Kind};
use haft_proto::error::{Malformed, Mistake};
use haft_proto::limits::Limits;
use proptest::prelude::*;

fn read(text: &str) -> Envelope<'_> {
    match envelope::read(text.as_bytes(), &Limits::default()) {
        Ok(Incoming::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

/// Why a message is refused, and the id that it is answered to.
fn rejection(text: &str) -> (Malformed, Option<String>) {
    let rejected = envelope::read(text.as_bytes(), &Limits::default()).expect_err("it is broken");
    (rejected.reason, rejected.id.map(|id| id.raw().to_owned()))
}

const META: [&str; 5] = [
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
    r#""io.modelcontextprotocol/clientCapabilities": {"a":[1,2]}"#,
    r#""io.modelcontextprotocol/logLevel":"info""#,
    r#""progressToken":7"#,
    r#""com.example/other":{"progressToken":8}"#,
];

proptest! {
    #[test]
    fn every_part_is_found_in_any_order(
        meta in Just(META.to_vec()).prop_shuffle(),
        params in Just(vec![r#""name":"n""#, r#""arguments" : {"name":"inner"}"#, r#""uri":"u""#,
            r#""cursor":"""#, "META"]).prop_shuffle(),
        top in Just(vec![r#""jsonrpc":"2.0""#, r#""id":"i-1""#, r#""method":"tools/call""#,
            "PARAMS", r#""else":{"id":9,"method":"x"}"#]).prop_shuffle(),
    ) {
        let meta = format!("{{{}}}", meta.join(","));
        let params = format!("{{{}}}", params.join(" , "))
            .replace("META", &format!("\"_meta\":{meta}"));
        let text = format!("{{{}}}", top.join(",\n"))
            .replace("PARAMS", &format!("\"params\":{params}"));
        let message = read(&text);
        prop_assert_eq!(message.kind, Kind::Request);
        prop_assert_eq!(message.id.map(|id| id.raw()), Some("\"i-1\""));
        prop_assert_eq!(message.method.map(|method| method.decode().into_owned()),
            Some("tools/call".to_owned()));
        let found = &message.params;
        prop_assert_eq!(found.raw, Some(params.as_str()));
        prop_assert_eq!(found.name, Some("\"n\""));
        prop_assert_eq!(found.arguments, Some(r#"{"name":"inner"}"#));
        prop_assert_eq!(found.uri, Some("\"u\""));
        prop_assert_eq!(found.cursor, Some("\"\""));
        prop_assert_eq!(found.meta.raw, Some(meta.as_str()));
        prop_assert_eq!(found.meta.protocol_version, Some("\"2026-07-28\""));
        prop_assert_eq!(found.meta.client_capabilities, Some(r#"{"a":[1,2]}"#));
        prop_assert_eq!(found.meta.log_level, Some("\"info\""));
        prop_assert_eq!(found.meta.progress_token, Some("7"));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = envelope::read(&bytes, &Limits::default());
    }
}

#[test]
fn the_four_kinds_are_told_apart() {
    assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).kind, Kind::Request);
    assert_eq!(read(r#"{"jsonrpc":"2.0","method":"m"}"#).kind, Kind::Notification);
    assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).kind, Kind::Response);
    assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#).kind, Kind::Error);
    let unreadable = read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#);
    assert_eq!((unreadable.kind, unreadable.id), (Kind::Error, None));
}

#[test]
fn a_mistake_of_meaning_keeps_the_id_wherever_it_stands() {
    let cases = [
        (r#"{"method":7,"jsonrpc":"2.0","id":3}"#, Some("3")),
        (r#"{"params":[],"jsonrpc":"2.0","method":"m","id":"x"}"#, Some("\"x\"")),
        (r#"{"jsonrpc":"1.0","id":4,"method":"m"}"#, Some("4")),
        (r#"{"jsonrpc":"2.0","id":4,"params":{"name":1,"name":2},"method":"m"}"#, Some("4")),
        (r#"{"jsonrpc":"2.0","id":4,"#, None),
        (r#"{"jsonrpc":"2.0","method":"m","params":{"a":NaN},"id":"x"}"#, Some("\"x\"")),
    ];
    for (text, id) in cases {
        assert_eq!(rejection(text).1.as_deref(), id, "{text}");
    }
}

#[test]
fn ids_are_strings_or_integers_within_their_length() {
    for id in ["0", "-7", "9007199254740993", "\"\"", "\"\\u0041\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        assert_eq!(read(&text).id.map(|id| id.raw()), Some(id), "an id keeps its bytes");
    }
    for id in ["null", "true", "1.0", "1e3", "[]", "{}"] {
        let (reason, _) = rejection(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#));
        assert_eq!(reason.mistake(), Mistake::InvalidRequest, "{id}");
    }
    let long = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"m"}}"#, "1".repeat(257));
    assert_eq!(rejection(&long).0, Malformed::IdTooLong { limit: 256 });
}

#[test]
fn every_limit_of_a_message_holds() {
    let limits = Limits { message_bytes: 60, depth: 3, batch_messages: 2, ..Limits::default() };
    let reason =
        |text: &str| envelope::read(text.as_bytes(), &limits).err().map(|rejected| rejected.reason);
    let fits = r#"{"jsonrpc":"2.0","method":"m","params":{"a":[1]}}"#;
    assert_eq!(reason(fits), None);
    assert_eq!(reason(&format!("{fits:61}")), Some(Malformed::MessageTooLong { limit: 60 }));
    let deep = fits.replace("[1]", "[[]]");
    assert_eq!(reason(&deep), Some(Malformed::TooDeep { limit: 3 }));
    assert_eq!(reason("[1,2]"), None);
    assert_eq!(reason("[1,2,3]"), Some(Malformed::BatchTooLong { limit: 2 }));
}

#[test]
fn a_batch_keeps_its_good_messages_beside_its_bad_ones() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"m"},5,{"id":2}]"#;
    let Ok(Incoming::Batch(messages)) = envelope::read(text.as_bytes(), &Limits::default()) else {
        panic!("it is a batch")
    };
    let ids: Vec<_> = messages
        .iter()
        .map(|message| match message {
            Ok(message) => message.id.map(|id| id.raw()),
            Err(rejected) => rejected.id.map(|id| id.raw()),
        })
        .collect();
    assert_eq!(ids, [Some("1"), None, Some("2")]);
    assert!(messages[0].is_ok() && messages[1].is_err() && messages[2].is_err());
}

#[test]
fn null_stands_for_what_is_not_there() {
    let request = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#)
    };
    let modern = "io.modelcontextprotocol";
    for params in [
        "null".to_owned(),
        "\"\"".to_owned(),
        r#"{"arguments":"","inputResponses":""}"#.to_owned(),
        r#"{"_meta":""}"#.to_owned(),
        r#"{"cursor":null}"#.to_owned(),
        r#"{"arguments": null ,"name":null,"uri":null,"taskId":null}"#.to_owned(),
        r#"{"requestState":null,"inputResponses":null,"progressToken":null}"#.to_owned(),
        r#"{"_meta":null}"#.to_owned(),
        r#"{"_meta":{"progressToken":null}}"#.to_owned(),
        format!(r#"{{"_meta":{{"{modern}/logLevel":null,"{modern}/protocolVersion":null}}}}"#),
    ] {
        let text = request(&params);
        let mut message = read(&text);
        message.params.raw = None;
        message.params.meta.raw = None;
        assert_eq!(message.params, read(BARE).params, "{params}");
    }
    for params in ["[]", "\" \"", "0", "false", r#"{"_meta":[]}"#, r#"{"_meta":" "}"#] {
        assert_eq!(rejection(&request(params)).1.as_deref(), Some("1"), "{params}");
    }
    for (text, kind) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, Kind::Response),
        (r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{}}"#, Kind::Error),
        (r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, Kind::Response),
    ] {
        assert_eq!(read(text).kind, kind, "{text}");
    }
}

const BARE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn a_byte_order_mark_before_a_message_is_skipped() {
    let batch = format!("\u{feff}[{BARE}]");
    let read_batch = envelope::read(batch.as_bytes(), &Limits::default());
    assert!(matches!(read_batch, Ok(Incoming::Batch(all)) if all.len() == 1));
    for before in ["\u{feff}", "\u{feff} \t"] {
        assert_eq!(read(&format!("{before}{BARE}")), read(BARE), "{before:?}");
    }
    for text in ["\u{feff}", " \u{feff}{}", "\u{feff}\u{feff}{}"] {
        assert_eq!(rejection(text).1, None, "{text:?}");
    }
}
