//! Which era a message belongs to, and which requests are let in.

use haft_proto::admit::{era_of, legacy_request, modern_request};
use haft_proto::envelope::{self, Incoming};
use haft_proto::limits::Limits;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};

const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize",
    "params":{"protocolVersion":"2025-06-18"}}"#;

/// What a message is admitted as: method and revision, or a code.
fn admitted(text: &str, agreed: Option<Revision>) -> Result<(Method, Revision), i32> {
    let Ok(Incoming::One(message)) = envelope::read(text.as_bytes(), &Limits::default()) else {
        panic!("a test sends messages: {text}")
    };
    let admitted = match era_of(&message, None) {
        Era::Modern => modern_request(&message, None),
        Era::Legacy => legacy_request(&message, agreed),
    };
    admitted.map(|it| (it.method, it.revision)).map_err(|refusal| refusal.mistake.code())
}

#[test]
fn neither_the_header_nor_the_meta_alone_says_the_era() {
    let era = |text: &str, header| {
        let Ok(Incoming::One(message)) = envelope::read(text.as_bytes(), &Limits::default()) else {
            panic!("a test sends messages: {text}")
        };
        era_of(&message, header)
    };
    assert_eq!(era(MODERN, None), Era::Modern);
    assert_eq!(era(MODERN, Some("2025-11-25")), Era::Modern);
    assert_eq!(era(INITIALIZE, None), Era::Legacy);
    assert_eq!(era(INITIALIZE, Some("2025-11-25")), Era::Legacy);
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#;
    assert_eq!(era(bare, Some("2026-07-28")), Era::Modern);
    assert_eq!(era(bare, Some("v999.0.0")), Era::Modern);
    assert_eq!(era(bare, None), Era::Legacy);
}

#[test]
fn a_modern_request_needs_nothing_but_itself() {
    assert_eq!(admitted(MODERN, None), Ok((Method::ToolsList, Revision::LATEST)));
    let level = MODERN.replace("\"_meta\":{", "\"_meta\":{\"io.modelcontextprotocol/logLevel\":1,");
    assert_eq!(admitted(&level, None), Err(-32602));
    assert_eq!(admitted(&MODERN.replace("2026-07-28", "2025-11-25"), None), Err(-32022));
    assert_eq!(admitted(&MODERN.replace("tools/list", "initialize"), None), Err(-32601));
    let no_capabilities = MODERN.replace("Capabilities\":{}", "Capabilities\":[]");
    assert_eq!(admitted(&no_capabilities, None), Err(-32602));
}

#[test]
fn a_legacy_request_speaks_what_initialize_agreed_on() {
    let old = Revision::parse("2025-06-18");
    assert_eq!(admitted(INITIALIZE, None), Ok((Method::Initialize, old.expect("a revision"))));
    assert_eq!(admitted(&INITIALIZE.replace("\"2025-06-18\"", "7"), None), Err(-32602));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(admitted(list, None), Err(-32600));
    assert_eq!(admitted(list, old), Ok((Method::ToolsList, old.expect("a revision"))));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert!(admitted(ping, None).is_ok(), "a ping is answered at any time");
    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    assert_eq!(admitted(discover, old), Err(-32601));
    let of_the_server = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#;
    assert_eq!(admitted(of_the_server, old), Err(-32601));
}
