//! Where tasks are kept: behind a trait, so that results survive a restart or reach other
//! processes. Two stores are here: memory, and a folder with a file for each task. Neither runs
//! anything.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A task as it is kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TaskRecord {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// Whose it is; nobody else may ask for it.
    pub owner: String,
    /// When it began, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed, in milliseconds since 1970.
    pub updated_ms: u64,
    /// For how long after its beginning it is kept, in milliseconds.
    pub ttl_ms: u64,
    /// How far it is.
    pub state: TaskState,
    /// One line for a person.
    pub message: Option<String>,
}

/// How far a task is, as it is kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It was ended before it was done.
    Cancelled,
    /// It is done: the result that the call would have had.
    Completed {
        /// JSON.
        result: Box<RawValue>,
    },
    /// It failed in a way that is no result.
    Failed {
        /// JSON.
        error: Box<RawValue>,
    },
    /// It runs, in the process that wrote this.
    Working,
}

impl TaskRecord {
    /// Whether it need not be kept any more.
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.created_ms) > self.ttl_ms
    }
}

/// What a store answers with.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Where tasks are kept.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a task, in place of what was kept of it. Once this is done, it can be found, whatever
    /// happens to the process.
    fn put(&self, record: TaskRecord) -> Stored<'_, ()>;

    /// The task of that id, if it is kept.
    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>>;

    /// Forgets the tasks that have expired by then, in milliseconds since 1970.
    fn sweep(&self, now_ms: u64) -> Stored<'_, ()>;
}

/// Tasks in memory: they end with the process.
#[derive(Default)]
pub struct MemoryTasks(Mutex<HashMap<String, TaskRecord>>);

impl MemoryTasks {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, TaskRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn at_once<'a, T: Send + 'a>(result: io::Result<T>) -> Stored<'a, T> {
    Box::pin(std::future::ready(result))
}

impl TaskStore for MemoryTasks {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        self.lock().insert(record.id.clone(), record);
        at_once(Ok(()))
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        at_once(Ok(self.lock().get(id).cloned()))
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        self.lock().retain(|_, record| !record.is_expired(now_ms));
        at_once(Ok(()))
    }
}

/// Tasks in a folder, a file for each: they outlive the process. What ran when it ended has failed
/// when the next one looks. One process at a time; nobody else on the machine can read them.
pub struct FolderTasks(Arc<Folder>);

struct Folder {
    path: PathBuf,
    /// The files by when they expire, so that a sweep reads none.
    kept: Mutex<BTreeSet<(u64, String)>>,
    /// How many files were written: no two at once have the same name.
    written: AtomicU64,
}

/// How the names of files end that are being written.
const PART: &str = "part";
/// The most that one file holds.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

impl FolderTasks {
    /// Tasks in that folder, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let (kept, written) = (Mutex::default(), AtomicU64::new(0));
        let folder = Folder { path: folder.into(), kept, written };
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&folder.path)?;
        for entry in std::fs::read_dir(&folder.path)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((id, rest)) = name.split_once('.').filter(|(id, _)| is_id(id)) else {
                continue;
            };
            if rest.ends_with(PART) {
                // Nobody writes it any more.
                std::fs::remove_file(&path)?;
            } else if let Ok(Some(mut record)) = read(&path)
                && record.id == id
            {
                folder.keep(&record);
                if matches!(record.state, TaskState::Working) {
                    let error =
                        r#"{"code":-31005,"message":"Cancelled: the server was restarted"}"#;
                    let error =
                        RawValue::from_string(error.to_owned()).map_err(io::Error::other)?;
                    record.state = TaskState::Failed { error };
                    folder.write(&record)?;
                }
            }
        }
        Ok(Self(Arc::new(folder)))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Folder) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let folder = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || act(&folder)).await.map_err(io::Error::other)?
    }
}

impl TaskStore for FolderTasks {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        Box::pin(self.blocking(move |folder| folder.write(&record)))
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        // Only what we named ourselves becomes a path.
        if !is_id(id) {
            return at_once(Ok(None));
        }
        let name = file_name(id);
        Box::pin(self.blocking(move |folder| read(&folder.path.join(name))))
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        Box::pin(self.blocking(move |folder| {
            while let Some(id) = folder.next_expired(now_ms) {
                match std::fs::remove_file(folder.path.join(file_name(&id))) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        }))
    }
}

fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn file_name(id: &str) -> String {
    format!("{id}.json")
}

fn read(path: &Path) -> io::Result<Option<TaskRecord>> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(None);
    }
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = io::read_to_string(io::Read::take(file, FILE_BYTES_MAX))?;
    serde_json::from_str(&text).map(Some).map_err(io::Error::other)
}

impl Folder {
    /// Written beside its place and moved there, so that nobody reads half of it; on the disk when
    /// this returns.
    fn write(&self, record: &TaskRecord) -> io::Result<()> {
        let text = serde_json::to_string(record).map_err(io::Error::other)?;
        // What could not be found again is not written.
        if !is_id(&record.id) || text.len() as u64 > FILE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let count = self.written.fetch_add(1, Ordering::Relaxed);
        let part = self.path.join(format!("{}.{count}.{PART}", record.id));
        let mut options = std::fs::File::options();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.write(true).create_new(true).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&part, self.path.join(file_name(&record.id)))?;
        self.keep(record);
        // Elsewhere a folder cannot be opened.
        #[cfg(unix)]
        std::fs::File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    fn keep(&self, record: &TaskRecord) {
        let expires_ms = record.created_ms.saturating_add(record.ttl_ms);
        self.kept().insert((expires_ms, record.id.clone()));
    }

    fn next_expired(&self, now_ms: u64) -> Option<String> {
        let mut kept = self.kept();
        let is_expired = kept.first().is_some_and(|(expires_ms, _)| *expires_ms < now_ms);
        if is_expired { kept.pop_first().map(|(_, id)| id) } else { None }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeSet<(u64, String)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
