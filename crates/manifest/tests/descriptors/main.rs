//! What a server holds of the system after many edits, and what it does when the system has no more
//! to give. One test in a process of its own, as both are of the whole process.
#![cfg(target_os = "linux")]

use haft_manifest::{Edits, Live, Reading};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(60);
const DEEP: &str = "docs/a/b/c/d/e/f";

/// A manifest that names a file of another directory each time.
fn edit(folder: &Path, round: usize) {
    let directory = format!("d{}", round % 7);
    fs::create_dir_all(folder.join(&directory)).expect("it is ours");
    fs::write(folder.join(&directory).join("word"), round.to_string()).expect("it is ours");
    let text = format!(
        "server: {{ name: s }}
tools: [{{ name: say, text: '${{file:{directory}/word}}' }}]
resources: [{{ uri: 'docs:{{+path}}', directory: docs, list: true }}]
"
    );
    fs::write(folder.join("new"), text).expect("it is ours");
    fs::rename(folder.join("new"), folder.join("haft.yaml")).expect("it is ours");
}

/// How many descriptors are open, and how many directories are watched by them.
fn held() -> (usize, usize) {
    let infos = fs::read_dir("/proc/self/fdinfo").expect("this is Linux");
    // One may be closed meanwhile.
    let infos: Vec<_> =
        infos.filter_map(|info| fs::read_to_string(info.ok()?.path()).ok()).collect();
    let watches = infos.iter().map(|info| info.matches("inotify wd:").count()).sum();
    (infos.len(), watches)
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_hold_no_more_than_the_first_and_a_full_table_takes_nothing_away() {
    let folder = TempDir::new().expect("there is a directory for temporary files");
    fs::create_dir_all(folder.path().join(DEEP)).expect("it is ours");
    fs::write(folder.path().join(DEEP).join("file"), "x").expect("it is ours");
    edit(folder.path(), 0);
    let path = folder.path().join("haft.yaml");
    let live = Arc::new(Live::new(&path, Reading::Edits, false).expect("it is right"));
    let mut edits = Edits::new(Arc::clone(&live));
    let mut next = async |round| {
        edit(folder.path(), round);
        let read = timeout(DEADLINE, edits.next()).await.expect("it is seen");
        read.expect("it is right");
    };
    for round in 1..8 {
        next(round).await;
    }
    let (descriptors, watches) = held();
    assert!(watches > 0, "edits are heard of");
    for round in 8..50 {
        next(round).await;
    }
    let settled = async {
        // What was watched ends a moment later.
        while held().0 > descriptors || held().1 > watches {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, settled).await.unwrap_or_else(|_| panic!("{:?} > {descriptors}", held()));

    edit(folder.path(), 50);
    let free = fs::File::open("/dev/null").expect("it is there");
    let first = u64::try_from(std::os::fd::AsRawFd::as_raw_fd(&free)).expect("it is no error");
    drop(free);
    let before = getrlimit(Resource::Nofile);
    // Enough to read the file, and not for all the directories on the way down.
    let few = Rlimit { current: Some(first + 3), ..before };
    setrlimit(Resource::Nofile, few).expect("less is allowed");
    let refused = live.reload();
    setrlimit(Resource::Nofile, before).expect("it was so before");
    let fault = refused.expect_err("the directory cannot be walked").to_string();
    assert!(fault.contains("cannot read \"docs\""), "{fault}");
    let edit = live.reload().expect("now it can");
    assert!(edit.resources.is_empty() && !edit.tools.is_empty(), "{edit:?}");
}
