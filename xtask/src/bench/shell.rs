//! Words as a shell, or `haft bench --command`, needs them to be typed. Whatever records a command
//! calls it; no shell is run.

/// One line of words that comes apart into the same words.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // A quote ends the quotes, is itself in other quotes, and opens them again.
    format!("'{}'", word.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::line;
    use std::process::Command;

    fn check(words: &[&str], expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let line = line(&words);
        assert_eq!(line, expected);
        let printed = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output();
        let printed = String::from_utf8(printed.expect("a shell").stdout).expect("text");
        assert_eq!(printed.lines().collect::<Vec<_>>(), words, "a shell reads {line}");
    }

    #[test]
    fn a_shell_reads_the_words_that_were_written() {
        check(&["haft", "bench", r#"{"a":1}"#], r#"haft bench '{"a":1}'"#);
        check(&["it's", "", "$HOME"], r#"'it'"'"'s' '' '$HOME'"#);
        check(&["--command", "a --b 'c d'"], r#"--command 'a --b '"'"'c d'"'"''"#);
    }
}
