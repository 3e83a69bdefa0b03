//! The table of `docs/interop.md`: what each client can. It is made of the same lists that `walk`
//! holds against the clients. `UPDATE_GOLDEN=1` writes it; the text around it stays.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::client::{Client, Era};
use super::process::Wire;
use super::unable;
use super::walk::STEPS;

/// What the table stands between.
const BEGIN: &str =
    "<!-- The table is written by `UPDATE_GOLDEN=1 cargo test -p haft-cli interop`. -->\n";
const END: &str = "<!-- The table ends here. -->\n";

#[test]
fn the_page_on_interop_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/interop.md");
    let page = fs::read_to_string(&path).expect("docs/interop.md is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page says where its table begins");
    let (_, after) = rest.split_once(END).expect("the page says where its table ends");
    let written = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &written).expect("docs/interop.md can be written");
        return;
    }
    assert!(page == written, "docs/interop.md is old; UPDATE_GOLDEN=1 writes its table anew");
}

fn table() -> String {
    let columns: Vec<(Client, Era)> = Client::ALL
        .into_iter()
        .flat_map(|client| client.eras().iter().map(move |&era| (client, era)))
        .collect();
    let mut notes: Vec<String> = Vec::new();
    let mut text = String::from("|  |");
    for (client, era) in &columns {
        write!(text, " {}, {} |", client.title(), era.name()).expect("memory takes it");
    }
    text += "\n| --- |";
    text += &" --- |".repeat(columns.len());
    for (name, title, in_modern) in STEPS {
        write!(text, "\n| {title} |").expect("memory takes it");
        for &(client, era) in &columns {
            let exists = in_modern || era == Era::Legacy;
            let cell = if exists { cell(client, era, name, &mut notes) } else { "–".to_owned() };
            write!(text, " {cell} |").expect("memory takes it");
        }
    }
    text += "\n\n“–”: the era has no such thing.\n";
    for (number, note) in (1..).zip(&notes) {
        write!(text, "\n{number}. {note}").expect("memory takes it");
    }
    text += "\n\n| client | package | version |\n| --- | --- | --- |\n";
    for client in Client::ALL {
        let (package, version) = (client.package(), version(client));
        writeln!(text, "| {} | `{package}` | {version} |", client.title())
            .expect("memory takes it");
    }
    text
}

fn cell(client: Client, era: Era, step: &str, notes: &mut Vec<String>) -> String {
    match Wire::ALL.map(|wire| unable::reason(client, era, wire, step)) {
        [None, None] => "yes".to_owned(),
        [Some(reason), Some(_)] => format!("no ({})", note(client, reason, notes)),
        [None, Some(reason)] => format!("over stdio ({})", note(client, reason, notes)),
        [Some(reason), None] => format!("over HTTP ({})", note(client, reason, notes)),
    }
}

/// The number of a note, which is written once.
fn note(client: Client, reason: &str, notes: &mut Vec<String>) -> usize {
    let text = format!("{}: {reason}.", client.title());
    let known = notes.iter().position(|known| *known == text);
    known.unwrap_or_else(|| {
        notes.push(text);
        notes.len() - 1
    }) + 1
}

/// The version that the lists of the package managers ask for.
fn version(client: Client) -> String {
    let list = |name: &str| {
        let path: PathBuf = client.kit().sources().join(name);
        // A line begins with the name of a package, and other names may end with it.
        "\n".to_owned() + &fs::read_to_string(path).expect("the list of the packages is there")
    };
    let (list, before) = match client {
        Client::Go => (list("go.mod"), format!("{} v", client.package())),
        Client::Python => (list("requirements.txt"), format!("\n{}==", client.package())),
        Client::Rust => (list("Cargo.toml"), format!("{} = {{ version = \"=", client.package())),
        _ => (list("package.json"), format!("\"{}\": \"", client.package())),
    };
    let (_, rest) = list.split_once(&before).expect("the list names the package");
    rest.split(['"', '\n']).next().unwrap_or_default().to_owned()
}
