//! An `Entry` in the words of a host: what `install` writes. The names that are written must be
//! good in every host.

use crate::entry::{Entry, How};
use crate::host::{Dialect, Host};
use crate::limits::NAME_BYTES_MAX;
use crate::mistake::Mistake;
use serde_json::{Map, Value, json};

/// The entry as the host has it in its file.
///
/// # Errors
/// [`Mistake::BadName`], and [`Mistake::NoUrls`] for hosts that only start programs.
pub fn written(host: &Host, entry: &Entry) -> Result<Value, Mistake> {
    check_name(&entry.name)?;
    match &entry.how {
        How::Command { program, args, env, .. } => {
            Ok(command(host.dialect, &entry.name, program, args, env))
        }
        How::Url { url, headers, .. } => {
            url_entry(host, &entry.name, url, &object(headers), !headers.is_empty())
        }
    }
}

/// That a name is one that every host takes.
///
/// # Errors
/// [`Mistake::BadName`].
pub fn check_name(name: &str) -> Result<(), Mistake> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_good = !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_plain);
    if is_good && !name.starts_with('.') {
        return Ok(());
    }
    Err(Mistake::BadName { name: name.chars().take(NAME_BYTES_MAX).collect() })
}

fn object(pairs: &[(String, String)]) -> Value {
    let pair = |(name, value): &(String, String)| (name.clone(), Value::from(&**value));
    Value::Object(pairs.iter().map(pair).collect())
}

fn command(
    dialect: Dialect,
    name: &str,
    program: &str,
    args: &[String],
    env: &[(String, String)],
) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| _ = fields.insert(key.to_owned(), value);
    match dialect {
        Dialect::OpenCode => {
            let words: Vec<&str> = [program].into_iter().chain(args.iter().map(|a| &**a)).collect();
            put("type", json!("local"));
            put("command", json!(words));
            put("enabled", json!(true));
            if !env.is_empty() {
                put("environment", object(env));
            }
        }
        Dialect::Goose => {
            put("type", json!("stdio"));
            put("name", json!(name));
            put("description", json!(""));
            put("enabled", json!(true));
            put("cmd", json!(program));
            put("args", json!(args));
            put("envs", object(env));
            put("timeout", json!(300));
        }
        _ => {
            match dialect {
                Dialect::Typed { stdio, .. } => put("type", json!(stdio)),
                Dialect::Copilot => put("type", json!("local")),
                _ => {}
            }
            put("command", json!(program));
            put("args", json!(args));
            if !env.is_empty() {
                put("env", object(env));
            }
            if dialect == Dialect::Copilot {
                put("tools", json!(["*"]));
            }
        }
    }
    Value::Object(fields)
}

fn url_entry(
    host: &Host,
    name: &str,
    url: &str,
    headers: &Value,
    has_headers: bool,
) -> Result<Value, Mistake> {
    let (kind, key) = match host.dialect {
        Dialect::CommandOnly => return Err(Mistake::NoUrls { host: host.title }),
        Dialect::Plain | Dialect::Codex => (None, "url"),
        Dialect::Typed { http, .. } => (Some(http), "url"),
        Dialect::Copilot => (Some("http"), "url"),
        Dialect::Gemini => (None, "httpUrl"),
        Dialect::Windsurf => (None, "serverUrl"),
        Dialect::OpenCode => (Some("remote"), "url"),
        Dialect::Goose => (Some("streamable_http"), "uri"),
    };
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| _ = fields.insert(key.to_owned(), value);
    if let Some(kind) = kind {
        put("type", json!(kind));
    }
    if host.dialect == Dialect::Goose {
        put("name", json!(name));
        put("description", json!(""));
    }
    put(key, json!(url));
    if has_headers {
        put(
            if host.dialect == Dialect::Codex { "http_headers" } else { "headers" },
            headers.clone(),
        );
    }
    match host.dialect {
        Dialect::OpenCode => put("enabled", json!(true)),
        Dialect::Copilot => put("tools", json!(["*"])),
        Dialect::Goose => {
            put("enabled", json!(true));
            put("timeout", json!(300));
        }
        _ => {}
    }
    Ok(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Transport;
    use crate::host::HOSTS;
    use crate::normal;

    fn entries() -> [Entry; 2] {
        let pairs = vec![("K".to_owned(), "v w".to_owned())];
        let command = How::Command {
            program: "/bin/haft".to_owned(),
            args: vec!["serve".to_owned(), "/a b/haft.yaml".to_owned()],
            env: pairs.clone(),
            dir: None,
        };
        let url = "https://h/mcp".to_owned();
        let url = How::Url { url, headers: pairs, transport: Transport::Http };
        [command, url].map(|how| Entry { name: "x".to_owned(), how, is_disabled: false })
    }

    #[test]
    fn what_is_written_for_a_host_is_read_as_it_was_meant() {
        for host in HOSTS {
            for entry in entries() {
                let value = match written(host, &entry) {
                    Ok(value) => value,
                    Err(Mistake::NoUrls { .. }) if !host.takes_urls() => continue,
                    Err(mistake) => panic!("{}: {mistake}", host.id),
                };
                let read = normal::entry("x", &value, Some(host.dialect)).expect("it is good");
                assert_eq!(read, Some(entry), "{}", host.id);
            }
        }
    }

    #[test]
    fn a_name_has_to_be_plain() {
        for good in ["a", "my-tools", "a.b_c", &"x".repeat(NAME_BYTES_MAX)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a b", "ä", "a\n", "\"", &"x".repeat(NAME_BYTES_MAX + 1)]
        {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
