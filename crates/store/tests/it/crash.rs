//! A process that is killed while it writes: what it was told is kept, is.

use haft_store::{Store, StoreError};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Where the writer finds its file; without it, it does nothing.
const FILE: &str = "HAFT_STORE_CRASH_FILE";

/// The process that is killed: it writes numbers and says each when it is kept.
#[test]
fn a_writer_that_never_stops() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(async {
        let store = Store::open(path.as_ref()).expect("it is ours");
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for number in 0_u64.. {
                        let key = format!("{writer}/{number}");
                        store.set(&key, key.as_bytes(), None).await.expect("there is room");
                        println!("kept {key}");
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("it never ends by itself");
        }
    });
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let path = directory.path().join("state");
    let mut kept = Vec::new();
    for round in 1..=3 {
        let mut writer = Command::new(std::env::current_exe().expect("it runs"))
            .args(["--exact", "crash::a_writer_that_never_stops", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let lines = BufReader::new(writer.stdout.take().expect("it is piped")).lines();
        // Killed in the middle of a line, the last one may be a part.
        let mut said = Vec::new();
        for line in lines {
            let line = line.expect("a line is text");
            said.extend(line.split("kept ").nth(1).map(str::to_owned));
            if said.len() == 100 * round {
                let error = Store::open(&path).err().expect("another process has it");
                assert_eq!(error, StoreError::InUse { path: path.display().to_string() });
                writer.kill().expect("it runs");
            }
        }
        writer.wait().expect("it is dead");
        said.pop();
        kept.extend(said);
        let store = Store::open(&path).expect("it is whole");
        for key in &kept {
            assert_eq!(store.get(key), Ok(Some(key.as_bytes().to_vec())), "{key} is lost");
        }
    }
    assert!(kept.len() >= 590, "{}", kept.len());
}
