//! A file that is not what a store left: an error that says what to do, and no panic.

use haft_store::{Store, StoreError};
use std::path::Path;

/// What is kept in a file of a store that was closed.
async fn whole(path: &Path) -> Vec<u8> {
    let store = Store::open(path).expect("there is room");
    for number in 0..200 {
        let value = vec![b'v'; 500];
        store.set(&format!("key/{number}"), &value, None).await.expect("there is room");
    }
    drop(store);
    std::fs::read(path).expect("it is ours")
}

/// Opens it and reads all: an error is one of the file and tells a way out.
async fn check(bytes: &[u8], what: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    std::fs::write(&path, bytes).expect("it is ours");
    let store = match Store::open(&path) {
        Ok(store) => store,
        Err(error @ StoreError::Unusable { .. }) => {
            assert!(error.to_string().contains("move it away"), "{what}: {error}");
            return false;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    for found in [store.get("key/7").map(|_| ()), store.keys("", None, 1000).await.map(|_| ())] {
        let is_said = matches!(found, Ok(()) | Err(StoreError::Failed { .. }));
        assert!(is_said, "{what}: {found:?}");
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_cut_short_or_is_none_is_told_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = whole(&folder.path().join("state")).await;
    let pages = (1..bytes.len() / 4096).flat_map(|page| [page * 4096 - 1, page * 4096]);
    for length in (1..512).step_by(37).chain(pages.step_by(7)) {
        check(&bytes[..length], &format!("the first {length} bytes")).await;
    }
    let mut other_version = bytes.clone();
    other_version[..9].copy_from_slice(b"redb\x1a\x0a\xa9\x0d\xff");
    for (content, what, is_opened) in [
        (&b""[..], "nothing", true),
        (b"x", "a byte", false),
        (&[0; 8192], "zeros", false),
        (b"not a store at all, but a text\n", "a text", false),
        (&other_version, "another beginning", false),
        (&bytes[..bytes.len() / 2], "a half", false),
        (&bytes, "the whole", true),
    ] {
        assert_eq!(check(content, what).await, is_opened, "{what}");
    }
}
