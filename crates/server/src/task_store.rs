//! Where tasks are kept: behind a trait, so that results survive a restart or reach other
//! processes. Two stores are here: memory, and a folder with a file for each task. Neither runs
//! anything.

use crate::task_ages::Ages;
use haft_proto::limits::Limits;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

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
        self.expires_ms() < now_ms
    }

    fn expires_ms(&self) -> u64 {
        self.created_ms.saturating_add(self.ttl_ms)
    }

    fn is_over(&self) -> bool {
        !matches!(self.state, TaskState::Working)
    }

    /// What it takes in memory, about.
    fn bytes(&self) -> usize {
        let json = match &self.state {
            TaskState::Completed { result } => result.get().len(),
            TaskState::Failed { error } => error.get().len(),
            TaskState::Cancelled | TaskState::Working => 0,
        };
        let message = self.message.as_ref().map_or(0, String::len);
        size_of::<Self>() + 2 * self.id.len() + self.owner.len() + message + json
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

    /// Forgets a task; it need not be there.
    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()>;

    /// Forgets the tasks that have expired by then, in milliseconds since 1970.
    fn sweep(&self, now_ms: u64) -> Stored<'_, ()>;
}

/// A store that several servers of a process share.
impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        (**self).put(record)
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        (**self).find(id)
    }

    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        (**self).remove(id)
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        (**self).sweep(now_ms)
    }
}

/// Tasks in memory: they end with the process.
pub struct MemoryTasks {
    memory: Mutex<Memory>,
    bytes_max: usize,
}

#[derive(Default)]
struct Memory {
    records: HashMap<Arc<str>, TaskRecord>,
    ages: Ages,
    bytes: usize,
}

impl Default for MemoryTasks {
    /// As many bytes as [`Limits::task_bytes`] says by default.
    fn default() -> Self {
        Self::new(Limits::default().task_bytes)
    }
}

impl MemoryTasks {
    /// Tasks of so many bytes in all. When there are more, what has been over for longest is
    /// forgotten; a task that alone has more is not taken.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { memory: Mutex::default(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn remove(&mut self, id: &Arc<str>) {
        self.ages.forget(id);
        if let Some(record) = self.records.remove(id) {
            self.bytes -= record.bytes();
        }
    }

    fn put(&mut self, record: TaskRecord, bytes_max: usize) -> io::Result<()> {
        let (id, bytes) = (Arc::from(&*record.id), record.bytes());
        let before = self.records.get(&id).map_or(0, TaskRecord::bytes);
        let too_large = || {
            let message = format!("{bytes} bytes are more than there is room for: {bytes_max}");
            io::Error::other(message)
        };
        if bytes > bytes_max {
            return Err(too_large());
        }
        while self.bytes - before + bytes > bytes_max {
            let oldest = self.ages.oldest_over().filter(|oldest| *oldest != id);
            self.remove(&oldest.ok_or_else(too_large)?);
        }
        self.remove(&id);
        self.ages.add(&id, record.expires_ms());
        if record.is_over() {
            self.ages.end(&id);
        }
        self.bytes += bytes;
        self.records.insert(id, record);
        Ok(())
    }
}

fn at_once<'a, T: Send + 'a>(result: io::Result<T>) -> Stored<'a, T> {
    Box::pin(std::future::ready(result))
}

impl TaskStore for MemoryTasks {
    fn put(&self, record: TaskRecord) -> Stored<'_, ()> {
        at_once(self.lock().put(record, self.bytes_max))
    }

    fn find<'a>(&'a self, id: &'a str) -> Stored<'a, Option<TaskRecord>> {
        at_once(Ok(self.lock().records.get(id).cloned()))
    }

    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        self.lock().remove(&id.into());
        at_once(Ok(()))
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        let mut memory = self.lock();
        while let Some(id) = memory.ages.first_expired(now_ms) {
            memory.remove(&id);
        }
        at_once(Ok(()))
    }
}

/// Tasks in a folder, a file for each: they outlive the process. What ran when it ended has failed
/// when the next one looks. One process at a time; nobody else on the machine can read them.
pub struct FolderTasks(Arc<Folder>);

struct Folder {
    path: PathBuf,
    /// The files by when they expire, so that a sweep reads none.
    kept: Mutex<Ages>,
    /// How many files were written: no two at once have the same name.
    written: AtomicU64,
}

/// How the names of files end that are being written.
const PART: &str = "part";
/// The most that one file holds.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long a file stays that cannot be read as a task, for a person to look at.
const UNREADABLE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// When a file that could not be removed is tried again.
const REMOVED_AGAIN: Duration = Duration::from_secs(60);

impl FolderTasks {
    /// Tasks in that folder, which is made if it is not there. A file that cannot be read as a task
    /// is left alone for a day after it was written.
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
                continue;
            }
            match read(&path) {
                Ok(Some(record)) if record.id == id => folder.take_over(record)?,
                Ok(None) => {}
                _ => folder.keep_until(id, unreadable_until(&path)?),
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

    fn remove<'a>(&'a self, id: &'a str) -> Stored<'a, ()> {
        if !is_id(id) {
            return at_once(Ok(()));
        }
        let id = Arc::from(id);
        Box::pin(self.blocking(move |folder| folder.remove(&id)))
    }

    fn sweep(&self, now_ms: u64) -> Stored<'_, ()> {
        Box::pin(self.blocking(move |folder| {
            loop {
                let Some(id) = folder.kept().first_expired(now_ms) else { return Ok(()) };
                if let Err(error) = folder.remove(&id) {
                    // One that stays must not keep the others.
                    let later = now_ms.saturating_add(in_ms(REMOVED_AGAIN));
                    folder.keep_until(&id, later);
                    return Err(error);
                }
            }
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

/// When a file that cannot be read as a task goes.
fn unreadable_until(path: &Path) -> io::Result<u64> {
    let written = std::fs::metadata(path)?.modified()?;
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(in_ms(since.saturating_add(UNREADABLE_KEPT)))
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Folder {
    /// What an earlier process has left.
    fn take_over(&self, mut record: TaskRecord) -> io::Result<()> {
        self.keep(&record);
        if record.is_over() {
            return Ok(());
        }
        let error = r#"{"code":-31005,"message":"Cancelled: the server was restarted"}"#;
        let error = RawValue::from_string(error.to_owned()).map_err(io::Error::other)?;
        record.state = TaskState::Failed { error };
        self.write(&record)
    }

    fn remove(&self, id: &Arc<str>) -> io::Result<()> {
        match std::fs::remove_file(self.path.join(file_name(id))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.kept().forget(id);
        Ok(())
    }

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
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let place = self.path.join(file_name(&record.id));
        if let Err(error) = written.and_then(|()| std::fs::rename(&part, place)) {
            // Half a file on a full disk helps nobody.
            let _ = std::fs::remove_file(&part);
            return Err(error);
        }
        self.keep(record);
        // Elsewhere a folder cannot be opened.
        #[cfg(unix)]
        std::fs::File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    fn keep(&self, record: &TaskRecord) {
        self.keep_until(&record.id, record.expires_ms());
    }

    fn keep_until(&self, id: &str, expires_ms: u64) {
        self.kept().add(&id.into(), expires_ms);
    }

    fn kept(&self) -> MutexGuard<'_, Ages> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
