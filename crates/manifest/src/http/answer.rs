//! A server's answer becomes a result: JSON, text, a picture, a sound or other data by its kind, or
//! the story of its failure in the server's own words. Called by `handler`.

use crate::http::Http;
use crate::http::auth::Who;
use crate::http::report::headers;
use crate::http::secrets::Secrets;
use crate::json_text;
use crate::limits::{FAILURE_BYTES_MAX, LAST_WORDS_BYTES};
use crate::output::{self, Failure, Flaw, Output};
use crate::written::tool::Parse;
use bytes::Bytes;
use haft_fetch::{Answer, Auth, FetchError};
use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::tool_result::{Cause, ToolResult};
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What kind of data an answer has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Audio,
    Image,
    Json,
    Other,
    Text,
    /// The server does not say.
    Unknown,
}

/// What came back with a status that is no failure.
pub(crate) struct Received {
    pub(crate) host: String,
    /// As the server says it; empty if it does not.
    mime_type: String,
    /// The address, as much of it as may be told.
    uri: String,
    status: StatusCode,
    body: Bytes,
    /// What its text must not tell.
    secrets: Secrets,
}

/// What a request failed for, in words.
pub(crate) fn failed(error: &FetchError) -> String {
    format!("The request failed: {error}.")
}

/// What it failed for, to those who may try again.
pub(crate) fn cause(error: &FetchError) -> Option<Cause> {
    match error {
        FetchError::Broken { .. } | FetchError::Unreachable { .. } => Some(Cause::Unreachable),
        FetchError::SlowConnection { .. } | FetchError::UnknownHost { .. } => {
            Some(Cause::Unreachable)
        }
        _ => None,
    }
}

impl Http {
    /// The result, or why there is none.
    pub(crate) async fn understand(
        &self,
        answer: Answer,
        auth: &Auth,
    ) -> Result<ToolResult, Failure> {
        if self.output.parse == Parse::Report {
            return self.report(answer, auth).await;
        }
        let answer = self.accept(answer, auth).await?;
        if self.method == Method::HEAD {
            return Ok(head(&answer, &self.auth.secrets(auth)));
        }
        let Received { host, mime_type, uri, status, body, secrets } =
            self.receive(answer, auth).await?;
        if body.is_empty() && matches!(self.output.parse, Parse::Auto | Parse::Text) {
            return Ok(ToolResult::text(format!("`{host}` answered {status} without a body.")));
        }
        let kind = kind(&mime_type);
        let text = || secrets.redact(decode(&mime_type, &body));
        let flawed = |flaw| Failure::from(flawed(&host, flaw));
        let json = || json_of(&mime_type, &body).map(|text| secrets.redact(text)).map_err(flawed);
        match self.output.parse {
            Parse::Json => self.output.json(&json()?).map_err(flawed),
            Parse::Lines => Ok(output::lines(text())),
            Parse::Report | Parse::Text => Ok(ToolResult::text(text())),
            Parse::Binary => Ok(embedded(uri, &mime_type, body.to_vec())),
            Parse::Auto => match kind {
                // A word that is called JSON can be read by a model; half a value, or one that no
                // client parses, is told.
                Kind::Json if self.output.pick.is_none() && !begins_like_json(&body) => {
                    let text = text();
                    Ok(self.output.json(&text).unwrap_or_else(|_| ToolResult::text(text)))
                }
                Kind::Json => self.output.json(&json()?).map_err(flawed),
                Kind::Text => Ok(ToolResult::text(text())),
                Kind::Unknown if std::str::from_utf8(&body).is_ok() => Ok(ToolResult::text(text())),
                Kind::Image => Ok(one(Content::image(body, essence(&mime_type)))),
                Kind::Audio => Ok(one(Content::audio(body, essence(&mime_type)))),
                Kind::Other | Kind::Unknown => Ok(embedded(uri, &mime_type, body.to_vec())),
            },
        }
    }

    /// The answer, if its status is no failure.
    pub(crate) async fn accept(&self, answer: Answer, auth: &Auth) -> Result<Answer, Failure> {
        let status = answer.status.as_u16();
        if self.is_ok(status) {
            return Ok(answer);
        }
        let cause = Some(Cause::Status(status));
        Err(Failure { reason: failure(answer, &self.auth, auth).await, cause })
    }

    /// All of an answer, within the limit.
    pub(crate) async fn receive(&self, answer: Answer, auth: &Auth) -> Result<Received, Failure> {
        let host = answer.url.host().to_owned();
        let mime_type = header(&answer.headers, &CONTENT_TYPE).unwrap_or_default().to_owned();
        let uri = match self.address.is_filled {
            true => answer.url.origin(),
            false => format!("{}{}", answer.url.origin(), answer.url.path()),
        };
        let status = answer.status;
        let body = body(answer, self.output.limit).await?;
        let secrets = self.auth.secrets(auth);
        Ok(Received { host, mime_type, uri, status, body, secrets })
    }

    pub(crate) fn is_ok(&self, status: u16) -> bool {
        self.ok_status.iter().any(|range| range.contains(&status))
    }
}

impl Received {
    /// What it is for who reads it, or a part of it; `kind` is what it is said to be by somebody
    /// who knows better than the server.
    pub(crate) fn contents(
        self,
        output: &Output,
        kind: Option<&str>,
    ) -> Result<ResourceContents, String> {
        if output.pick.is_some() {
            return Ok(output::part(&self.value(output)?, kind));
        }
        let text = self.text();
        let told = essence(&self.mime_type);
        let kind = kind.map_or(told, str::to_owned);
        let contents = match (self::kind(&kind), text) {
            (Kind::Json | Kind::Text | Kind::Unknown, Some(text)) => {
                ResourceContents::text("", text)
            }
            _ => ResourceContents::blob("", self.body.to_vec()),
        };
        Ok(if kind.is_empty() { contents } else { contents.mime_type(kind) })
    }

    /// Its values: the items of a list of JSON, or lines.
    pub(crate) fn values(self, output: &Output) -> Result<Vec<String>, String> {
        if output.pick.is_none() && kind(&self.mime_type) != Kind::Json {
            return Ok(output::values_of_lines(&self.text().unwrap_or_default()));
        }
        let value = self.value(output)?;
        output::values(&value).ok_or_else(|| format!("`{}` did not answer a list.", self.host))
    }

    /// The value of its JSON, or the part of it that is picked.
    fn value(&self, output: &Output) -> Result<Box<RawValue>, String> {
        let text = json_of(&self.mime_type, &self.body).map(|text| self.secrets.redact(text));
        let value = text.and_then(|text| output.value(&text));
        value.map_err(|flaw| flawed(&self.host, flaw))
    }

    /// Its text, if it is one.
    fn text(&self) -> Option<String> {
        let is_text = std::str::from_utf8(&self.body).is_ok() || is_latin_1(&self.mime_type);
        is_text.then(|| self.secrets.redact(decode(&self.mime_type, &self.body)))
    }
}

/// Why it is not the JSON that it should be.
fn flawed(host: &str, flaw: Flaw) -> String {
    match flaw {
        Flaw::NotJson(reason) => format!("`{host}` did not answer one JSON value: {reason}"),
        Flaw::NotThere(pointer) => format!("`{host}` answered JSON without {pointer}."),
    }
}

/// The body, of so many bytes at most.
pub(crate) async fn body(answer: Answer, limit: usize) -> Result<Bytes, Failure> {
    answer.bytes(limit).await.map_err(|error| match error {
        error @ FetchError::TooLarge { .. } => {
            format!("{} Ask for less at once.", failed(&error)).into()
        }
        error => Failure { cause: cause(&error), ..failed(&error).into() },
    })
}

fn one(content: Content) -> ToolResult {
    ToolResult { content: vec![content], ..ToolResult::default() }
}

fn embedded(uri: String, mime_type: &str, data: Vec<u8>) -> ToolResult {
    let kind = if mime_type.is_empty() { "application/octet-stream" } else { mime_type };
    one(Content::Embedded(ResourceContents::blob(uri, data).mime_type(kind)))
}

pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// `type/subtype` without parameters.
fn essence(mime_type: &str) -> String {
    mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(crate) fn kind(mime_type: &str) -> Kind {
    const TEXTS: [&str; 9] = [
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/yaml",
    ];
    let essence = essence(mime_type);
    match &*essence {
        "" => Kind::Unknown,
        "application/json" | "text/json" => Kind::Json,
        essence if essence.ends_with("+json") => Kind::Json,
        essence if essence.starts_with("text/") || TEXTS.contains(&essence) => Kind::Text,
        essence if essence.ends_with("+xml") || essence.ends_with("yaml") => Kind::Text,
        essence if essence.starts_with("image/") => Kind::Image,
        essence if essence.starts_with("audio/") => Kind::Audio,
        _ => Kind::Other,
    }
}

/// The text of a body: UTF-8 unless the server says Latin-1; what is neither is shown as unknown
/// characters.
pub(crate) fn decode(mime_type: &str, body: &[u8]) -> String {
    if is_latin_1(mime_type) {
        return body.iter().map(|&byte| char::from(byte)).collect();
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    String::from_utf8_lossy(body).into_owned()
}

/// The text of a body that is to be JSON.
fn json_of(mime_type: &str, body: &[u8]) -> Result<String, Flaw> {
    match is_latin_1(mime_type) {
        true => Ok(decode(mime_type, body)),
        false => json_text::decode(body).map(str::to_owned).map_err(Flaw::NotJson),
    }
}

/// Whether a body is meant as an object or a list, not as a bare word.
fn begins_like_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.trim_ascii_start().starts_with(b"{") || body.trim_ascii_start().starts_with(b"[")
}

fn is_latin_1(mime_type: &str) -> bool {
    let lower = mime_type.to_ascii_lowercase();
    let charset = lower.split("charset=").nth(1).unwrap_or_default().trim_start_matches('"');
    ["iso-8859-1", "latin1"].iter().any(|name| charset.starts_with(name))
}

/// What a `HEAD` tells.
fn head(answer: &Answer, secrets: &Secrets) -> ToolResult {
    let status = answer.status;
    let mut text = status.to_string();
    let mut members = Map::new();
    for (name, value) in headers(&answer.headers) {
        let value = secrets.redact(value);
        text.push_str(&format!("\n{name}: {value}"));
        members.insert(name.to_owned(), Value::from(value));
    }
    let structured = json!({ "status": status.as_u16(), "headers": members }).to_string();
    let structured = ToolResult::json(&structured).structured;
    ToolResult { structured, ..ToolResult::text(text) }
}

/// What went wrong, in the server's own words.
async fn failure(answer: Answer, who: &Who, auth: &Auth) -> String {
    let (status, host) = (answer.status, answer.url.host().to_owned());
    let mime_type = header(&answer.headers, &CONTENT_TYPE).unwrap_or_default().to_owned();
    let wait = header(&answer.headers, &RETRY_AFTER).and_then(|wait| wait.parse::<u32>().ok());
    let leads = header(&answer.headers, &LOCATION).filter(|_| status.is_redirection());
    // A path may hold what was meant for whoever is sent there; the host does not.
    let to = leads.and_then(|location| answer.url.join(location).ok()).map(|url| url.origin());
    let body = answer.beginning(FAILURE_BYTES_MAX).await;
    let said = words(kind(&mime_type), &essence(&mime_type), &decode(&mime_type, &body));
    let mut text = format!("`{host}` answered {status}");
    if let Some(said) = said {
        // Half a secret would not be known as one.
        text.push_str(&format!(": {}", cut(who.redact(auth, said))));
    }
    if let Some(to) = to {
        text.push_str(&format!(" (it leads to {to})"));
    }
    if let Some(seconds) = wait {
        text.push_str(&format!(" (try again in {seconds} seconds)"));
    }
    text
}

/// The words of a body that say what is wrong.
fn words(kind: Kind, essence: &str, body: &str) -> Option<String> {
    let said = match kind {
        Kind::Json => match serde_json::from_str::<Value>(body) {
            Ok(json) => message(&json).unwrap_or_else(|| json.to_string()),
            Err(_) => body.to_owned(),
        },
        Kind::Text | Kind::Unknown if essence == "text/html" => title(body)?,
        Kind::Text | Kind::Unknown => body.to_owned(),
        Kind::Audio | Kind::Image | Kind::Other => return None,
    };
    let is_shown = |character: &char| !character.is_control() || *character == '\n';
    let said: String = said.trim().chars().filter(is_shown).collect();
    (!said.is_empty()).then_some(said)
}

/// So many words and no more.
fn cut(mut said: String) -> String {
    let mut end = said.len().min(LAST_WORDS_BYTES);
    while !said.is_char_boundary(end) {
        end -= 1;
    }
    if end < said.len() {
        said.truncate(end);
        said.push('…');
    }
    said
}

/// What APIs call the message of an error: RFC 9457's `detail` and `title`, OAuth's
/// `error_description`, and what others have.
fn message(json: &Value) -> Option<String> {
    const NAMES: [&str; 9] = [
        "detail",
        "message",
        "error_description",
        "error",
        "errors",
        "reason",
        "msg",
        "description",
        "title",
    ];
    match json {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => {
            let said: Vec<_> = items.iter().take(5).filter_map(message).collect();
            (!said.is_empty()).then(|| said.join("; "))
        }
        Value::Object(members) => {
            NAMES.iter().find_map(|name| members.get(*name).and_then(message))
        }
        _ => None,
    }
}

/// The title of a page.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    Some(html[start..end].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_failure_are_found() {
        for (mime_type, body, expected) in [
            (
                "application/problem+json",
                r#"{"title":"No","detail":"no such city"}"#,
                "no such city",
            ),
            ("application/json", r#"{"message":"bad"}"#, "bad"),
            ("application/json", r#"{"error":{"code":1,"message":"bad"}}"#, "bad"),
            ("application/json", r#"{"error":"x","error_description":"why"}"#, "why"),
            ("application/json", r#"{"errors":[{"message":"a"},{"message":"b"}]}"#, "a; b"),
            ("application/json", r#"{"detail":[{"msg":"field required"}]}"#, "field required"),
            ("application/json", r#"{"code":7}"#, r#"{"code":7}"#),
            ("application/json", "not json", "not json"),
            ("text/plain", "  gone\u{7}\n", "gone"),
            ("text/html; charset=utf-8", "<html><TITLE>404 Not Found</TITLE><p>x", "404 Not Found"),
            ("", "plain", "plain"),
        ] {
            let said = words(kind(mime_type), &essence(mime_type), body);
            assert_eq!(said.as_deref(), Some(expected), "{body}");
        }
        assert_eq!(words(Kind::Image, "image/png", "x"), None);
        assert_eq!(words(Kind::Text, "text/html", "<p>no title"), None);
        let long = cut(words(Kind::Text, "text/plain", &"é".repeat(5000)).expect("words"));
        assert!(long.len() <= LAST_WORDS_BYTES + 3 && long.ends_with('…'));
    }

    #[test]
    fn latin_1_is_read_if_the_server_says_so() {
        assert_eq!(decode("text/plain; charset=ISO-8859-1", b"\xe9"), "é");
        assert_eq!(decode("text/plain", b"\xe9"), "\u{fffd}");
        assert_eq!(decode("text/plain; charset=utf-8", b"\xef\xbb\xbfa"), "a");
    }
}
