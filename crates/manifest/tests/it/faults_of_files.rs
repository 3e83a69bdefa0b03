//! Faults of the file as a whole, and the drawing itself.

use crate::fixture::Desk;
use std::path::Path;

/// Checks the fault of a file of these bytes, without the directory of its path.
#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let desk = Desk::with("");
    std::fs::write(desk.file("haft.yaml"), bytes).expect("it is ours");
    assert_eq!(fault(&desk, "haft.yaml"), expected);
}

#[track_caller]
fn fault(desk: &Desk, name: &str) -> String {
    match haft_manifest::load(&desk.file(name)) {
        Ok(_) => panic!("there is a fault"),
        Err(fault) => fault.to_string().replace(&format!("{}/", desk.path().display()), ""),
    }
}

#[test]
fn a_fault_is_drawn_in_five_lines() {
    let yaml = b"server: { name: a }\ntools:\n  - name: greet\n    txt: Hello\n";
    let expected = "\
haft.yaml:4:5: `txt` is no known key of a tool
  |
4 |     txt: Hello
  |     ^^^
  = help: did you mean `text`?";
    check(yaml, expected);
}

#[test]
fn the_margin_is_as_wide_as_the_number_of_the_line() {
    let mut yaml = "server: { name: a }\n".to_owned();
    yaml.push_str(&"# a line\n".repeat(120));
    yaml.push_str("listn: []\n");
    let expected = "\
haft.yaml:122:1: `listn` is no known key of a manifest
    |
122 | listn: []
    | ^^^^^
    = help: did you mean `listen`?";
    check(yaml.as_bytes(), expected);
}

#[test]
fn colour_changes_nothing_else() {
    let desk = Desk::with("servr: {}\n");
    let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else { panic!("it is wrong") };
    let coloured = fault.coloured();
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = &*coloured;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    assert_eq!(plain, fault.to_string());
}

#[test]
fn a_fault_can_be_taken_apart() {
    let desk = Desk::with("server: { name: a }\ntoolz: []\n");
    let path = desk.file("haft.yaml");
    let Err(fault) = haft_manifest::load(&path) else { panic!("it is wrong") };
    assert_eq!((fault.path(), fault.line(), fault.column()), (&*path, Some(2), Some(1)));
    assert_eq!(fault.help().as_deref(), Some("did you mean `tools`?"));
    assert!(fault.message().ends_with("haft.yaml:2:1: `toolz` is no known key of a manifest"));
}

#[test]
fn what_is_no_file_has_no_line() {
    let desk = Desk::with("");
    let help = "\n = help: `haft new` writes a file to begin with";
    assert_eq!(fault(&desk, "nowhere.yaml"), format!("nowhere.yaml: there is no such file{help}"));
    std::fs::create_dir(desk.file("directory")).expect("it is ours");
    assert_eq!(
        fault(&desk, "directory"),
        "directory: it is a directory, not a file\n = help: name the file in it"
    );
}

#[test]
fn a_file_that_is_not_utf_8_is_shown_where_it_stops_being_it() {
    let expected = "\
haft.yaml:2:4: the file is not UTF-8
  |
2 | # \u{e4}\u{fffd}
  |    ^
  = help: save it as UTF-8";
    check(b"server: { name: a }\n# \xc3\xa4\xe4\n", expected);
}

#[test]
fn a_file_of_more_than_ten_megabytes_is_not_read() {
    let mut yaml = b"server: { name: a }\n".to_vec();
    yaml.resize(10_000_001, b'#');
    let expected = "haft.yaml: the file is larger than 10000000 bytes\n = help: split it, or move \
                    long texts to files: ${file:PATH}";
    check(&yaml, expected);
    yaml.truncate(10_000_000);
    let desk = Desk::with("");
    std::fs::write(desk.file("haft.yaml"), yaml).expect("it is ours");
    assert_eq!(desk.manifest().name(), "a");
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut yaml = "server: { name: a }\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let desk = Desk::with(&yaml);
    let drawn = fault(&desk, "haft.yaml");
    assert!(drawn.contains(": this is more YAML than is read"), "{drawn}");
    assert!(drawn.ends_with("help: use fewer aliases"), "{drawn}");
}

#[test]
fn what_nests_without_end_is_refused() {
    for depth in [64, 100, 100_000] {
        let desk = Desk::with(&format!("server: {}{}", "[".repeat(depth), "]".repeat(depth)));
        let drawn = fault(&desk, "haft.yaml");
        assert!(drawn.contains(": lists and mappings nest deeper than 64"), "{drawn}");
    }
    let desk = Desk::with(&format!("server: {}{}", "[".repeat(63), "]".repeat(63)));
    assert!(fault(&desk, "haft.yaml").contains("`server` must be a mapping, not a list"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let fault = haft_manifest::parse(Path::new("haft.yaml"), "\u{feff}servr: {}\n");
    assert_eq!(fault.err().and_then(|fault| fault.column()), Some(1));
    let manifest = haft_manifest::parse(Path::new("haft.yaml"), "\u{feff}server: { name: a }\n");
    assert_eq!(manifest.map(|manifest| manifest.name().to_owned()), Ok("a".to_owned()));
}
