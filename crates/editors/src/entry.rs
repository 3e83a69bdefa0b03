//! A server as an editor's file means it, whichever words the file has for it. Made by `normal`;
//! what it shows of itself to people holds no secret.

use std::fmt;

/// A server of an editor.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// What the editor calls it.
    pub name: String,
    /// How it is reached.
    pub how: How,
    /// Whether the editor is told to leave it alone.
    pub is_disabled: bool,
}

/// How a server is reached. Texts are as they were typed, variables and all.
#[derive(Clone, PartialEq, Eq)]
pub enum How {
    /// A program is started and spoken with over stdin and stdout.
    Command {
        /// The program: a path, or a name to look for.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is added to its environment.
        env: Vec<(String, String)>,
        /// Where it runs, if not where the editor does.
        dir: Option<String>,
    },
    /// It listens at an address.
    Url {
        /// The address.
        url: String,
        /// What every request carries.
        headers: Vec<(String, String)>,
        /// How it speaks there.
        transport: Transport,
    },
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

impl Transport {
    /// The name that registries use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

impl Entry {
    /// The command line or the address, with what may be a secret left out.
    ///
    /// ```
    /// use haft_editors::{Entry, How};
    ///
    /// let args = ["--token", "hunter2", "--port=1"].map(str::to_owned).to_vec();
    /// let how = How::Command { program: "serve".to_owned(), args, env: vec![], dir: None };
    /// let entry = Entry { name: "a".to_owned(), how, is_disabled: false };
    /// assert_eq!(entry.shown(), "serve --token … --port=1");
    /// ```
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.how {
            How::Command { program, args, .. } => {
                let mut line = shown_word(program);
                for argument in shown_args(args) {
                    line.push(' ');
                    line.push_str(&shown_word(&argument));
                }
                line
            }
            How::Url { url, .. } => shown_url(url),
        }
    }

    /// Every text in which a variable may stand.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = Vec::new();
        match &self.how {
            How::Command { program, args, env, dir } => {
                texts.push(program);
                texts.extend(args.iter().map(String::as_str));
                texts.extend(env.iter().map(|(_, value)| value.as_str()));
                texts.extend(dir.as_deref());
            }
            How::Url { url, headers, .. } => {
                texts.push(url);
                texts.extend(headers.iter().map(|(_, value)| value.as_str()));
            }
        }
        texts
    }
}

/// Arguments without those that look like secrets: what follows a word like `--token`, and what
/// follows its `=`.
#[must_use]
pub fn shown_args(args: &[String]) -> Vec<String> {
    let mut is_secret_next = false;
    let shown = |argument: &String| {
        if std::mem::take(&mut is_secret_next) && !argument.starts_with("--") {
            return "…".to_owned();
        }
        // A lone word is a name of something secret only if it is an option.
        is_secret_next = argument.starts_with('-')
            && (is_secret_name(argument)
                || ["-H", "--header", "-e", "--env"].contains(&&**argument));
        shown_words(argument)
    };
    args.iter().map(shown).collect()
}

/// An argument up to the value of something secret, wherever in it that is: `--env=API_KEY=…`,
/// `Server=db;Password=…`. The addresses in it are shown as such.
fn shown_words(argument: &str) -> String {
    let mut shown = String::new();
    let mut words = argument.split(' ').peekable();
    while let Some(word) = words.next() {
        let is_last = words.peek().is_none();
        if is_url(word) {
            shown.push_str(&shown_url(word));
        } else if let Some(end) = end_of_secret_name(word) {
            shown.push_str(&word[..end]);
            shown.push('…');
            return shown;
        } else if !is_last && is_secret_name(last_name(word)) {
            shown.push_str(word);
            shown.push_str(" …");
            return shown;
        } else {
            shown.push_str(word);
        }
        if !is_last {
            shown.push(' ');
        }
    }
    shown
}

pub(crate) fn is_url(word: &str) -> bool {
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    word.split_once("://").is_some_and(|(scheme, _)| scheme.bytes().all(is_of_scheme))
}

/// Where a value begins whose name is that of something secret.
pub(crate) fn end_of_secret_name(word: &str) -> Option<usize> {
    let ends = word.match_indices(['=', ':']);
    ends.map(|(at, _)| at).find(|at| is_secret_name(last_name(&word[..*at]))).map(|at| at + 1)
}

pub(crate) fn last_name(text: &str) -> &str {
    let is_of_name = |byte: char| byte.is_ascii_alphanumeric() || "_-.".contains(byte);
    text.rsplit(|byte| !is_of_name(byte)).next().unwrap_or_default()
}

pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "auth",
        "bearer",
        "cookie",
        "credential",
        "jwt",
        "key",
        "pass",
        "pat",
        "pwd",
        "secret",
        "token",
    ];
    name.split(|character: char| !character.is_ascii_alphanumeric()).any(|part| {
        words.iter().any(|word| match *word {
            // Not `keys` and `paths`.
            "key" => part.ends_with(word),
            "pat" => part == *word,
            word => part.contains(word),
        })
    })
}

/// A URL without what is before its host's `@`, without the values of its query, and up to a `#`.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let (url, _) = url.split_once('#').unwrap_or((url, ""));
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = match address.find("://") {
        Some(at) => address.split_at(at + "://".len()),
        None => ("", address),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut shown = format!("{scheme}{host}{path}");
    for (index, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        shown.push(if index == 0 { '?' } else { '&' });
        shown.push_str(name);
        shown.push_str(if value.is_empty() { "" } else { "=…" });
    }
    shown
}

fn shown_word(word: &str) -> String {
    let is_plain =
        !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Without the values of variables and headers.
impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Entry")
            .field("name", &self.name)
            .field("how", &self.how)
            .field("is_disabled", &self.is_disabled)
            .finish()
    }
}

/// Without the values of variables and headers.
impl fmt::Debug for How {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        match self {
            Self::Command { program, args, env, dir } => formatter
                .debug_struct("Command")
                .field("program", program)
                .field("args", &shown_args(args))
                .field("env", &names(env))
                .field("dir", dir)
                .finish(),
            Self::Url { url, headers, transport } => formatter
                .debug_struct("Url")
                .field("url", &shown_url(url))
                .field("headers", &names(headers))
                .field("transport", transport)
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_the_address_is_shown_and_the_names() {
        for (url, expected) in [
            ("https://h/mcp", "https://h/mcp"),
            ("https://u:s3@h/mcp?a=s3&b", "https://h/mcp?a=…&b"),
            ("https://u:s@3@h?a=s3", "https://h?a=…"),
            ("https://h/mcp#s3", "https://h/mcp"),
            ("https://h/mcp?a=#s3", "https://h/mcp?a"),
            ("u:s3@h/mcp", "h/mcp"),
        ] {
            assert_eq!(shown_url(url), expected);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        for (args, expected) in [
            (vec!["--api-key", "s3"], "--api-key …"),
            (vec!["--api-key=s3"], "--api-key=…"),
            (vec!["API_TOKEN=s3"], "API_TOKEN=…"),
            (vec!["-H", "X: s3"], "-H …"),
            (vec!["Authorization: Bearer s3"], "Authorization:…"),
            (vec!["--header", "Authorization:s3"], "--header …"),
            (vec!["--keys-file", "a b"], "--keys-file 'a b'"),
            (vec!["https://u:s3@h/p?token=s3&x=s3"], "https://h/p?token=…&x=…"),
            (vec!["--path", "/etc", "run"], "--path /etc run"),
            (vec!["--token", "--verbose"], "--token --verbose"),
            (vec!["--apikey", "s3"], "--apikey …"),
            (vec!["--env=API_KEY=s3"], "--env=API_KEY=…"),
            (vec!["-c", "export APIKEY=s3; run"], "-c 'export APIKEY=…'"),
            (vec!["API_KEY=s3 npx r https://h"], "API_KEY=…"),
            (vec!["Server=db;Password=s3"], "Server=db;Password=…"),
            (vec!["run https://u:s3@h/ now"], "'run https://h/ now'"),
        ] {
            let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            let shown: Vec<String> =
                shown_args(&args).iter().map(|word| shown_word(word)).collect();
            assert_eq!(shown.join(" "), expected);
        }
    }
}
