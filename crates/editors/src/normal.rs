//! What a file says of a server becomes an `Entry`, whichever of the many words it uses. Called by
//! `discover`; writes nothing and fills no variables in.

use crate::entry::{Entry, How, Transport};
use crate::host::Dialect;
use crate::limits::{LIST_ITEMS_MAX, TEXT_BYTES_MAX};
use crate::mistake::Mistake;
use serde_json::{Map, Value};

/// Reads one server. `None` is something that only looks like one: a part of its host.
pub(crate) fn entry(
    name: &str,
    written: &Value,
    dialect: Option<Dialect>,
) -> Result<Option<Entry>, Mistake> {
    let Value::Object(fields) = written else {
        return Err(Mistake::unusable(name, "is not a mapping"));
    };
    let reader = Reader { name, fields };
    let kind = match reader.kind()? {
        Kind::PartOfHost => return Ok(None),
        kind => kind,
    };
    let how = match (kind, reader.has_command(), reader.url()?) {
        (Kind::Stdio | Kind::Unsaid, true, _) => reader.command()?,
        (Kind::Stdio, false, _) => return Err(Mistake::unusable(name, "has no `command`")),
        (Kind::Http | Kind::Sse | Kind::Unsaid, _, Some((url, word))) => {
            let is_sse = match kind {
                Kind::Unsaid => word == "url" && dialect == Some(Dialect::Gemini),
                kind => kind == Kind::Sse,
            };
            let transport = if is_sse { Transport::Sse } else { Transport::Http };
            How::Url { url, headers: reader.headers()?, transport }
        }
        (Kind::Http | Kind::Sse, _, None) => {
            return Err(Mistake::unusable(name, "has no `url`"));
        }
        _ => return Err(Mistake::unusable(name, "has neither a `command` nor a `url`")),
    };
    let is_disabled = fields.get("disabled") == Some(&Value::Bool(true))
        || fields.get("enabled") == Some(&Value::Bool(false));
    Ok(Some(Entry { name: name.to_owned(), how, is_disabled }))
}

/// Keys of some hosts that change what a server does or may do, and that an [`Entry`] has not.
const MORE: &[&str] = &[
    "auth",
    "disabledTools",
    "disabled_tools",
    "enabledTools",
    "enabled_tools",
    "envFile",
    "env_file",
    "env_keys",
    "excludeTools",
    "headersHelper",
    "includeTools",
    "oauth",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "timeout",
    "tool_timeout_sec",
    "tools",
];

/// The keys of a server that say more than its entry has.
pub(crate) fn unread(written: &Value) -> Vec<&'static str> {
    let says = |key: &&&str| match written.get(**key) {
        None | Some(Value::Null) => false,
        Some(Value::Array(items)) => !items.is_empty() && *items != ["*"],
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    };
    MORE.iter().filter(says).copied().collect()
}

/// What the `type` or `transport` says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    PartOfHost,
    Sse,
    Stdio,
    Unsaid,
}

struct Reader<'a> {
    name: &'a str,
    fields: &'a Map<String, Value>,
}

impl Reader<'_> {
    fn wrong(&self, reason: impl Into<String>) -> Mistake {
        Mistake::unusable(self.name, reason)
    }

    fn kind(&self) -> Result<Kind, Mistake> {
        let said =
            ["type", "transport", "transportType"].iter().find_map(|key| self.fields.get(*key));
        let said = match said {
            None | Some(Value::Null) => return Ok(Kind::Unsaid),
            Some(Value::String(said)) => said,
            // `transport: { type: … }`
            Some(Value::Object(fields)) => match fields.get("type") {
                Some(Value::String(said)) => said,
                _ => return Ok(Kind::Unsaid),
            },
            Some(_) => return Err(self.wrong("has a `type` that is no text")),
        };
        let plain: String =
            said.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        match &*plain {
            "stdio" | "local" | "command" => Ok(Kind::Stdio),
            "http" | "streamablehttp" | "remote" => Ok(Kind::Http),
            "sse" => Ok(Kind::Sse),
            "builtin" | "platform" | "frontend" | "inlinepython" => Ok(Kind::PartOfHost),
            _ => {
                let said: String = said.chars().take(40).collect();
                Err(self.wrong(format!("has the unknown type {said:?}")))
            }
        }
    }

    fn has_command(&self) -> bool {
        ["command", "cmd"].iter().any(|key| self.fields.get(*key).is_some_and(|v| !v.is_null()))
    }

    fn command(&self) -> Result<How, Mistake> {
        let written = self.fields.get("command").or_else(|| self.fields.get("cmd"));
        let mut words: Vec<String> = Vec::new();
        let mut env = self.pairs(self.fields, &["env", "environment", "envs"])?;
        match written {
            // As Zed had it once.
            Some(Value::Object(inner)) => {
                words.push(self.text("command.path", inner.get("path").unwrap_or(&Value::Null))?);
                words.extend(self.list("command.args", inner.get("args"))?);
                env.extend(self.pairs(inner, &["env"])?);
            }
            Some(list @ Value::Array(_)) => words.extend(self.list("command", Some(list))?),
            Some(other) => words.push(self.text("command", other)?),
            None => {}
        }
        words.extend(self.list("args", self.fields.get("args"))?);
        if words.len() > LIST_ITEMS_MAX {
            return Err(self.wrong(format!("has more than {LIST_ITEMS_MAX} arguments")));
        }
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(self.wrong("has an empty `command`"));
        };
        let dir = ["cwd", "workingDirectory", "working_directory"]
            .iter()
            .find_map(|key| self.fields.get(*key).filter(|dir| !dir.is_null()));
        let dir = dir.map(|dir| self.text("cwd", dir)).transpose()?;
        Ok(How::Command { program, args: words.collect(), env, dir })
    }

    /// The address and the key that it was under.
    fn url(&self) -> Result<Option<(String, &'static str)>, Mistake> {
        for key in ["httpUrl", "url", "serverUrl", "uri"] {
            if let Some(url) = self.fields.get(key).filter(|url| !url.is_null()) {
                return Ok(Some((self.text(key, url)?, key)));
            }
        }
        Ok(None)
    }

    fn headers(&self) -> Result<Vec<(String, String)>, Mistake> {
        let mut headers = self.pairs(self.fields, &["headers", "http_headers"])?;
        if let Some(Value::Object(init)) = self.fields.get("requestInit") {
            headers.extend(self.pairs(init, &["headers"])?);
        }
        for (header, variable) in self.pairs(self.fields, &["env_http_headers"])? {
            headers.push((header, format!("${{env:{variable}}}")));
        }
        if let Some(variable) = self.fields.get("bearer_token_env_var") {
            let variable = self.text("bearer_token_env_var", variable)?;
            headers.push(("Authorization".to_owned(), format!("Bearer ${{env:{variable}}}")));
        }
        Ok(headers)
    }

    fn pairs(
        &self,
        fields: &Map<String, Value>,
        keys: &[&str],
    ) -> Result<Vec<(String, String)>, Mistake> {
        let Some((key, value)) = keys.iter().find_map(|key| Some((key, fields.get(*key)?))) else {
            return Ok(Vec::new());
        };
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Object(pairs) if pairs.len() > LIST_ITEMS_MAX => {
                Err(self.wrong(format!("has more than {LIST_ITEMS_MAX} entries in `{key}`")))
            }
            Value::Object(pairs) => {
                let present = pairs.iter().filter(|(_, value)| !value.is_null());
                present.map(|(name, value)| Ok((name.clone(), self.text(key, value)?))).collect()
            }
            _ => Err(self.wrong(format!("has a `{key}` that is no mapping"))),
        }
    }

    fn list(&self, key: &str, value: Option<&Value>) -> Result<Vec<String>, Mistake> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() > LIST_ITEMS_MAX => {
                Err(self.wrong(format!("has more than {LIST_ITEMS_MAX} items in `{key}`")))
            }
            Some(Value::Array(items)) => items.iter().map(|item| self.text(key, item)).collect(),
            Some(_) => Err(self.wrong(format!("has a `{key}` that is no list"))),
        }
    }

    fn text(&self, key: &str, value: &Value) -> Result<String, Mistake> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => return Err(self.wrong(format!("has a `{key}` that is no text"))),
        };
        if text.len() > TEXT_BYTES_MAX {
            return Err(self.wrong(format!("has a `{key}` of more than {TEXT_BYTES_MAX} bytes")));
        }
        if text.contains('\0') {
            return Err(self.wrong(format!("has a NUL in its `{key}`")));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(written: Value) -> Result<Option<Entry>, String> {
        entry("x", &written, None).map_err(|mistake| mistake.to_string())
    }

    fn command(program: &str, args: &[&str], env: &[(&str, &str)], dir: Option<&str>) -> How {
        How::Command {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            dir: dir.map(str::to_owned),
        }
    }

    fn check(written: Value, expected: &How) {
        let shown = written.to_string();
        let found = read(written).expect(&shown).expect(&shown);
        assert_eq!(&found.how, expected, "{shown}");
    }

    #[test]
    fn a_command_is_a_command_in_every_hosts_words() {
        let expected = command("/bin/a", &["b", "1"], &[("K", "v")], None);
        for written in [
            json!({"command": "/bin/a", "args": ["b", 1], "env": {"K": "v"}}),
            json!({"type": "stdio", "command": "/bin/a", "args": ["b", "1"], "env": {"K": "v"}}),
            json!({"type": "local", "command": ["/bin/a", "b", "1"], "environment": {"K": "v"}}),
            json!({"type": "stdio", "cmd": "/bin/a", "args": ["b", "1"], "envs": {"K": "v"}}),
            json!({"source": "custom",
                "command": {"path": "/bin/a", "args": ["b", "1"], "env": {"K": "v"}}}),
            json!({"transport": "stdio", "command": "/bin/a", "args": ["b", "1"],
                "env": {"K": "v"}, "url": null}),
        ] {
            check(written, &expected);
        }
        check(json!({"command": "a", "cwd": "/d"}), &command("a", &[], &[], Some("/d")));
    }

    #[test]
    fn an_address_is_an_address_in_every_hosts_words() {
        let url = |transport| How::Url {
            url: "http://h/mcp".to_owned(),
            headers: vec![("A".to_owned(), "b".to_owned())],
            transport,
        };
        for key in ["url", "httpUrl", "serverUrl", "uri"] {
            check(json!({key: "http://h/mcp", "headers": {"A": "b"}}), &url(Transport::Http));
        }
        for kind in ["http", "streamable-http", "streamableHttp", "streamable_http", "remote"] {
            let written = json!({"type": kind, "url": "http://h/mcp", "headers": {"A": "b"}});
            check(written, &url(Transport::Http));
        }
        let sse = json!({"transport": "sse", "url": "http://h/mcp", "headers": {"A": "b"}});
        check(sse, &url(Transport::Sse));
        check(json!({"url": "http://h/mcp", "http_headers": {"A": "b"}}), &url(Transport::Http));
        let gemini = json!({"url": "http://h/mcp", "headers": {"A": "b"}});
        let gemini = entry("x", &gemini, Some(Dialect::Gemini)).expect("fine").expect("a server");
        assert_eq!(gemini.how, url(Transport::Sse));
    }

    #[test]
    fn codex_names_variables_for_secrets() {
        let written = json!({"url": "http://h", "bearer_token_env_var": "T",
            "env_http_headers": {"X-A": "B"}});
        let How::Url { headers, .. } = read(written).expect("fine").expect("a server").how else {
            panic!("an address")
        };
        let headers: Vec<&str> = headers.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(headers, ["${env:B}", "Bearer ${env:T}"]);
    }

    #[test]
    fn what_is_switched_off_is_marked() {
        for written in
            [json!({"command": "a", "disabled": true}), json!({"command": "a", "enabled": false})]
        {
            assert!(read(written).expect("fine").expect("a server").is_disabled);
        }
        assert_eq!(read(json!({"type": "builtin", "name": "developer"})), Ok(None));
    }

    #[test]
    fn what_an_entry_has_not_is_told_by_its_key() {
        for (written, expected) in [
            (json!({"command": "a", "env": {}}), &[][..]),
            (json!({"command": "a", "envFile": ".env", "timeout": 5}), &["envFile", "timeout"]),
            (json!({"command": "a", "tools": ["*"], "includeTools": [], "auth": null}), &[]),
            (json!({"command": "a", "tools": ["x"], "oauth": {"a": 1}}), &["oauth", "tools"]),
            (json!(1), &[]),
        ] {
            assert_eq!(unread(&written), expected, "{written}");
        }
    }

    #[test]
    fn a_mistake_names_the_server_and_what_is_wrong() {
        let many: Vec<String> = vec![String::new(); LIST_ITEMS_MAX + 1];
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        for (written, expected) in [
            (json!(1), "`x` is not a mapping"),
            (json!({}), "`x` has neither a `command` nor a `url`"),
            (json!({"type": "http"}), "`x` has no `url`"),
            (json!({"type": "stdio", "url": "http://h"}), "`x` has no `command`"),
            (json!({"type": "quic", "url": "http://h"}), "`x` has the unknown type \"quic\""),
            (json!({"type": 1}), "`x` has a `type` that is no text"),
            (json!({"command": ""}), "`x` has an empty `command`"),
            (json!({"command": []}), "`x` has an empty `command`"),
            (json!({"command": "a", "args": "b"}), "`x` has a `args` that is no list"),
            (json!({"command": "a", "args": [[]]}), "`x` has a `args` that is no text"),
            (json!({"command": "a", "env": []}), "`x` has a `env` that is no mapping"),
            (json!({"command": "a\0b"}), "`x` has a NUL in its `command`"),
            (json!({"command": "a", "args": many}), "`x` has more than 1000 items in `args`"),
            (json!({"command": long}), "`x` has a `command` of more than 65536 bytes"),
        ] {
            assert_eq!(read(written), Err(expected.to_owned()));
        }
    }
}
