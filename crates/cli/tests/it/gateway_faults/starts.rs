//! The first moments of a gateway: who waits for an upstream that is slow, and who does not.

use super::bed::{Bed, ask, wait_until};
use serde_json::json;
use std::time::Duration;

/// How long a client may wait who asks for nothing of a slow upstream.
const AT_ONCE: Duration = Duration::from_secs(3);

#[test]
fn a_slow_upstream_holds_up_no_client_of_another() {
    let bed = Bed::piped_with(&["start wait 8000"], &json!({ "timeout": "30s" }));
    let answer = bed.call("good_try");
    assert_eq!(answer.said(), "tried");
    assert!(answer.took < AT_ONCE, "{answer:?}");
    // A list waits, but not for as long as that.
    assert_eq!(bed.tools(), ["good_try"]);
    assert!(bed.call("bad_try").said().contains("`bad`: it has not said yet what it has"));
    bed.gate.told(&["waiting for the upstreams: bad"]);
    assert!(wait_until(|| bed.tools() == ["bad_try", "good_try"]));
    bed.stop().expect("an orderly end");
}

#[test]
fn what_is_asked_of_an_upstream_that_begins_waits_for_it() {
    let bed = Bed::piped_with(&["start wait 1500"], &json!({ "timeout": "30s" }));
    assert_eq!(bed.call("bad_try").said(), "tried");
    let bed = Bed::piped_with(&["start wait 1500"], &json!({ "timeout": "30s" }));
    assert_eq!(bed.tools(), ["bad_try", "good_try"]);
    let unknown = bed.call("nobody_try");
    assert!(unknown.said().contains("Unknown tool"), "{unknown:?}");
    bed.stop().expect("an orderly end");
}

#[test]
fn headers_wait_with_what_is_asked() {
    let rules = [
        "start wait 1500",
        r#"tools/list send {"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"try",
        "inputSchema":{"type":"object","properties":{"region":{"type":"string",
        "x-mcp-header":"Region"}}}}]}}"#,
    ];
    let rules = rules.map(|rule| rule.replace('\n', " "));
    for (region, code) in [("south", -32020), ("north", 0)] {
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let bed = Bed::piped_with(&rules, &json!({ "timeout": "30s" }));
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let arguments = json!({ "region": "north" });
        let params = json!({ "name": "bad_try", "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = format!(
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: bad_try\r\n\
             mcp-param-region: {region}\r\n"
        );
        let told = ask(&bed.gate.url, &headers, &call.to_string());
        let refused = told.contains(&format!("\"code\":{code}"));
        assert_eq!((refused, told.contains("tried")), (code != 0, code == 0), "{told}");
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn an_order_to_end_is_followed_politely_while_upstreams_begin() {
    let desk = crate::desk::Desk::with("");
    let (begun, ended) = (desk.path("begun"), desk.path("ended"));
    let script = format!("touch {begun:?}; while read line; do :; done; touch {ended:?}");
    let command = json!(["sh", "-c", script]);
    let bed = Bed::of(&json!({ "command": command, "timeout": "30s" }), None);
    assert!(wait_until(|| begun.exists()));
    let took = bed.stop().expect("an orderly end");
    assert!(took < AT_ONCE, "{took:?}");
    assert!(ended.exists(), "it was not told to end");
}
