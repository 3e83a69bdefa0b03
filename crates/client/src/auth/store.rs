//! Where credentials are kept: by issuer and resource, in memory or in a file that only its owner
//! can read. Used by `keeper`; nothing is sent from here.

use super::error::AuthError;
use super::secret::Secret;
use crate::limits::{CREDENTIALS_BYTES_MAX, CREDENTIALS_PAUSE, CREDENTIALS_TIME_MAX};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Everything that is kept.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Kept {
    /// By MCP server, whose tokens it takes.
    pub(crate) endpoints: BTreeMap<String, KeptEndpoint>,
    /// By authorization server, what it gave. Nothing of one is ever shown to another.
    pub(crate) issuers: BTreeMap<String, KeptIssuer>,
}

/// Whose tokens an MCP server takes.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct KeptEndpoint {
    pub(crate) issuer: String,
    pub(crate) resource: String,
}

/// What one authorization server gave.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct KeptIssuer {
    /// The client as it was registered there.
    pub(crate) client: Option<KeptClient>,
    /// By resource.
    pub(crate) tokens: BTreeMap<String, KeptTokens>,
}

/// A registration.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct KeptClient {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    /// How it is to prove itself, if the server said so.
    pub(crate) method: Option<String>,
    pub(crate) redirect_uri: String,
    /// When the secret ends, in seconds since 1970.
    pub(crate) ends_at: Option<u64>,
}

/// Tokens for one resource.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct KeptTokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// What was asked for.
    pub(crate) scopes: Vec<String>,
    /// Which client they were given to.
    pub(crate) client_id: String,
    /// When they came, in seconds since 1970.
    pub(crate) from: u64,
    /// When the access token ends, if that is known.
    pub(crate) ends_at: Option<u64>,
}

/// The place.
#[derive(Debug)]
pub(crate) struct Store {
    path: Option<PathBuf>,
    memory: Arc<Mutex<Kept>>,
}

/// What is kept, while nobody else can change it: no task and no process.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) kept: OwnedMutexGuard<Kept>,
    file: Option<(PathBuf, File)>,
}

impl Store {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, memory: Arc::default() }
    }

    /// A look at it, as it is now, which makes nothing. Where nothing can be read, nothing is kept.
    ///
    /// # Errors
    /// As for [`Store::hold`].
    pub(crate) async fn look(&self) -> Result<Kept, AuthError> {
        match self.path.clone() {
            Some(path) => Ok(blocking(path, read_if_possible).await?.1),
            None => Ok(self.memory.lock().await.clone()),
        }
    }

    /// Takes it, as it is now.
    ///
    /// # Errors
    /// [`AuthError::BadCredentials`] if others can read the file or it cannot be read.
    pub(crate) async fn hold(&self) -> Result<Hold, AuthError> {
        let mut kept = Arc::clone(&self.memory).lock_owned().await;
        let Some(path) = self.path.clone() else { return Ok(Hold { kept, file: None }) };
        let lock = lock(&path).await?;
        let (place, read) = blocking(path, read).await?;
        *kept = read;
        Ok(Hold { kept, file: Some((place, lock)) })
    }
}

impl Hold {
    /// Keeps it as it has become, and lets go of it.
    pub(crate) async fn keep(self) -> Result<(), AuthError> {
        let Some((path, lock)) = self.file else { return Ok(()) };
        let kept = self.kept.clone();
        let written = blocking(path, move |path| write(path, &kept)).await;
        drop(lock);
        written.map(drop)
    }
}

/// The lock of the file is another file: the file itself is replaced.
async fn lock(path: &Path) -> Result<File, AuthError> {
    let (path, lock) = blocking(path.to_owned(), |path| {
        prepare(path)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        options.custom_flags(no_links());
        options.open(beside(path, "lock"))
    })
    .await?;
    let began = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if began.elapsed() < CREDENTIALS_TIME_MAX => {
                sleep(CREDENTIALS_PAUSE).await;
            }
            Err(TryLockError::WouldBlock) => {
                let reason = "another process does not let go of it".to_owned();
                return Err(AuthError::BadCredentials { path: path.display().to_string(), reason });
            }
            Err(TryLockError::Error(error)) => return Err(bad(&path, &error)),
        }
    }
}

/// Does something with a file where waiting harms nobody.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<(PathBuf, T), AuthError> {
    let shown = path.clone();
    let done = spawn_blocking(move || work(&path).map(|done| (path, done))).await;
    done.map_err(io::Error::other).flatten().map_err(|error| bad(&shown, &error))
}

fn bad(path: &Path, error: &io::Error) -> AuthError {
    AuthError::BadCredentials { path: path.display().to_string(), reason: error.to_string() }
}

/// Makes the directory, for its owner alone.
fn prepare(path: &Path) -> io::Result<()> {
    let directory = directory(path);
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    check_directory(directory)
}

/// A directory that others may write into is none for secrets: they could put another file there.
fn check_directory(directory: &Path) -> io::Result<()> {
    if fs::metadata(directory)?.mode() & 0o022 != 0 {
        let directory = directory.display();
        return Err(refused(&format!("others may write into {directory}; chmod 700 it")));
    }
    Ok(())
}

fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new("."))
}

fn read(path: &Path) -> io::Result<Kept> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(no_links()).open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        opened => opened?,
    };
    check_directory(directory(path))?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(refused("it is no file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("it belongs to somebody else"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(refused("others can read it; chmod 600 it, and have its tokens revoked"));
    }
    let mut text = String::new();
    file.take(CREDENTIALS_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    if text.len() > CREDENTIALS_BYTES_MAX {
        return Err(refused(&format!("it is larger than {CREDENTIALS_BYTES_MAX} bytes")));
    }
    // What serde says of a text could show a token.
    serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        refused(&format!("it is not what haft has written (line {line}, column {column})"))
    })
}

/// Homes that are not there or not ours are no reason not to talk to servers that want no token.
fn read_if_possible(path: &Path) -> io::Result<Kept> {
    use io::ErrorKind::{NotADirectory, PermissionDenied};
    match read(path) {
        Err(error) if [NotADirectory, PermissionDenied].contains(&error.kind()) => {
            Ok(Kept::default())
        }
        read => read,
    }
}

/// Whole or not at all.
fn write(path: &Path, kept: &Kept) -> io::Result<()> {
    let text = serde_json::to_string_pretty(kept)?;
    if text.len() > CREDENTIALS_BYTES_MAX {
        return Err(refused(&format!("it would be larger than {CREDENTIALS_BYTES_MAX} bytes")));
    }
    let new = beside(path, "new");
    // Nobody else writes it while we hold the lock; one that is there is of a process that died.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(extension);
    path.with_file_name(name)
}

fn no_links() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o777
    }

    async fn fill(store: &Store) {
        let mut hold = store.hold().await.expect("it can be held");
        let tokens = KeptTokens {
            access: Secret::new("hunter2"),
            refresh: None,
            scopes: Vec::new(),
            client_id: "c".to_owned(),
            from: 1,
            ends_at: Some(2),
        };
        let issuer = hold.kept.issuers.entry("https://as".to_owned()).or_default();
        issuer.tokens.insert("https://r".to_owned(), tokens);
        hold.keep().await.expect("it can be kept");
    }

    async fn refusal(store: &Store) -> String {
        store.hold().await.expect_err("it must not be used").to_string()
    }

    #[tokio::test]
    async fn what_is_kept_is_there_again_for_its_owner_alone() {
        let above = tempfile::tempdir().expect("a directory");
        let path = above.path().join("state/haft/credentials.json");
        fill(&Store::new(Some(path.clone()))).await;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().expect("a directory")), 0o700);
        let again = Store::new(Some(path.clone())).hold().await.expect("it can be held");
        let access = &again.kept.issuers["https://as"].tokens["https://r"].access;
        assert_eq!(access.reveal(), "hunter2");
        assert!(!format!("{again:?}").contains("hunter2"));
        let names = fs::read_dir(path.parent().expect("a directory")).expect("it is there");
        let mut names: Vec<_> =
            names.map(|entry| entry.expect("an entry").file_name().into_string()).collect();
        names.sort();
        let expected = ["credentials.json", "credentials.json.lock"];
        assert_eq!(names, expected.map(|name| Ok(name.to_owned())));
    }

    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused_and_not_mended() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials.json");
        let store = Store::new(Some(path.clone()));
        fill(&store).await;
        for shared in [0o640, 0o604, 0o660] {
            set_permissions(&path, Permissions::from_mode(shared)).expect("we may");
            let why = refusal(&store).await;
            assert!(why.contains("others can read it") && !why.contains("hunter2"), "{why}");
            assert_eq!(mode(&path), shared, "its owner should hear of it");
        }
    }

    #[tokio::test]
    async fn a_directory_that_others_can_write_into_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("we may");
        let path = directory.path().join("credentials.json");
        let store = Store::new(Some(path.clone()));
        assert!(refusal(&store).await.contains("others may write"));
        fs::write(&path, "{}").expect("we may");
        let looked = store.look().await.expect_err("it must not be used").to_string();
        assert!(looked.contains("others may write"), "{looked}");
    }

    #[tokio::test]
    async fn what_is_no_file_of_ours_is_refused_and_left_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials.json");
        let store = Store::new(Some(path.clone()));
        for text in [r#"{"issuers":{"a":"hunter2"}}"#, "hunter2", ""] {
            fs::write(&path, text).expect("we may");
            set_permissions(&path, Permissions::from_mode(0o600)).expect("we may");
            let why = refusal(&store).await;
            assert!(why.contains("not what haft has written"), "{why}");
            assert!(!why.contains("hunter2"), "{why}");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        let elsewhere = directory.path().join("elsewhere.json");
        fs::write(&path, "{}").expect("we may");
        assert!(store.hold().await.is_ok(), "it is one");
        fs::rename(&path, &elsewhere).expect("we may");
        symlink(&elsewhere, &path).expect("we may");
        assert!(store.hold().await.is_err(), "a link leads anywhere");
    }

    #[tokio::test]
    async fn a_look_makes_nothing() {
        let above = tempfile::tempdir().expect("a directory");
        let store = Store::new(Some(above.path().join("state/credentials.json")));
        assert!(store.look().await.expect("nothing is wrong").issuers.is_empty());
        assert_eq!(fs::read_dir(above.path()).expect("it is there").count(), 0);
        let file = above.path().join("file");
        fs::write(&file, "").expect("we may");
        let below = Store::new(Some(file.join("credentials.json")));
        assert!(below.look().await.expect("nothing is wrong").issuers.is_empty());
        assert!(below.hold().await.is_err(), "nothing can be kept there");
    }

    #[tokio::test]
    async fn a_file_has_a_bound_when_it_is_read_and_when_it_is_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials.json");
        let store = Store::new(Some(path.clone()));
        fill(&store).await;
        let before = fs::read_to_string(&path).expect("it is there");
        let mut hold = store.hold().await.expect("it can be held");
        let issuer = hold.kept.issuers.get_mut("https://as").expect("it is there");
        let tokens = issuer.tokens.get_mut("https://r").expect("they are there");
        tokens.access = Secret::new("x".repeat(CREDENTIALS_BYTES_MAX));
        let why = hold.keep().await.expect_err("it is too much").to_string();
        assert!(why.contains("would be larger than"), "{why}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), before, "nothing is lost");
        fs::write(&path, " ".repeat(CREDENTIALS_BYTES_MAX + 1)).expect("we may");
        assert!(refusal(&store).await.contains("it is larger than"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_does_not_let_go_is_not_waited_for_for_ever() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials.json");
        let stores = [Store::new(Some(path.clone())), Store::new(Some(path))];
        let _hold = stores[0].hold().await.expect("it can be held");
        let began = Instant::now();
        assert!(refusal(&stores[1]).await.contains("does not let go"));
        assert_eq!(began.elapsed().as_secs(), CREDENTIALS_TIME_MAX.as_secs());
    }

    #[tokio::test]
    async fn one_holds_it_at_a_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("credentials.json");
        // Two stores are as two processes: they share nothing but the file.
        let stores = [Store::new(Some(path.clone())), Store::new(Some(path))];
        let hold = stores[0].hold().await.expect("it can be held");
        let waiting = tokio::time::timeout(CREDENTIALS_PAUSE * 3, stores[1].hold()).await;
        assert!(waiting.is_err(), "it is held");
        drop(hold);
        stores[1].hold().await.expect("it can be held");
    }

    #[tokio::test]
    async fn without_a_file_it_is_kept_in_memory() {
        let store = Store::new(None);
        fill(&store).await;
        assert_eq!(store.hold().await.expect("it can be held").kept.issuers.len(), 1);
    }
}
