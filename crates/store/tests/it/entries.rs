//! Values, times, numbers, listings and bounds, in memory and in a file alike.

use haft_store::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use haft_store::{Store, StoreError};
use std::time::Duration;

/// A store in memory and one in a file, with the directory that has it.
fn both() -> (tempfile::TempDir, [Store; 2]) {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let file = Store::open(&directory.path().join("state")).expect("it is ours");
    (directory, [Store::memory().expect("there is memory"), file])
}

#[tokio::test]
async fn what_was_set_is_there_until_it_is_deleted() {
    let (_directory, stores) = both();
    for store in stores {
        assert_eq!(store.get("a"), Ok(None));
        assert_eq!(store.set("a", b"1", None).await, Ok(()));
        assert_eq!(store.set("a", b"two", None).await, Ok(()));
        assert_eq!(store.get("a"), Ok(Some(b"two".to_vec())));
        assert_eq!(store.delete("a").await, Ok(true));
        assert_eq!(store.delete("a").await, Ok(false));
        assert_eq!(store.get("a"), Ok(None));
    }
}

#[tokio::test]
async fn what_is_past_its_time_is_gone_everywhere() {
    let (_directory, stores) = both();
    for store in stores {
        assert_eq!(store.set("past", b"1", Some(Duration::ZERO)).await, Ok(()));
        assert_eq!(store.set("kept", b"1", Some(Duration::from_secs(600))).await, Ok(()));
        assert_eq!(store.get("past"), Ok(None));
        assert_eq!(store.keys("", None, 9).await, Ok(vec!["kept".to_owned()]));
        assert_eq!(store.delete("past").await, Ok(false));
        // A number that is past its time begins anew, and one that is not keeps its time.
        assert_eq!(store.add("n", 5, Some(Duration::ZERO)).await, Ok(5));
        assert_eq!(store.add("n", 2, None).await, Ok(2));
        assert_eq!(store.add("n", 2, Some(Duration::ZERO)).await, Ok(4));
        assert_eq!(store.get("n"), Ok(Some(b"4".to_vec())));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_comes_between_two_who_add() {
    let (_directory, stores) = both();
    for store in stores {
        let adding: Vec<_> = (0..200)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.add("n", 1, None).await })
            })
            .collect();
        let mut sums = Vec::new();
        for add in adding {
            sums.push(add.await.expect("no panic").expect("there is room"));
        }
        sums.sort_unstable();
        assert_eq!(sums, (1..=200).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn only_whole_numbers_are_added_to() {
    let (_directory, stores) = both();
    let not_a_number = || Err(StoreError::NotANumber { key: "n".to_owned() });
    for store in stores {
        assert_eq!(store.set("n", b"many", None).await, Ok(()));
        assert_eq!(store.add("n", 1, None).await, not_a_number());
        assert_eq!(store.set("n", i64::MAX.to_string().as_bytes(), None).await, Ok(()));
        assert_eq!(store.add("n", 1, None).await, not_a_number());
        assert_eq!(store.get("n"), Ok(Some(i64::MAX.to_string().into_bytes())));
    }
}

#[tokio::test]
async fn keys_are_listed_in_order_and_in_parts() {
    let (_directory, stores) = both();
    for store in stores {
        for key in ["b/2", "a", "b/1", "b/3", "c", "\u{10ffff}"] {
            assert_eq!(store.set(key, b"", None).await, Ok(()));
        }
        assert_eq!(store.keys("b/", None, 2).await, Ok(vec!["b/1".to_owned(), "b/2".to_owned()]));
        assert_eq!(store.keys("b/", Some("b/2"), 2).await, Ok(vec!["b/3".to_owned()]));
        assert_eq!(store.keys("", Some("b/9"), 9).await.map(|keys| keys.len()), Ok(2));
        assert_eq!(store.keys("x", None, 9).await, Ok(Vec::new()));
    }
}

#[tokio::test]
async fn keys_and_values_have_bounds() {
    let store = Store::memory().expect("there is memory");
    let key = "k".repeat(KEY_BYTES_MAX);
    assert_eq!(store.set(&key, &vec![0; VALUE_BYTES_MAX], None).await, Ok(()));
    assert_eq!(store.set(&format!("{key}k"), b"", None).await, Err(StoreError::KeyUnfit));
    assert_eq!(store.set("", b"", None).await, Err(StoreError::KeyUnfit));
    let long = vec![0; VALUE_BYTES_MAX + 1];
    assert_eq!(store.set("k", &long, None).await, Err(StoreError::ValueTooLong));
}

#[tokio::test]
async fn a_full_store_takes_no_more_and_loses_nothing() {
    let store = Store::memory_of(100).expect("there is memory");
    for key in ["a", "b", "c", "d"] {
        assert_eq!(store.set(key, &[7; 24], None).await, Ok(()));
    }
    assert_eq!(store.set("e", b"1", None).await, Err(StoreError::Full));
    assert_eq!(store.set("a", &[8; 25], None).await, Err(StoreError::Full));
    assert_eq!(store.get("a"), Ok(Some(vec![7; 24])));
    assert_eq!(store.set("a", &[8; 24], None).await, Ok(()));
    assert_eq!(store.delete("a").await, Ok(true));
    assert_eq!(store.set("e", &[9; 24], None).await, Ok(()));
}

#[tokio::test]
async fn of_those_who_open_a_file_the_last_one_says_how_much_it_holds() {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let path = directory.path().join("state");
    let first = Store::open_of(&path, 10).expect("it is ours");
    assert_eq!(first.set("a", &[7; 24], None).await, Err(StoreError::Full));
    let second = Store::open_of(&path, 100).expect("it is the same");
    for store in [&first, &second] {
        assert_eq!(store.set("a", &[7; 24], None).await, Ok(()));
    }
    let third = Store::open_of(&path, 10).expect("it is the same");
    assert_eq!(first.set("b", &[7; 24], None).await, Err(StoreError::Full));
    assert_eq!(third.get("a"), Ok(Some(vec![7; 24])), "what is there stays");
}

#[tokio::test]
async fn a_file_belongs_to_its_owner_and_is_open_once() {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let path = directory.path().join("state");
    let store = Store::open(&path).expect("it is ours");
    let again = Store::open(&directory.path().join("./state")).expect("it is the same");
    assert_eq!(store.set("a", b"1", None).await, Ok(()));
    assert_eq!(again.get("a"), Ok(Some(b"1".to_vec())));
    drop(again);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    drop(store);
    assert_eq!(Store::open(&path).and_then(|store| store.get("a")), Ok(Some(b"1".to_vec())));
    let other = directory.path().join("other");
    std::fs::write(&other, "no store at all").expect("it is ours");
    let error = Store::open(&other).err().expect("it is none");
    assert!(matches!(&error, StoreError::Unusable { .. }), "{error}");
    assert!(Store::open(&directory.path().join("no/such/place")).is_err());
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "no store at all");
}
