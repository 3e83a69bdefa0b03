//! The files that a haft.yaml refers to, found by looking whether its texts name some. Used to
//! make a bundle; what lies outside of the file's directory is refused, since it would not be
//! there.

use crate::exit::{Exit, Failure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most files of a bundle, and the most bytes of all.
pub(crate) const FILES_MAX: usize = 10_000;
pub(crate) const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The deepest directory below one that is taken along.
const DEPTH_MAX: usize = 32;

/// Keys under which a text is the name of a directory, and not a word that happens to be one.
const DIRECTORY_KEYS: [&str; 2] = ["cwd", "directory"];

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Paths relative to the directory, in order.
    pub(crate) files: BTreeSet<PathBuf>,
    /// Those whose content becomes part of the file: secrets, maybe.
    pub(crate) filled_in: BTreeSet<PathBuf>,
    bytes: u64,
}

/// The files that `written` names, and the `more` that were asked for.
pub(crate) fn gather(
    directory: &Path,
    written: &Value,
    more: &[PathBuf],
) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::default();
    gathered.value(directory, "", written)?;
    for path in more {
        let path = std::path::absolute(path)?;
        let inner = path.strip_prefix(directory).map_err(|_| outside(&path))?.to_owned();
        gathered.path(directory, &inner, true)?;
    }
    Ok(gathered)
}

impl Gathered {
    fn value(&mut self, directory: &Path, key: &str, value: &Value) -> Result<(), Failure> {
        match value {
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.value(directory, key, item))
            }
            Value::Object(fields) => {
                // What tools keep is the author's own.
                let fields = fields.iter().filter(|(key, _)| *key != "state");
                fields.into_iter().try_for_each(|(key, value)| self.value(directory, key, value))
            }
            Value::String(text) => self.text(directory, key, text),
            _ => Ok(()),
        }
    }

    fn text(&mut self, directory: &Path, key: &str, text: &str) -> Result<(), Failure> {
        for (at, mark) in text.match_indices("${file:") {
            let rest = &text[at + mark.len()..];
            let inner = Path::new(rest.split('}').next().unwrap_or_default());
            if !inner.is_absolute() {
                self.path(directory, inner, false)?;
                self.filled_in.insert(plain(inner));
            }
        }
        // Templates name no file before they are called.
        if text.is_empty() || text.len() > 4096 || text.contains(['\n', '\0', '{']) {
            return Ok(());
        }
        // Files of pforge name a file by its address alone.
        let text = text.strip_prefix("file://").unwrap_or(text);
        let inner = Path::new(text);
        let means_directory = DIRECTORY_KEYS.contains(&key) || text.starts_with("./");
        if inner.is_absolute() || plain(inner).as_os_str().is_empty() {
            return Ok(());
        }
        let whole = directory.join(inner);
        if whole.is_file() || (means_directory && whole.is_dir()) {
            // A `cwd` above the file is a place to be, nothing to take along.
            let leads_out = inner.components().any(|part| part == Component::ParentDir);
            if leads_out && key == "cwd" {
                return Ok(());
            }
            return self.path(directory, inner, means_directory);
        }
        Ok(())
    }

    fn path(&mut self, directory: &Path, inner: &Path, whole: bool) -> Result<(), Failure> {
        let path = directory.join(inner);
        let real = fs::canonicalize(&path).map_err(|error| unreadable(&path, &error))?;
        let root = fs::canonicalize(directory).map_err(|error| unreadable(directory, &error))?;
        if !real.starts_with(&root) {
            return Err(outside(&path));
        }
        if real.is_dir() && whole {
            return self.directory(directory, &plain(inner), 0);
        }
        self.file(directory, plain(inner))
    }

    fn directory(&mut self, root: &Path, inner: &Path, depth: usize) -> Result<(), Failure> {
        if depth > DEPTH_MAX {
            let message = format!("{} is deeper than {DEPTH_MAX} levels", inner.display());
            return Err(Failure::new(Exit::Other, message));
        }
        let path = root.join(inner);
        let entries = fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&path, &error))?;
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            let inner = inner.join(entry.file_name());
            // Hidden files are not served, and links may lead anywhere.
            if entry.file_name().to_string_lossy().starts_with('.') || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                self.directory(root, &inner, depth + 1)?;
            } else if kind.is_file() {
                self.file(root, inner)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, root: &Path, inner: PathBuf) -> Result<(), Failure> {
        let path = root.join(&inner);
        let meta = fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
        if self.files.insert(inner) {
            self.bytes = self.bytes.saturating_add(meta.len());
        }
        if self.files.len() > FILES_MAX || self.bytes > BYTES_MAX {
            let message = format!(
                "the file refers to more than {FILES_MAX} files or {} MB, up to {}",
                BYTES_MAX / 1_000_000,
                path.display()
            );
            return Err(Failure::new(Exit::Other, message).hint("refer to less"));
        }
        Ok(())
    }
}

/// A path without `.` in it, and with each `..` resolved as far as it goes.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            other => plain.push(other),
        }
    }
    plain
}

fn outside(path: &Path) -> Failure {
    let message = format!("{} lies outside of the file's directory", path.display());
    Failure::usage(message)
        .hint("a bundle holds only what is beside or below the file; move it there")
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs::File;

    #[test]
    fn too_many_files_and_too_deep_ones_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let many = root.join("many");
        fs::create_dir(&many).expect("it is ours");
        for index in 0..=FILES_MAX {
            File::create(many.join(index.to_string())).expect("it is ours");
        }
        let failure = gather(root, &json!({}), &[many]).expect_err("too many");
        assert!(failure.message.contains("more than 10000 files"), "{failure:?}");
        let mut deep = root.join("deep");
        deep.extend(std::iter::repeat_n("d", DEPTH_MAX + 1));
        fs::create_dir_all(deep).expect("it is ours");
        let failure = gather(root, &json!({}), &[root.join("deep")]).expect_err("too deep");
        assert!(failure.message.contains("deeper than 32 levels"), "{failure:?}");
        let large = File::create(root.join("large")).expect("it is ours");
        // Of holes.
        large.set_len(BYTES_MAX + 1).expect("it is ours");
        let failure = gather(root, &json!({}), &[root.join("large")]).expect_err("too large");
        assert!(failure.message.contains("or 1073 MB"), "{failure:?}");
    }

    #[test]
    fn what_is_named_is_gathered_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        for file in ["a.sh", "docs/b.md", "docs/.hidden", "docs/in/c.md", "word/d", "token"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("it is inside")).expect("it is ours");
            fs::write(path, "x").expect("it is ours");
        }
        let written = json!({
            "tools": [{"command": ["./a.sh", "word", "{{ docs }}"], "cwd": ".."}],
            "resources": [{"directory": "docs", "text": "T ${file:token}"}],
        });
        let gathered = gather(root, &written, &[]).expect("all is inside");
        let files: Vec<&str> = gathered.files.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(files, ["a.sh", "docs/b.md", "docs/in/c.md", "token"]);
        assert_eq!(gathered.filled_in.len(), 1);
        fs::create_dir(root.join("inner")).expect("it is ours");
        let outer = json!({"file": "../a.sh"});
        let failure = gather(&root.join("inner"), &outer, &[]).expect_err("it is outside");
        assert!(failure.message.contains("outside"), "{failure:?}");
        let more = gather(root, &json!({}), &[root.join("word")]).expect("it is inside");
        assert_eq!(more.files.len(), 1);
    }
}
