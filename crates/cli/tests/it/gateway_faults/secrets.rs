//! What a file gives an upstream for itself alone is not in what is told of it, though it says it.

use super::bed::{Bed, wait_until};
use serde_json::json;

const SECRET: &str = "s3cret-value";

fn reason(bed: &Bed) -> String {
    bed.see("upstreams")[0]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_variable_is_not_in_what_its_process_says() {
    let script = "echo \"error: no access with <$API_KEY>\" >&2; exit 3";
    let bed = Bed::of(&json!({ "command": ["sh", "-c", script] }), None);
    bed.edit(|bad| bad["env"]["API_KEY"] = json!(SECRET));
    bed.gate.told(&["error: no access with <***>"]);
    assert!(wait_until(|| reason(&bed).contains("<***>")), "{}", reason(&bed));
    let said = bed.gate.said.lock().expect("free").join("\n");
    assert!(!said.contains(SECRET), "{said}");
    bed.stop().expect("an orderly end");
}

#[test]
fn a_header_is_not_in_what_is_told_of_a_page() {
    let page = format!("initialize send bad token {SECRET} of you");
    let bed = Bed::far(&["initialize status 500", &page]);
    assert!(wait_until(|| reason(&bed).contains(SECRET)), "{}", reason(&bed));
    bed.edit(|bad| bad["headers"] = json!({ "authorization": format!("Bearer {SECRET}") }));
    assert!(wait_until(|| reason(&bed).contains("bad token *** of")), "{}", reason(&bed));
    bed.stop().expect("an orderly end");
}
