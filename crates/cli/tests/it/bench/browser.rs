//! Opens a page in a real browser without a window: what became of it, what the console said, and
//! what it wanted of a network. It judges nothing.

use crate::foreign;
use crate::foreign::process::{Finished, finish_within};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

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
const ALONE: [&str; 11] = [
    "--headless",
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

/// How long a browser may take for a page; on a busy machine its start alone takes seconds.
const DEADLINE: Duration = Duration::from_secs(90);

pub(super) fn open(page: &Path) -> Opened {
    open_within(page, DEADLINE).unwrap_or_else(|late| panic!("{late}"))
}

/// The same with another limit; what goes beyond it is one sentence.
pub(super) fn open_within(page: &Path, deadline: Duration) -> Result<Opened, String> {
    let profile = tempfile::tempdir().expect("a folder");
    let asked = profile.path().join("asked.json");
    let mut browser = foreign::browser();
    browser.args(ALONE).env("HOME", profile.path());
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.arg(format!("--log-net-log={}", asked.display()));
    browser.arg("--dump-dom").arg(format!("file://{}", page.display()));
    // The sandbox refuses to be root's.
    if rustix::process::getuid().is_root() {
        browser.arg("--no-sandbox");
    }
    // Its processes are a group, to be ended together.
    let Some(Finished { status, stdout, stderr }) =
        finish_within(browser.process_group(0), deadline)
    else {
        return Err(format!("the browser was not done with {page:?} within {deadline:?}"));
    };
    assert!(status.success(), "{stderr}");
    Ok(Opened {
        page: stdout,
        console: stderr
            .lines()
            .filter(|line| line.contains(":CONSOLE:"))
            .map(str::to_owned)
            .collect(),
        fetched: fetched(&fs::read(asked).expect("it writes what it asked")),
    })
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
