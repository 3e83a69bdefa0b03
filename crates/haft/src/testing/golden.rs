//! What clients see of a server's tools, kept in a file: a change of a description or a schema is
//! then seen in review. Used by `assert_tools!`; writes only when asked to.

use super::client::{Testable, client};
use super::diff;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Compares the tools of a server with a file, JSON that is relative to the crate's root. With
/// `UPDATE_GOLDEN=1` in the environment it writes the file instead.
///
/// ```no_run
/// # fn server() -> haft::ServerBuilder { haft::server("a", "1") }
/// # async fn test() {
/// haft::testing::assert_tools!(server(), "tests/tools.json");
/// # }
/// ```
#[macro_export]
macro_rules! assert_tools {
    ($server:expr, $file:expr $(,)?) => {
        $crate::testing::check_tools($server, ::core::env!("CARGO_MANIFEST_DIR"), $file).await
    };
}

/// What `assert_tools!` calls.
///
/// # Panics
/// The tools differ from the file, or the file cannot be read or written.
pub async fn check_tools(server: impl Testable, root: &str, file: &str) {
    let tools = client(server).list_tools().await;
    let written = serde_json::to_string_pretty(&Value::Array(tools)).expect("it is JSON") + "\n";
    let path = Path::new(root).join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value != "0") {
        if let Err(error) = fs::write(&path, &written) {
            panic!("cannot write {}: {error}", path.display());
        }
        return;
    }
    let kept = match fs::read_to_string(&path) {
        Ok(kept) => kept,
        Err(error) => panic!("cannot read {file}: {error}; UPDATE_GOLDEN=1 writes it"),
    };
    if kept != written {
        let changes = diff::lines(&kept, &written);
        panic!("the tools differ from {file}:\n{changes}UPDATE_GOLDEN=1 writes them as they are");
    }
}
