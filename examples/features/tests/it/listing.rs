//! What people read of the examples: the table names each, and each is short.

use std::path::Path;

#[test]
fn the_table_has_every_example_and_none_is_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("../README.md")).expect("it is there");
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("src/bin")).expect("it is there") {
        let path = entry.expect("it is there").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (file, path) = match path.is_dir() {
            true => (format!("{name}/main.rs"), path.join("main.rs")),
            false => (format!("{name}.rs"), path),
        };
        let link = format!("| [{name}](features/src/bin/{file}) |");
        assert!(table.contains(&link), "the table has no {link}");
        let lines = std::fs::read_to_string(&path).expect("it is text").lines().count();
        assert!(lines <= 70, "{name} has {lines} lines");
        count += 1;
    }
    assert!(count >= 16, "{count}");
}
