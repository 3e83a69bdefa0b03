//! All that a server answers, as one value: status, body and headers. Called by `answer` for tools
//! with `output: report`.

use crate::http::Http;
use crate::http::answer::{Kind, body, decode, header, kind};
use crate::json_text;
use crate::limits::RESULT_DEPTH_MAX;
use crate::output::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_fetch::{Answer, Auth};
use haft_proto::json::Cursor;
use haft_proto::spec::tool_result::{Cause, ToolResult};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, SET_COOKIE};
use http::{HeaderMap, HeaderName};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// What a report fits.
pub(crate) const REPORT_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"status":{"type":"integer"},"body":{},"#,
    r#""headers":{"type":"object","additionalProperties":{"type":"string"}}},"#,
    r#""required":["status","body","headers"]}"#
);

impl Http {
    /// The report; a status that is a failure makes it one.
    pub(crate) async fn report(&self, answer: Answer, auth: &Auth) -> Result<ToolResult, Failure> {
        let status = answer.status.as_u16();
        let is_error = !self.is_ok(status);
        let secrets = self.auth.secrets(auth);
        let clean = |text: String| secrets.redact(text);
        let mime_type = header(&answer.headers, &CONTENT_TYPE).unwrap_or_default().to_owned();
        let headers: Map<String, Value> = headers(&answer.headers)
            .map(|(name, value)| (name.to_owned(), Value::from(clean(value))))
            .collect();
        let bytes = body(answer, self.output.limit).await?;
        let body = match kind(&mime_type) {
            _ if bytes.is_empty() => null(),
            Kind::Json => json_or_text(clean(decode(&mime_type, &bytes))),
            Kind::Text => text(&clean(decode(&mime_type, &bytes))),
            Kind::Unknown if std::str::from_utf8(&bytes).is_ok() => {
                json_or_text(clean(decode(&mime_type, &bytes)))
            }
            Kind::Audio | Kind::Image | Kind::Other | Kind::Unknown => {
                text(&STANDARD.encode(&bytes))
            }
        };
        let report = json!({ "status": status, "headers": headers }).to_string();
        // The body is not read again to be written.
        let rest = report.strip_prefix('{').expect("it is an object");
        let report = format!(r#"{{"body":{},{rest}"#, body.get());
        let cause = is_error.then_some(Cause::Status(status));
        Ok(ToolResult { is_error, cause, ..ToolResult::json(&report) })
    }
}

/// Names and values, but for cookies, which are the connection's.
pub(crate) fn headers(headers: &HeaderMap) -> impl Iterator<Item = (&str, String)> {
    // They speak of the body as it came, and it is reported as it was decoded.
    let is_coded = headers.contains_key(CONTENT_ENCODING);
    let speaks_of_code =
        move |name: &HeaderName| is_coded && [CONTENT_ENCODING, CONTENT_LENGTH].contains(name);
    let names = headers.keys().filter(move |name| **name != SET_COOKIE && !speaks_of_code(name));
    names.map(|name| {
        let values = headers.get_all(name).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        (name.as_str(), values.join(", "))
    })
}

fn null() -> Box<RawValue> {
    to_raw_value(&()).expect("null is JSON")
}

fn text(text: &str) -> Box<RawValue> {
    to_raw_value(text).expect("a text is JSON")
}

/// What is not one JSON value, or is too deep to be passed on, stays a text.
fn json_or_text(said: String) -> Box<RawValue> {
    let json = serde_json::from_str::<Box<RawValue>>(&json_text::mended(&said)).ok();
    let json = json.filter(|json| Cursor::new(json.get(), RESULT_DEPTH_MAX).value().is_ok());
    json.unwrap_or_else(|| text(&said))
}
