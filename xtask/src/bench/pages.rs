//! `cargo xtask bench table`: the pages that tell what was measured, made of the files in
//! `benchmarks/results` and of nothing else. `tidy` makes sure that they are; it measures nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::pairs::Table;
use super::reach;
use super::results::Results;
use super::server::Group;
use super::{gateway, links, memory, single_table, table};
use crate::failure::Failure;

/// The short page and the long one.
const PAGES: [&str; 2] = ["README.md", "benchmarks/README.md"];
/// All that is measured, in the order of the long page.
const TABLES: [&str; 10] = [
    "codec",
    "dispatch",
    "frames",
    "schemas",
    "memory",
    "limits",
    "peers",
    "runtimes",
    gateway::TABLE,
    links::TABLE,
];
/// The rows of the short page.
const REACH: &str = "reach";
const BEGIN: &str = "<!-- results: ";
const CLOSE: &str = " -->\n";
const END: &str = "<!-- end of results -->";
const COMMAND: &str = "cargo xtask bench table --update";

/// Writes the pages, or says whether they are right.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => {
            check()?;
            println!("{} say what benchmarks/results says", PAGES.join(" and "));
            Ok(())
        }
        [only] if only == "--update" => {
            let files = files()?;
            fit_to_publish(&files)?;
            let parts = parts(&files);
            for path in PAGES {
                let text = read(path)?;
                let right = filled(path, &text, &parts)?;
                if right != text {
                    fs::write(path, right).map_err(|source| Failure::file(path, source))?;
                    println!("{path} is written anew");
                }
            }
            Ok(())
        }
        _ => Err(Failure::BadArguments("`bench table` takes `--update` or nothing".to_owned())),
    }
}

/// Whether the pages say what the files say.
pub(crate) fn check() -> Result<(), Failure> {
    let parts = parts(&files()?);
    for path in PAGES {
        let text = read(path)?;
        if filled(path, &text, &parts)? != text {
            let said = format!("{path} says something else than the results, run `{COMMAND}`");
            return Err(Failure::SuiteBroken(said));
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|source| Failure::file(path, source))
}

fn files() -> Result<BTreeMap<&'static str, Results>, Failure> {
    TABLES.into_iter().map(|name| Ok((name, Results::open(name, false)?))).collect()
}

/// What `facts` puts behind a commit that is not all that was measured.
const DIRTY: &str = "-dirty";

/// That nobody has to guess which sources were measured. A table that has nothing else is better
/// than none; the pages that are there may still tell of what was published before.
fn fit_to_publish(files: &BTreeMap<&'static str, Results>) -> Result<(), Failure> {
    let is_dirty = |run: &&Value| run["commit"].as_str().is_some_and(|it| it.ends_with(DIRTY));
    for (name, results) in files {
        let is_of = |run: &&Value| results.cases.iter().any(|case| case["run"] == run["at"]);
        let runs: Vec<&Value> = results.runs.iter().filter(is_of).collect();
        let dirty = runs.iter().copied().find(is_dirty);
        if let Some(run) = dirty.filter(|_| !runs.iter().all(is_dirty)) {
            let (path, commit) = (results.path().display(), run["commit"].as_str());
            let commit = commit.unwrap_or_default();
            let said = format!(
                "{path} has results of {commit}, sources that nobody else has: commit them, and \
                 measure again with `cargo xtask bench {name}`"
            );
            return Err(Failure::SuiteBroken(said));
        }
    }
    Ok(())
}

/// What stands in each part, by its name.
fn parts(files: &BTreeMap<&'static str, Results>) -> BTreeMap<&'static str, String> {
    let mut parts: BTreeMap<&str, String> =
        files.iter().map(|(name, results)| (*name, part(name, results))).collect();
    let cases = |file: &str| files.get(file).map_or(&[][..], |results| &results.cases[..]);
    let is_empty = files.values().all(|results| results.cases.is_empty());
    let rows = if is_empty {
        "Nothing is measured yet: there is no file in `benchmarks/results`.\n".to_owned()
    } else {
        format!("{}\n{}\n", reach::table(&cases), all_told(files))
    };
    parts.insert(REACH, rows);
    parts
}

/// A table, and when, of what and where it was measured.
fn part(name: &str, results: &Results) -> String {
    if results.cases.is_empty() {
        return format!("Nothing is measured yet: `cargo xtask bench {name}` does it.\n");
    }
    let cases = &results.cases;
    let table = match name {
        "peers" => table::tables(Group::Peer, cases),
        "limits" => table::tables(Group::Limit, cases),
        "runtimes" => table::tables(Group::Runtime, cases),
        gateway::TABLE => gateway::table(cases),
        links::TABLE => links::table(cases),
        _ => Table::named(name)
            .map_or_else(|| memory::table(cases), |table| single_table::of(table, cases)),
    };
    let count = |run: &Value| cases.iter().filter(|case| case["run"] == run["at"]).count();
    let runs = results.runs.iter().map(|run| format!("{}\n", told(run, count(run), cases.len())));
    format!("{}\n{table}", runs.collect::<String>())
}

/// One line on a run.
fn told(run: &Value, count: usize, all: usize) -> String {
    let text = |key: &str| run[key].as_str().unwrap_or("unknown");
    let day = text("at").split('T').next().unwrap_or_default();
    let rustc = text("rustc").split(" (").next().unwrap_or_default();
    let which = if count == all { String::new() } else { format!("{count} of {all} cases: ") };
    format!(
        "{which}{day}, commit {}, {rustc}, {}, {} processors, kernel {}.",
        text("commit"),
        text("processor"),
        run["processors"],
        text("kernel"),
    )
}

/// When and of which commits all of it is; which is of which, the long page says.
fn all_told(files: &BTreeMap<&'static str, Results>) -> String {
    let mut days = BTreeMap::<String, BTreeSet<&str>>::new();
    for results in files.values() {
        let is_of = |run: &Value| results.cases.iter().any(|case| case["run"] == run["at"]);
        for run in results.runs.iter().filter(|run| is_of(run)) {
            let text = |key: &str| run[key].as_str().unwrap_or("unknown");
            let day = text("at").split('T').next().unwrap_or_default();
            days.entry(day.to_owned()).or_default().insert(text("commit"));
        }
    }
    let day = |(day, commits): (&String, &BTreeSet<&str>)| {
        let commits: Vec<&str> = commits.iter().copied().collect();
        format!("{day} of commit {}", commits.join(", "))
    };
    let days: Vec<String> = days.iter().map(day).collect();
    format!("Measured {}; each table of the long page says of which it is.", days.join("; "))
}

/// A page with all of its parts as they should be.
fn filled(
    path: &str,
    text: &str,
    parts: &BTreeMap<&'static str, String>,
) -> Result<String, Failure> {
    let broken = |why: &str| Failure::SuiteBroken(format!("{path} has {why}"));
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(CLOSE).ok_or_else(|| broken("an open mark"))?;
        let (_, after) =
            behind.split_once(END).ok_or_else(|| broken(&format!("no `{END}` for `{name}`")))?;
        let part = parts.get(name).ok_or_else(|| broken(&format!("a part `{name}`")))?;
        out += &format!("{before}{BEGIN}{name}{CLOSE}\n{part}\n{END}");
        rest = after;
    }
    if out.is_empty() {
        return Err(broken(&format!("no part that begins with `{BEGIN}`")));
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::{PAGES, REACH, TABLES, filled, fit_to_publish, part, parts};
    use crate::bench::results::Results;
    use serde_json::json;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn none() -> BTreeMap<&'static str, Results> {
        TABLES.into_iter().map(|name| (name, Results::default())).collect()
    }

    #[test]
    fn only_what_is_between_the_marks_is_written() {
        let page = "before\n<!-- results: a -->\nold\n<!-- end of results -->\nbetween\n\
                    <!-- results: b --><!-- end of results -->\nafter\n";
        let page = page.replace("b --><", "b -->\n<");
        let parts = [("a", "new\n".to_owned()), ("b", "other\n".to_owned())].into();
        let right = filled("page", &page, &parts).expect("marks");
        let expected = "before\n<!-- results: a -->\n\nnew\n\n<!-- end of results -->\nbetween\n\
                        <!-- results: b -->\n\nother\n\n<!-- end of results -->\nafter\n";
        assert_eq!(right, expected);
        assert_eq!(filled("page", &right, &parts).expect("marks"), right, "it stays so");
    }

    #[test]
    fn a_page_without_its_marks_is_told() {
        for page in ["no part", "<!-- results: a -->\nopen", "<!-- results: who -->\n"] {
            let said = filled("page.md", page, &BTreeMap::new()).expect_err(page).to_string();
            assert!(said.contains("page.md"), "{said}");
        }
    }

    #[test]
    fn a_table_tells_when_and_where_it_was_measured() {
        let mut results = Results::default();
        results.begin(json!({
            "at": "2026-01-02T03:04:05Z", "commit": "abc", "rustc": "rustc 1.95.0 (1 2)",
            "processor": "Some Processor", "processors": 2, "kernel": "6.1",
        }));
        results.put(json!({ "scenario": "heap-at-rest", "against": "haft", "value": 9 }));
        let part = part("memory", &results);
        let expected = "2026-01-02, commit abc, rustc 1.95.0, Some Processor, 2 processors, \
                        kernel 6.1.\n\n| what |";
        assert!(part.starts_with(expected), "{part}");
    }

    #[test]
    fn the_short_table_tells_when_and_of_which_commit_it_is() {
        let mut files = none();
        for (name, at, commit) in [
            ("memory", "2026-01-02T03:04:05Z", "abc"),
            ("codec", "2026-01-02T04:04:05Z", "def"),
            ("peers", "2026-01-03T03:04:05Z", "abc"),
        ] {
            let results = files.get_mut(name).expect("a table");
            results.begin(json!({ "at": at, "commit": commit }));
            results.put(json!({ "scenario": "calls-legacy", "against": "haft", "value": 1.01 }));
        }
        let expected = "Measured 2026-01-02 of commit abc, def; 2026-01-03 of commit abc; each";
        let short = &parts(&files)[REACH];
        assert!(short.contains(expected), "{short}");
    }

    #[test]
    fn what_was_measured_of_changed_sources_is_published_only_where_nothing_else_is() {
        let of = |commits: &[&str]| {
            let mut files = none();
            let results = files.get_mut("gateway").expect("a table");
            for commit in commits {
                results.begin(json!({ "at": commit, "commit": commit }));
                results.put(json!({ "scenario": commit, "against": "haft", "value": 1 }));
            }
            fit_to_publish(&files).map_err(|failure| failure.to_string())
        };
        for fit in [&[][..], &["abc"], &["abc", "def"], &["abc-dirty"], &["a-dirty", "b-dirty"]] {
            assert_eq!(of(fit), Ok(()), "{fit:?}");
        }
        let said = of(&["abc", "def-dirty"]).expect_err("one is of a commit");
        assert!(
            said.contains("def-dirty") && said.contains("`cargo xtask bench gateway`"),
            "{said}"
        );
    }

    #[test]
    fn nothing_measured_is_said_in_words() {
        let parts = parts(&none());
        assert!(parts["codec"].contains("`cargo xtask bench codec`"), "{}", parts["codec"]);
        assert!(parts[REACH].contains("Nothing is measured yet"), "{}", parts[REACH]);
    }

    #[test]
    fn the_pages_have_every_part() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("a page");
        let [short, long] = PAGES.map(read);
        assert!(short.contains(&format!("<!-- results: {REACH} -->\n")));
        for name in TABLES {
            assert!(long.contains(&format!("<!-- results: {name} -->\n")), "{name}");
        }
    }
}
