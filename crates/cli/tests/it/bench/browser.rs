//! Opens a page in a real browser without a window: what became of it, what the console said, and
//! what it wanted of a network. It judges nothing.

use crate::foreign;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What a browser made of a page.
pub(super) struct Opened {
    /// The page as it stands after its scripts.
    pub(super) page: String,
    /// What the console said, line by line.
    pub(super) console: Vec<String>,
    /// What the page asked of a network, whether it was there or not.
    pub(super) fetched: Vec<String>,
}

/// No name has an address, so that a browser that wants something for itself reaches nobody.
const ALONE: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1000,800",
    "--enable-logging=stderr",
];

pub(super) fn open(page: &Path) -> Opened {
    let profile = tempfile::tempdir().expect("a folder");
    let asked = profile.path().join("asked.json");
    let mut browser = foreign::browser();
    browser.args(ALONE).env("HOME", profile.path());
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.arg(format!("--log-net-log={}", asked.display()));
    browser.arg("--dump-dom").arg(format!("file://{}", page.display()));
    let output = browser.output().expect("it said its version");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Opened {
        page: String::from_utf8(output.stdout).expect("a page is UTF-8"),
        console: said
            .lines()
            .filter(|line| line.contains(":CONSOLE:"))
            .map(str::to_owned)
            .collect(),
        fetched: fetched(&fs::read(asked).expect("it writes what it asked")),
    }
}

/// Addresses that a page asked for; the browser's own wishes are of no page.
fn fetched(log: &[u8]) -> Vec<String> {
    let log: Value = serde_json::from_slice(log).expect("the log is whole");
    let begin = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(begin.is_number(), "the browser calls its requests otherwise now");
    let of_page =
        |event: &&Value| event["type"] == *begin && event["params"]["initiator"] != "not an origin";
    let events = log["events"].as_array().expect("a list").iter();
    let urls = events.filter(of_page).filter_map(|event| event["params"]["url"].as_str());
    urls.map(str::to_owned).collect()
}
