//! Clients that read the same at the same time: the upstream is asked once, and each is answered.

use super::bed::{Bed, DEADLINE, address, pause, read_request, wait_until};
use super::entries::HAS_ALL;
use haft_client::{Change, Interest, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use tokio::time::timeout;

const RESOURCES: &str = r#"resources/list send {"jsonrpc":"2.0","id":$id,"result":{
    "resources":[{"uri":"bad:one","name":"one"},{"uri":"bad:two","name":"two"}]}}"#;
/// What is read has another number each time.
const READ: &str = r#"resources/read send {"jsonrpc":"2.0","id":$id,"result":{
    "contents":[{"uri":"bad:one","text":"$n"}]}}"#;

fn bed(rules: &[&str]) -> Bed {
    let rules: Vec<String> = [&[HAS_ALL, RESOURCES], rules]
        .concat()
        .iter()
        .map(|rule| rule.replace('\n', " "))
        .collect();
    let bed = Bed::far(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(wait_until(|| bed.see("upstreams")[0]["state"] == "ready"));
    bed
}

/// What is read at once, each in its own connection.
fn read_all(bed: &Bed, uris: &[&str]) -> Vec<String> {
    thread::scope(|scope| {
        let read = |uri| bed.read(uri).message["result"]["contents"][0]["text"].to_string();
        let reading: Vec<_> = uris.iter().map(|uri| scope.spawn(move || read(uri))).collect();
        reading.into_iter().map(|reading| reading.join().expect("an answer")).collect()
    })
}

#[test]
fn what_is_read_by_many_at_once_is_read_once() {
    let bed = bed(&["resources/read wait 700", READ]);
    let first = read_all(&bed, &["bad:one"; 6]);
    assert!(first.iter().all(|text| *text == first[0] && text != "null"), "{first:?}");
    assert_eq!(bed.see("upstreams")[0]["joined"], 5);
    // What is over is over, and other things are other things.
    let then = read_all(&bed, &["bad:one", "bad:two"]);
    assert!(then[0] != first[0] && then[0] != then[1] && then[1] != first[0], "{then:?}");
    assert_eq!(bed.see("upstreams")[0]["joined"], 5);
    bed.stop().expect("an orderly end");
}

#[test]
fn how_long_what_is_read_may_be_kept_is_for_the_client() {
    let kept = READ.replace(r#""contents""#, r#""ttlMs":60000,"cacheScope":"public","contents""#);
    for (rule, ttl_ms, scope) in [(&*kept, 60_000, "public"), (READ, 0, "private")] {
        let bed = bed(&[rule]);
        for number in ["1", "2"] {
            let result = &bed.read("bad:one").message["result"];
            assert_eq!(result["contents"][0]["text"], number, "it is asked again");
            assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl_ms), &json!(scope)));
        }
        bed.stop().expect("an orderly end");
    }
}

#[test]
fn who_goes_takes_nobody_elses_answer_away() {
    let bed = bed(&["resources/read wait 800", READ]);
    let mut gone = TcpStream::connect(address(&bed.gate.url)).expect("it listens");
    let request = read_request(&bed.gate.url, "bad:one");
    gone.write_all(request.as_bytes()).expect("it reads");
    assert!(wait_until(|| bed.see("upstreams")[0]["running"] == 1));
    let other = thread::scope(|scope| {
        let other = scope.spawn(|| read_all(&bed, &["bad:one"]));
        (0..15).for_each(|_| pause());
        drop(gone);
        other.join().expect("an answer")
    });
    assert_eq!(other, ["\"1\""], "it is the answer that was waited for");
    bed.stop().expect("an orderly end");
}

#[test]
fn what_is_read_after_a_change_is_no_answer_of_before() {
    // The first who reads is answered late, with what was before the change.
    let updated = r#"send {"jsonrpc":"2.0","method":"notifications/resources/updated",
        "params":{"uri":"bad:one"}}"#;
    let rules = [
        &HAS_ALL.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#),
        RESOURCES,
        r#"resources/subscribe send {"jsonrpc":"2.0","id":$id,"result":{}}"#,
        &format!("resources/subscribe {updated}"),
        &format!("resources/read {updated}"),
        "resources/read wait 1000",
        READ,
        &READ.replace("read ", "read@2 "),
    ];
    let rules = rules.map(|rule| rule.replace('\n', " "));
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let bed = Bed::piped_with(&rules, &json!({"timeout": "20s"}));
    assert!(wait_until(|| bed.see("upstreams")[0]["state"] == "ready"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let options = Options { era: Some(Era::Modern), ..Options::default() };
    let target = Target::Url(bed.gate.url.clone());
    let client = runtime.block_on(connect(&target, &options)).expect("it answers");
    let interest = Interest { uris: vec!["bad:one".to_owned()], ..Interest::default() };
    let mut line = runtime.block_on(client.listen(interest)).expect("it tells");
    let mut hear = || {
        let next = runtime.block_on(async { timeout(DEADLINE, line.next()).await });
        let change = next.expect("in time").expect("a change").expect("no error");
        assert_eq!(change, Change::Resource("bad:one".to_owned()));
    };
    // It is listened to.
    hear();
    let (early, late) = thread::scope(|scope| {
        let early = scope.spawn(|| read_all(&bed, &["bad:one"]));
        hear();
        // The first is not answered yet.
        let late = read_all(&bed, &["bad:one"]);
        (early.join().expect("an answer"), late)
    });
    assert!(early != late && late != ["null"], "{early:?} {late:?}");
    bed.stop().expect("an orderly end");
}
