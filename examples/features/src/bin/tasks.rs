//! Tasks: work that goes on after the answer, and whose result is still there after a restart,
//! because it is kept in a folder.
//! `haft call --command target/debug/tasks total_size directory=docs --tasks`

use haft::{Context, FolderTasks};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::sleep;

/// More files than these are not counted while a client waits.
const FEW: usize = 100;

/// Adds up how large the files of a directory are, in bytes.
///
/// Always a task; a client that takes no tasks waits for the answer.
#[haft::tool(read_only, blocking, task)]
fn total_size(directory: String) -> io::Result<String> {
    let sizes = files(Path::new(&directory))?.into_iter().map(|path| Ok(fs::metadata(path)?.len()));
    Ok(format!("{} bytes", sizes.sum::<io::Result<u64>>()?))
}

/// Finds the files of a directory that contain a word.
///
/// A task only if there is much to read.
#[haft::tool(read_only, task = on_demand)]
async fn search(directory: String, word: String, context: Context) -> io::Result<String> {
    let files = files(Path::new(&directory))?;
    if files.len() > FEW {
        context.become_task().await;
    }
    let mut found = Vec::new();
    for (done, path) in files.iter().enumerate() {
        let message = format!("{done} of {} files are read", files.len());
        context.progress(done as f64, Some(files.len() as f64), Some(&message));
        if fs::read(path)?.windows(word.len().max(1)).any(|part| part == word.as_bytes()) {
            found.push(path.display().to_string());
        }
        tokio::task::yield_now().await;
    }
    Ok(format!("{} files: {}", found.len(), found.join(", ")))
}

/// Waits until a file is there, like the one that a nightly job writes.
///
/// Modern clients without tasks are refused: nobody would wait that long.
#[haft::tool(read_only, task = required, task_ttl = "24h")]
async fn wait_for_file(path: PathBuf) -> String {
    while !path.exists() {
        sleep(Duration::from_millis(200)).await;
    }
    format!("{} is there", path.display())
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let paths: io::Result<Vec<PathBuf>> = entries.collect();
    Ok(paths?.into_iter().filter(|path| path.is_file()).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::var_os("TASKS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("haft-tasks"));
    haft::server("tasks", "1.0.0")
        .task_store(FolderTasks::open(folder)?)
        .tools(haft::tools![total_size, search, wait_for_file])
        .run()?;
    Ok(())
}
