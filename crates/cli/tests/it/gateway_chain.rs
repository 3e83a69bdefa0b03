//! Gateways behind gateways: in a row they are servers like any other, and in a circle no thing is
//! served a second time.

use crate::desk::Desk;
use crate::gateway::{
    DEADLINE, Served, called, city, gate, is_alive, pipe, serve, serve_with, signal, tools,
};
use crate::gateway_admin::Door;
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

#[test]
fn of_two_gateways_that_have_each_other_one_goes_without() {
    let desks = [gate(""), gate("")];
    let texts = desks.each_ref().map(|desk| desk.file.clone());
    for file in texts {
        let text = std::fs::read_to_string(&file).expect("it is ours");
        std::fs::write(&file, text.replace("upstreams:\n", "")).expect("it is ours");
    }
    let served = desks.each_ref().map(|desk| serve_with(desk.file(), &["--admin", "127.0.0.1:0"]));
    let doors = served.each_ref().map(Door::of);
    for (me, it) in [(0, 1), (1, 0)] {
        let more = format!("upstreams:\n  it: {{ url: {:?} }}\n", served[it].url);
        add(&desks[me], &served[me], &more);
    }
    let listed = || served.each_ref().map(|one| tools(&one.url, "modern"));
    let without = |names: &[String]| names == ["own"];
    let with = |names: &[String]| names == ["own", "it_own"];
    until("one of them goes without", || {
        let refused = doors.each_ref().map(|door| is_refused(&upstream(door, "it")));
        let [one, other] = listed();
        let is_settled = |a: &[String], b: &[String]| without(a) && with(b);
        (refused == [true, false] && is_settled(&one, &other))
            || (refused == [false, true] && is_settled(&other, &one))
    });
    // It stays so, whenever the one that goes without looks again.
    let settled = listed();
    for _ in 0..50 {
        assert_eq!(listed(), settled);
    }
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
