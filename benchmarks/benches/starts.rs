//! From the start of the process to its first answer: `haft serve FILE --stdio` with files of
//! several sizes, beside a process that does nothing, in turns. Prints medians and their ratios;
//! judges nothing. It runs `target/release/haft`, which `cargo build --release -p haft-cli` makes.
//! `cargo bench -p haft-benchmarks --bench starts`

#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many starts of each.
const TURNS: usize = 100;
const TOOLS: [usize; 3] = [1, 50, 500];

const DISCOVER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only asks whether it runs.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let haft = root.join("target/release/haft");
    if !haft.exists() {
        println!("skipped: build it first, by `cargo build --release -p haft-cli`");
        return Ok(());
    }
    let directory = root.join("target/starts");
    std::fs::create_dir_all(&directory)?;
    let mut times = [const { Vec::new() }; TOOLS.len() + 1];
    let files: Vec<_> = TOOLS.iter().map(|tools| directory.join(format!("{tools}.yaml"))).collect();
    for (file, tools) in files.iter().zip(TOOLS) {
        std::fs::write(file, yaml(tools))?;
    }
    for _ in 0..TURNS {
        times[0].push(nothing()?);
        for (file, times) in files.iter().zip(&mut times[1..]) {
            times.push(first_answer(&haft, file)?);
        }
    }
    let medians = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    println!("a process that does nothing: {:?}", medians[0]);
    for (tools, median) in TOOLS.iter().zip(&medians[1..]) {
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        println!("first answer with {tools} tools: {median:?}, {ratio:.1} times that");
    }
    Ok(())
}

fn yaml(tools: usize) -> String {
    let tool = |number| {
        format!(
            "  - name: tool{number}\n    description: One of many tools.\n    \
             input: {{ city: string, \"days?\": integer }}\n    \
             command: [echo, \"{{{{ city }}}}\"]\n"
        )
    };
    let tools: String = (0..tools).map(tool).collect();
    format!("server: {{ name: bench }}\ntools:\n{tools}")
}

/// From its start to its end.
fn nothing() -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    Command::new("true").stdin(Stdio::null()).status()?;
    Ok(began.elapsed())
}

/// From its start to the line of its first answer.
fn first_answer(haft: &Path, file: &Path) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let mut serve = Command::new(haft);
    serve.arg("serve").arg(file).arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = serve.spawn()?;
    let mut stdin = process.stdin.take().ok_or("it is piped")?;
    writeln!(stdin, "{DISCOVER}")?;
    let mut line = String::new();
    BufReader::new(process.stdout.take().ok_or("it is piped")?).read_line(&mut line)?;
    let took = began.elapsed();
    if !line.contains("\"result\"") {
        return Err(format!("this is no answer: {line}").into());
    }
    drop(stdin);
    process.wait()?;
    Ok(took)
}
