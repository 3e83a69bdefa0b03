//! Files behind resources that change while clients are subscribed to them, over HTTP and in both
//! eras; and what nobody is told of.

use crate::dev::{Served, next, replace};
use haft_client::{Change, Changes, Interest};
use haft_proto::version::Era;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

const MANIFEST: &str = "
server: { name: watched }
resources:
  - { uri: 'notes://one', file: one.txt }
  - { uri: 'docs://{+path}', directory: docs, list: true }
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("there is a directory for temporary files");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("docs/inner")).expect("it is ours");
    for name in ["one.txt", "docs/a.txt", "docs/inner/b.txt", "secret"] {
        fs::write(path(name), "before").expect("it is ours");
    }
    symlink("../secret", path("docs/leak")).expect("it is ours");
    symlink("a.txt", path("docs/link")).expect("it is ours");
    fs::write(path("haft.yaml"), MANIFEST).expect("it is ours");
    folder
}

/// The change that follows an edit. How soon it comes is looked at where nothing is looked at
/// without a hint: in the tests of the lookout.
async fn after(changes: &mut Changes, edit: impl FnOnce()) -> Change {
    edit();
    next(changes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_is_told_to_its_subscribers_however_it_changes() {
    for era in [Era::Modern, Era::Legacy] {
        let served = Served::start_in(folder(), "serve", &[]).await;
        let client = served.client(era).await;
        let files = [("notes://one", "one.txt"), ("docs://a.txt", "docs/a.txt")];
        let more = ("docs://inner/b.txt", "docs/inner/b.txt");
        for (uri, name) in files.into_iter().chain([more]) {
            let path = served.folder.path().join(name);
            let uris = vec![uri.to_owned()];
            let mut changes = client.listen(Interest { uris, ..Interest::default() }).await;
            let changes = changes.as_mut().expect("one may listen");
            let told = Change::Resource(uri.to_owned());
            let edits: [&dyn Fn(); 6] = [
                &|| replace(&path, "one"),
                &|| fs::write(&path, "two").expect("it is ours"),
                &|| replace(&path, "three"),
                &|| fs::remove_file(&path).expect("it is ours"),
                &|| fs::write(&path, "four").expect("it is ours"),
                &|| replace(&path, "five"),
            ];
            for edit in edits {
                assert_eq!(after(changes, edit).await, told, "{era:?} {name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_edited_as_soon_as_somebody_subscribes_is_told() {
    let served = Served::start_in(folder(), "serve", &[]).await;
    let client = served.client(Era::Modern).await;
    for _ in 0..20 {
        let interest = Interest { uris: vec!["notes://one".to_owned()], ..Interest::default() };
        let mut changes = client.listen(interest).await.expect("one may listen");
        fs::write(served.folder.path().join("one.txt"), "at once").expect("it is ours");
        assert_eq!(next(&mut changes).await, Change::Resource("notes://one".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_that_go_away_are_watched_when_they_come_back() {
    for era in [Era::Modern, Era::Legacy] {
        let served = Served::start_in(folder(), "serve", &[]).await;
        let path = |name: &str| served.folder.path().join(name);
        let client = served.client(era).await;
        let uri = "docs://inner/b.txt".to_owned();
        let interest = Interest { uris: vec![uri.clone()], ..Interest::default() };
        let mut changes = client.listen(interest).await.expect("one may listen");
        let told = Change::Resource(uri);
        let gone = after(&mut changes, || fs::remove_dir_all(path("docs")).expect("it is ours"));
        assert_eq!(gone.await, told);
        let back = after(&mut changes, || {
            fs::create_dir_all(path("docs/inner")).expect("it is ours");
            fs::write(path("docs/inner/b.txt"), "again").expect("it is ours");
        });
        assert_eq!(back.await, told);
        let edited = after(&mut changes, || replace(&path("docs/inner/b.txt"), "edited"));
        assert_eq!(edited.await, told);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_a_directory_is_told_when_it_changes() {
    for era in [Era::Modern, Era::Legacy] {
        let served = Served::start_in(folder(), "serve", &[]).await;
        let path = |name: &str| served.folder.path().join(name);
        let client = served.client(era).await;
        let interest = Interest { resources: true, ..Interest::default() };
        let mut changes = client.listen(interest).await.expect("one may listen");
        let edits: [&dyn Fn(); 4] = [
            &|| fs::write(path("docs/new.txt"), "new").expect("it is ours"),
            &|| fs::create_dir_all(path("docs/x/y")).expect("it is ours"),
            &|| fs::write(path("docs/x/y/z.txt"), "z").expect("it is ours"),
            &|| fs::remove_dir_all(path("docs/x")).expect("it is ours"),
        ];
        for (index, edit) in edits.into_iter().enumerate() {
            if index == 1 {
                // A directory without files is no other list.
                edit();
                continue;
            }
            assert_eq!(after(&mut changes, edit).await, Change::Resources, "{era:?} {index}");
        }
        let listed = client.list_resources().await.expect("it is asked").entries;
        let uris: Vec<_> = listed.iter().map(|resource| resource.uri.as_str()).collect();
        let expected = ["notes://one", "docs://a.txt", "docs://inner/b.txt", "docs://new.txt"];
        assert_eq!(uris, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_read_is_not_told_of() {
    let served = Served::start_in(folder(), "serve", &[]).await;
    let path = |name: &str| served.folder.path().join(name);
    let client = served.client(Era::Modern).await;
    let outside = ["docs://leak", "docs://../secret", "docs://%2e%2e/secret", "docs:///etc/passwd"];
    let uris = outside.iter().chain(&["docs://link", "notes://one"]);
    let uris = uris.map(|uri| (*uri).to_owned()).collect();
    let interest = Interest { uris, ..Interest::default() };
    let mut changes = client.listen(interest).await.expect("one may listen");
    let told = |uri: &str| Change::Resource(uri.to_owned());
    // All that is subscribed to is looked at before this is told; whatever was not there, or is new
    // like these files, is told with it, once.
    replace(&path("one.txt"), "changed");
    while next(&mut changes).await != told("notes://one") {}
    fs::write(path("secret"), "changed").expect("it is ours");
    replace(&path("secret"), "replaced");
    fs::remove_file(path("docs/leak")).expect("it is ours");
    symlink("../secret", path("docs/leak")).expect("it is ours");
    replace(&path("one.txt"), "changed again");
    let mut heard = Vec::new();
    while heard.last() != Some(&told("notes://one")) {
        heard.push(next(&mut changes).await);
    }
    assert!(!heard.contains(&told("docs://leak")), "{heard:?}");
    // A link that stays inside is followed.
    replace(&path("docs/a.txt"), "x");
    while next(&mut changes).await != told("docs://link") {}
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_program_prints_is_told_when_it_is_watched() {
    for era in [Era::Modern, Era::Legacy] {
        let folder = tempfile::tempdir().expect("there is a directory for temporary files");
        let text = "server: { name: w }
resources:
  - { uri: 'w://one', command: [sh, -c, 'echo >>runs; cat one'], watch: 1s }
  - { uri: 'w://of/{name}', command: [cat, '{{ name }}'], watch: 1s }
";
        fs::write(folder.path().join("haft.yaml"), text).expect("it is ours");
        for name in ["one", "two"] {
            fs::write(folder.path().join(name), "before").expect("it is ours");
        }
        let served = Served::start_in(folder, "serve", &[]).await;
        let path = |name: &str| served.folder.path().join(name);
        let client = served.client(era).await;
        assert!(!path("runs").exists(), "it runs for nobody");
        for (uri, name) in [("w://one", "one"), ("w://of/two", "two")] {
            let interest = Interest { uris: vec![uri.to_owned()], ..Interest::default() };
            let mut changes = client.listen(interest).await.expect("one may listen");
            // Whatever it was when it was read first, it becomes something else after that.
            let (file, is_over) = (path(name), Arc::new(AtomicBool::new(false)));
            let writing = spawn_blocking({
                let is_over = Arc::clone(&is_over);
                move || {
                    for number in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        replace(&file, &number.to_string());
                    }
                }
            });
            let told = next(&mut changes).await;
            is_over.store(true, Ordering::Relaxed);
            writing.await.expect("no panic");
            assert_eq!(told, Change::Resource(uri.to_owned()), "{era:?}");
        }
    }
}

/// Pages are found by `ui://`, and there may be none at first.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_of_a_directory_is_listed() {
    let folder = tempfile::tempdir().expect("there is a directory for temporary files");
    fs::create_dir(folder.path().join("pages")).expect("it is ours");
    let text =
        "server: { name: w }\nresources: [{ uri: 'ui://{+path}', directory: pages, list: true }]\n";
    fs::write(folder.path().join("haft.yaml"), text).expect("it is ours");
    let served = Served::start_in(folder, "serve", &[]).await;
    let client = served.client(Era::Modern).await;
    let interest = Interest { resources: true, ..Interest::default() };
    let mut changes = client.listen(interest).await.expect("one may listen");
    fs::write(served.folder.path().join("pages/a.html"), "<p>").expect("it is ours");
    assert_eq!(next(&mut changes).await, Change::Resources);
    let listed = client.list_resources().await.expect("it is asked").entries;
    assert_eq!(listed[0].uri, "ui://a.html");
}
