//! The variables of the environment that a haft.yaml asks for by `${env:NAME}`. Used by the verbs
//! that arrange for somebody else to start it: `install` and `export`.

/// Their names, each once, in the order of the file.
pub(crate) fn variables(text: &str) -> Vec<&str> {
    const MARK: &str = "${env:";
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        // `$${env:…}` is a text that looks like it.
        let marks = line.match_indices(MARK).filter(|(at, _)| !line[..*at].ends_with('$'));
        for (at, _) in marks {
            let rest = &line[at + MARK.len()..];
            let name = rest.split(['}', ':']).next().unwrap_or_default();
            let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
            if !name.is_empty() && name.bytes().all(is_word) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn each_variable_is_found_once() {
        let text = "a: ${env:A}\n# ${env:NO}\nb: 'x ${env:B} ${env:A}'\nc: ${env:} ${env:a b}\n";
        assert_eq!(variables(text), ["A", "B"]);
    }

    #[test]
    fn what_is_escaped_is_not_wanted() {
        assert_eq!(variables("a: '$${env:A} ${env:B}$${env:C}${env:D}'\n"), ["B", "D"]);
    }
}
