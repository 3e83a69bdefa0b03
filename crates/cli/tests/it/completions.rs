//! The completions of every shell: made, and parsed by the shell where it is installed.

use crate::haft::haft;
use std::io::Write;
use std::process::{Command, Stdio};

/// Shells, and how each reads a script without running it.
const SHELLS: &[(&str, &[&str])] = &[
    ("bash", &["bash", "-n"]),
    ("zsh", &["zsh", "-n"]),
    ("fish", &["fish", "--no-execute"]),
    ("powershell", &["pwsh", "-NoProfile", "-Command", "[scriptblock]::Create($input) > $null"]),
];

#[test]
fn every_shell_gets_a_script_that_it_can_read() {
    for (shell, words) in SHELLS {
        let ran = haft(["completions", shell]);
        let script = ran.printed();
        for verb in ["serve", "install", "doctor", "uninstall"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
        let started = Command::new(words[0]).args(&words[1..]).stdin(Stdio::piped()).spawn();
        // Bash is on every machine that runs these tests.
        let Ok(mut child) = started else {
            assert_ne!(*shell, "bash");
            continue;
        };
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin.write_all(script.as_bytes()).expect("the shell reads");
        drop(stdin);
        assert!(child.wait().expect("the child is ours").success(), "{shell}");
    }
}

#[test]
fn bash_completes_verbs_and_options() {
    let script = haft(["completions", "bash"]).printed().to_owned();
    let asked = |words: &str, current: &str, index: usize| {
        let program = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={index}\n_haft haft {current:?} haft\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let ran = Command::new("bash").args(["-c", &program]).output().expect("bash is there");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    assert!(asked("haft dis", "dis", 1).lines().any(|line| line == "discover"));
    assert!(asked("haft install --dry", "--dry", 2).lines().any(|line| line == "--dry-run"));
}

#[test]
fn a_verb_that_is_misspelt_is_guessed() {
    for (word, meant) in [("instal", "install"), ("docter", "doctor"), ("discovr", "discover")] {
        let ran = haft([word]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&format!("'{meant}'")), "{ran:?}");
    }
}
