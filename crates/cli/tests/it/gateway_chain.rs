//! Gateways behind gateways: in a row they are servers like any other, and in a circle no thing
//! comes to anybody twice.

use crate::desk::Desk;
use crate::gateway::{
    DEADLINE, Served, called, city, gate, is_alive, pipe, serve, serve_with, signal, tools,
};
use crate::gateway_admin::Door;
use crate::gateway_faults::bed::{exchange, faulty, modern};
use crate::guard::Guard;
use crate::haft::haft;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Waits until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < DEADLINE, "{what}");
    }
}

/// Adds an upstream to the file that a gateway serves.
fn add(desk: &Desk, served: &Served, upstream: &str) {
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, format!("{text}{upstream}")).expect("it is ours");
    signal(&served.child.0.id().to_string(), "-HUP");
}

/// An upstream as whoever runs the gateway sees it.
fn upstream(door: &Door, name: &str) -> Value {
    let all = door.see("upstreams");
    let mut all = all.as_array().expect("a list").iter();
    all.find(|one| one["name"] == name).cloned().unwrap_or_default()
}

fn is_refused(upstream: &Value) -> bool {
    upstream["state"] == "down"
        && upstream["reason"].as_str().is_some_and(|why| why.contains("this gateway itself"))
}

#[test]
fn what_is_behind_two_gateways_is_called_cancelled_and_followed_in_both_eras() {
    let slow = "  - { name: sleep, description: Sleeps., command: [sleep, '600'] }\nresources:";
    let slow = &slow.replace("'600'", &format!("'6{:05}'", std::process::id()));
    let north = Desk::with(&city("north").replace("resources:", slow));
    let inner = gate(&format!("  north: {{ {} }}\n", pipe(&north).replace("serve", "dev")));
    let far = serve(inner.file());
    let outer = gate(&format!(
        "  near: {{ {} }}\n  far: {{ url: {url:?}, era: legacy }}\n  \
         new: {{ url: {url:?}, era: modern }}\n",
        pipe(&inner),
        url = far.url
    ));
    let outer = serve(outer.file());
    for era in ["legacy", "modern"] {
        for way in ["near", "far", "new"] {
            let name = |tool: &str| format!("{way}_north_{tool}");
            assert!(tools(&outer.url, era).contains(&name("echo")), "{era} {way}");
            let text = json!({"text": "\u{1f600} \\ \" 1"});
            assert_eq!(called(&outer.url, era, &name("echo"), &text), "\u{1f600} \\ \" 1");
            let read = haft(["call", &outer.url, &name("echo"), "text=1", "more=2", "--era", era]);
            assert!(read.stderr.contains("more"), "{read:?}");

            let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
            command.args(["call", &outer.url, &name("sleep"), "--era", era]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let asker = Guard(command.spawn().expect("it is built"));
            until("it sleeps", || sleepers(slow).len() == 1);
            let sleeper = sleepers(slow).remove(0);
            signal(&asker.0.id().to_string(), "-INT");
            until("nobody waits for it any more", || !is_alive(&sleeper));
        }
    }
    let renamed = city("north").replace("whoami", "who");
    std::fs::write(&north.file, renamed).expect("a file of ours");
    for way in ["near", "far", "new"] {
        let name = format!("{way}_north_who");
        until(&name, || tools(&outer.url, "modern").contains(&name));
        assert_eq!(called(&outer.url, "modern", &name, &json!({})), "north");
    }
}

/// The processes that sleep as long as the tool says.
fn sleepers(slow: &str) -> Vec<String> {
    let time = slow.split('\'').nth(1).expect("it says how long");
    let found = Command::new("pgrep").args(["-fx", &format!("sleep {time}")]).output();
    let found = String::from_utf8(found.expect("there is one").stdout).expect("numbers");
    found.lines().map(str::to_owned).collect()
}

#[test]
fn a_gateway_that_is_its_own_upstream_says_so_and_serves_the_rest() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n", pipe(&north)));
    let served = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let door = Door::of(&served);
    let before = tools(&served.url, "modern");
    for era in ["legacy", "modern"] {
        add(&desk, &served, &format!("  {era}: {{ url: {:?}, era: {era} }}\n", served.url));
        until("it is refused", || is_refused(&upstream(&door, era)));
    }
    until("its own tools are gone", || tools(&served.url, "modern") == before);
    served.told(&["upstream `legacy` is down", "this gateway itself"]);
    assert_eq!(called(&served.url, "legacy", "north_whoami", &json!({})), "north");
}

/// Gateways of which each has something itself and the next as its upstream.
fn ring<const N: usize>() -> ([Desk; N], [Served; N]) {
    let desks = [(); N].map(|()| gate(""));
    for desk in &desks {
        let text = std::fs::read_to_string(&desk.file).expect("it is ours");
        std::fs::write(&desk.file, text.replace("upstreams:\n", "")).expect("it is ours");
    }
    let served = desks.each_ref().map(|desk| serve(desk.file()));
    for (place, desk) in desks.iter().enumerate() {
        let next = &served[(place + 1) % N].url;
        add(desk, &served[place], &format!("upstreams:\n  it: {{ url: {next:?} }}\n"));
    }
    (desks, served)
}

#[test]
fn gateways_in_a_circle_have_what_each_has_once() {
    let check = |served: &[Served], expected: &[&str]| {
        for one in served {
            until("it has what all have", || tools(&one.url, "modern") == expected);
            let last = expected.last().expect("some");
            assert_eq!(called(&one.url, "legacy", last, &json!({})), "ours");
        }
        // It stays so, whoever looks again. Before, one that others took things from while it was
        // no gateway may see those come back, for as long as it takes them to hear who it is now.
        let have = || served.iter().all(|one| tools(&one.url, "modern") == expected);
        until("it stays so", || (0..20).all(|_| have()));
    };
    let (_desks, served) = ring::<2>();
    check(&served, &["own", "it_own"]);
    served[0].told(&["the upstream `it`: 1 of its things came through this gateway before"]);
    let (_desks, served) = ring::<3>();
    check(&served, &["own", "it_own", "it_it_own"]);
}

#[test]
fn what_an_upstream_says_of_gateways_is_about_itself_alone() {
    let outer = gate("  none: { command: ['true'], start: lazy }\n");
    let served = serve_with(outer.file(), &["--admin", "127.0.0.1:0"]);
    let list = modern(&served.url, ("tools/list", "-"), json!({}));
    let mark = exchange(&served.url, &list).message["result"]["_meta"]["haft/gateways"].clone();
    assert_eq!(mark.as_array().map(Vec::len), Some(1), "{mark}");
    let many: Vec<String> = (0..9).map(|number| format!("{number:016x}")).collect();
    let liar = |gateways: &Value| {
        let tool = json!({"name": "lie", "inputSchema": {"type": "object"}});
        let result = json!({"tools": [tool], "_meta": {"haft/gateways": gateways}});
        let rule = json!({"jsonrpc": "2.0", "id": "$id", "result": result}).to_string();
        let rule = format!("tools/list send {}", rule.replace("\"$id\"", "$id"));
        json!([faulty(), rule]).to_string()
    };
    let north = Desk::with(&city("north"));
    let inner = gate(&format!(
        "  north: {{ {} }}\n  copies: {{ command: {} }}\n  boasts: {{ command: {} }}\n",
        pipe(&north),
        liar(&mark),
        liar(&json!(many)),
    ));
    let inner = serve(inner.file());
    inner.told(&["the tool `lie` of the upstream `boasts` is left out", "more than 8 gateways"]);
    assert!(tools(&inner.url, "modern").contains(&"copies_lie".to_owned()));
    add(&outer, &served, &format!("  inner: {{ url: {:?} }}\n", inner.url));
    let name = "inner_north_whoami".to_owned();
    until("it has what is good", || tools(&served.url, "modern").contains(&name));
    assert_eq!(called(&served.url, "modern", &name, &json!({})), "north");
    assert!(!tools(&served.url, "modern").contains(&"inner_copies_lie".to_owned()));
    served.told(&["the upstream `inner`: 1 of its things came through this gateway before"]);
}

#[test]
fn a_file_that_starts_itself_is_started_twice_and_not_for_ever() {
    let desk = gate("");
    let text = std::fs::read_to_string(&desk.file).expect("it is ours");
    std::fs::write(&desk.file, format!("{text}  me: {{ {} }}\n", pipe(&desk))).expect("ours");
    let served = serve(desk.file());
    assert_eq!(tools(&served.url, "modern"), ["own", "me_own"]);
    served.told(&["is not served: it is its own upstream"]);
    assert_eq!(called(&served.url, "legacy", "me_own", &json!({})), "ours");
}
