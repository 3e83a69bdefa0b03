//! Progress and log messages: a tool that reads many files says how far it is, and what it leaves
//! out. `haft call --command target/debug/progress_and_logs count_lines directory=docs`

use haft::Context;
use std::fs;
use std::io;

/// Counts the lines of the text files of a directory.
#[haft::tool(blocking, read_only)]
fn count_lines(
    /// The directory; those inside it are left out.
    directory: String,
    context: &Context,
) -> Result<String, io::Error> {
    let paths: Vec<_> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let mut files: Vec<_> = paths.into_iter().filter(|path| path.is_file()).collect();
    files.sort();

    let mut lines = 0;
    for (done, path) in files.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The client sees this only if it asked for progress; otherwise it costs nothing.
        context.progress(done as f64, Some(files.len() as f64), Some(&name));
        match fs::read_to_string(path) {
            Ok(text) => lines += text.lines().count(),
            // And this, if it wants logs of that level.
            Err(error) => context.warning(&format!("{name} is left out: {error}")),
        }
    }
    Ok(format!("{lines} lines in {} files", files.len()))
}

fn main() -> haft::Result<()> {
    haft::server("progress_and_logs", "1.0.0").tool(count_lines::tool()).run()
}
