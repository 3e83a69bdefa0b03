//! The README's commands, run as they stand: what a reader sees there is what they will see.

use std::path::Path;
use std::process::Command;

/// A command of the README, and what it prints.
struct Example {
    command: String,
    printed: String,
}

/// The `$ haft …` lines of the `console` blocks, each with the lines up to the next one.
fn examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            examples.push(Example { command: command.to_owned(), printed: String::new() });
        } else if let Some(example) = examples.last_mut().filter(|_| is_console) {
            example.printed.push_str(line);
            example.printed.push('\n');
        }
    }
    examples.retain(|example| example.command.starts_with("haft "));
    examples
}

#[test]
fn every_command_of_the_readme_prints_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README is there");
    let examples = examples(&readme);
    assert!(examples.len() >= 4, "the README has examples");
    for Example { command, printed } in examples {
        let words = shlex::split(&command).expect("a shell would take it");
        let output = Command::new(env!("CARGO_BIN_EXE_haft"))
            .args(&words[1..])
            .current_dir(&root)
            .output()
            .expect("the binary is built");
        let shown = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&shown), printed, "$ {command}");
    }
}
