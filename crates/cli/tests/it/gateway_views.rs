//! Views of a gateway: further endpoints of one process, each with a part of what it has; and names
//! that stay whose they are.

use crate::desk::Desk;
use crate::gateway::{
    DEADLINE, called, city, gate, is_alive, pipe, serve, serve_with, signal, tools,
};
use crate::gateway_admin::Door;
use crate::gateway_rules::asked;
use crate::haft::haft;
use serde_json::{Value, json};
use std::time::Instant;

const VIEWS: &str = "
views:
  north:
    title: The north
    instructions: Ask where it is cold.
    upstreams: [north]
    exclude: { tools: [own, '*_process'], resources: ['*years/1066'] }
  talk: { path: /talk, include: { tools: ['*_echo'], resources: ['own:*'], prompts: [south_*] } }
";

/// The address of a view.
pub(crate) fn at(url: &str, path: &str) -> String {
    url.replace("/mcp", path)
}

pub(crate) fn listed(url: &str, era: &str) -> Value {
    haft(["list", url, "--era", era, "--json"]).json()
}

fn names(listed: &Value, kind: &str, key: &str) -> Vec<String> {
    let list = listed[kind].as_array().unwrap_or_else(|| panic!("{listed}"));
    list.iter().map(|one| one[key].as_str().expect("a text").to_owned()).collect()
}

/// Waits until a list is this one.
pub(crate) fn wait_for(url: &str, expected: &[&str]) {
    let since = Instant::now();
    loop {
        let run = haft(["list", url, "--era", "modern", "--json"]);
        let found = run.code == Some(0) && names(&run.json(), "tools", "name") == expected;
        if found {
            return;
        }
        assert!(since.elapsed() < DEADLINE, "{expected:?}: {run:?}");
    }
}

#[test]
fn each_endpoint_has_its_name_and_its_part_in_both_eras() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let upstreams = format!("  north: {{ {} }}\n  south: {{ {} }}\n", pipe(&north), pipe(&south));
    let desk = gate(&format!("{upstreams}{VIEWS}"));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let (cold, talk) = (at(&gate.url, "/north/mcp"), at(&gate.url, "/talk"));
    gate.told(&["haft: serving north at ", &cold]);
    gate.told(&["haft: serving talk at ", &talk]);
    for era in ["legacy", "modern"] {
        assert_eq!(tools(&gate.url, era).len(), 7);
        let all = listed(&cold, era);
        assert_eq!(all["server"]["name"], "north");
        assert_eq!(names(&all, "tools", "name"), ["north_whoami", "north_echo"]);
        assert_eq!(names(&all, "resources", "uri"), ["north:about"]);
        assert_eq!(names(&all, "resourceTemplates", "uriTemplate"), ["north:years/{year}"]);
        assert_eq!(names(&all, "prompts", "name"), ["north_visit"]);
        let all = listed(&talk, era);
        assert_eq!(all["server"]["name"], "talk");
        assert_eq!(names(&all, "tools", "name"), ["north_echo", "south_echo"]);
        assert_eq!(names(&all, "resources", "uri"), [""; 0]);
        assert_eq!(names(&all, "prompts", "name"), ["south_visit"]);

        assert_eq!(called(&cold, era, "north_echo", &json!({"text": "é"})), "é");
        assert_eq!(called(&talk, era, "south_echo", &json!({"text": "é"})), "é");
        for (url, tool) in [(&cold, "north_process"), (&cold, "south_echo"), (&talk, "own")] {
            let run = haft(["call", url, tool, "--era", era]);
            assert!(run.code != Some(0), "{url} {tool}: {run:?}");
        }
        let read = |uri: &str| haft(["read", &cold, uri, "--era", era]);
        assert_eq!(read("north:years/1067").printed().trim(), "1067 of north");
        for uri in ["north:years/1066", "north:years/%31066", "south:about"] {
            assert_ne!(read(uri).code, Some(0), "{uri}");
        }
        let got = haft(["prompt", &cold, "south_visit", "day=friday", "--era", era]);
        assert_ne!(got.code, Some(0), "{got:?}");
    }
    let nowhere = haft(["list", &at(&gate.url, "/south/mcp")]);
    assert_ne!(nowhere.code, Some(0), "{nowhere:?}");
    let views = Door::of(&gate).see("views");
    let shown = json!({"name": "talk", "path": "/talk", "tools": ["north_echo", "south_echo"]});
    assert_eq!(views[1], shown, "{views}");
}

#[test]
fn an_edit_adds_and_removes_views_and_leaves_all_else() {
    let north = Desk::with(&city("north"));
    let upstreams = format!("  north: {{ {} }}\n", pipe(&north));
    let desk = gate(&format!("{upstreams}{VIEWS}").replace("[south_*]", "[n*]"));
    let gate = serve(desk.file());
    let (cold, talk, new) =
        (at(&gate.url, "/north/mcp"), at(&gate.url, "/talk"), at(&gate.url, "/new/mcp"));
    let process = called(&gate.url, "modern", "north_process", &json!({}));
    let edit = |from: &str, to: &str| {
        let text = std::fs::read_to_string(&desk.file).expect("it is ours");
        assert!(text.contains(from), "{from}");
        std::fs::write(&desk.file, text.replace(from, to)).expect("it is ours");
        signal(&gate.child.0.id().to_string(), "-HUP");
    };
    edit("  talk: { path: /talk,", "  new: {");
    wait_for(&new, &["north_echo"]);
    assert_ne!(haft(["list", &talk]).code, Some(0), "it is gone");
    wait_for(&cold, &["north_whoami", "north_echo"]);
    edit("'*_process'", "'*_echo'");
    wait_for(&cold, &["north_whoami", "north_process"]);
    assert_eq!(called(&cold, "legacy", "north_process", &json!({})), process);
    edit("new: {", "new: { path: /mcp,");
    gate.told(&["/mcp is a path of `listen` already"]);
    wait_for(&new, &["north_echo"]);
    assert!(is_alive(&process));
}

#[test]
fn tools_of_upstreams_are_found_and_called_where_they_are_many() {
    let (north, south) = (Desk::with(&city("north")), Desk::with(&city("south")));
    let south = serve(south.file());
    let desk = gate(&format!(
        "  north: {{ {} }}\n  south: {{ url: {:?} }}\nviews: {{ few: {{ search: 5 }} }}\n",
        pipe(&north),
        south.url
    ));
    let gate = serve(desk.file());
    let few = at(&gate.url, "/few/mcp");
    for era in ["legacy", "modern"] {
        assert_eq!(tools(&few, era), ["find_tools", "call_tool"]);
        assert_eq!(tools(&gate.url, era).len(), 7);
        let found = called(&few, era, "find_tools", &json!({"query": "give back", "limit": 2}));
        let found: Value = serde_json::from_str(&found).expect("it is JSON");
        assert_eq!(found[0]["name"], "north_echo", "{found}");
        assert_eq!(found[1]["name"], "south_echo", "{found}");
        for tool in ["north_echo", "south_echo"] {
            let call = json!({"name": tool, "arguments": {"text": "é"}});
            assert_eq!(called(&few, era, "call_tool", &call), "é");
        }
    }
    // As few as these are listed.
    drop(south);
    wait_for(&few, &["own", "north_whoami", "north_echo", "north_process"]);
}

#[test]
fn the_names_by_which_tools_are_found_are_nobody_elses() {
    let north = city("north").replace("whoami", "call_tool").replace("echo", "find_tools");
    let north = Desk::with(&north);
    let up = format!("  north: {{ {}, prefix: \"\" }}\n", pipe(&north));
    let desk = gate(&format!("{up}views: {{ few: {{ search: true }} }}\n"));
    let gate = serve(desk.file());
    for name in ["call_tool", "find_tools"] {
        gate.told(&[&format!("the tool `{name}` of the upstream `north` is left out: ")]);
    }
    let few = at(&gate.url, "/few/mcp");
    assert_eq!(called(&few, "modern", "call_tool", &json!({"name": "own"})), "ours");
    assert_eq!(tools(&gate.url, "modern"), ["own", "process"]);
}

#[test]
fn over_pipes_one_view_is_served() {
    let north = Desk::with(&city("north"));
    let desk = gate(&format!("  north: {{ {} }}\n{}", pipe(&north), VIEWS.replace("south_", "n")));
    let served = |more: &str| {
        let haft = env!("CARGO_BIN_EXE_haft");
        format!("{haft} serve {} --stdio {more}", desk.file())
    };
    for (more, expected) in [
        ("", ["own", "north_whoami", "north_echo", "north_process"].as_slice()),
        ("--view talk", &["north_echo"]),
    ] {
        let run = haft(["list", "--command", &served(more), "--json"]);
        assert_eq!(names(&run.json(), "tools", "name"), expected);
    }
    let run = haft(["serve", desk.file(), "--stdio", "--view", "tolk"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("the file has no view \"tolk\""), "{run:?}");
    assert!(run.stderr.contains("did you mean talk?"), "{run:?}");
}

#[test]
fn a_name_stays_with_its_upstream_and_an_address_with_one_that_is_away() {
    let north = Desk::with(&city("north"));
    let north_served = serve(north.file());
    // With its prefix, the name of its first tool is that of another, whose prefix is shorter.
    let south = city("south").replace("south:about", "north:about").replace("whoami", "hoami");
    let south = Desk::with(&south);
    let desk = gate(&format!(
        "  north: {{ url: {:?}, prefix: a_, tools: {{ echo: {{ name: shout }} }} }}\n  \
         south: {{ {}, prefix: a_w }}\n",
        north_served.url,
        pipe(&south),
    ));
    let gate = serve_with(desk.file(), &["--admin", "127.0.0.1:0"]);
    let all = ["own", "shout", "a_process", "a_whoami", "a_wecho", "a_wprocess"];
    wait_for(&gate.url, &all);
    let about = || haft(["read", &gate.url, "north:about", "--era", "modern"]);
    assert_eq!(about().printed().trim(), "about north");
    drop(north_served);
    wait_for(&gate.url, &["own", "a_whoami", "a_wecho", "a_wprocess"]);
    let answer = asked(&gate.url, "shout", &json!({}), "").to_string();
    assert!(answer.contains("Upstream `north`: down"), "{answer}");
    assert_ne!(about().code, Some(0));
    gate.told(&[
        "the tool `whoami` of the upstream `north` is left out",
        "`a_w` are those of `south`",
    ]);
}
