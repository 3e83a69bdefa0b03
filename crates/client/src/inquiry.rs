//! A question of a server, as it came, becomes one that an [`Answerer`](crate::Answerer) can be
//! asked; and its answer becomes JSON. Called by `desk` for both eras. No I/O.

use crate::answerer::{Consent, Declined, Elicited, Offers, Root, Visit};
use crate::form::Form;
use crate::limits::URL_BYTES_MAX;
use crate::message::quoted;
use crate::sampling::SampleRequest;
use haft_proto::error::Mistake;
use haft_proto::method::Method;
use http::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What a server wants to know.
#[derive(Debug)]
pub(crate) enum Inquiry {
    Form(Box<Form>),
    Roots,
    Sample(SampleRequest),
    Visit(Visit),
}

/// Why nobody is asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// It is not what MCP defines.
    Malformed(String),
    /// The server was not told that it may ask this.
    NotOffered(String),
}

impl Inquiry {
    /// Reads a question. What is not offered is not looked at any further.
    pub(crate) fn read(
        method: &str,
        params: Option<&RawValue>,
        offers: Offers,
    ) -> Result<Self, Unasked> {
        let not_offered = || Unasked::NotOffered(method.chars().take(NAME_CHARS_MAX).collect());
        match Method::find(method) {
            Some(Method::Elicit) if offers.forms || offers.visits => {
                let params = params.ok_or_else(|| malformed("`params` is missing"))?;
                read_elicitation(params, offers)
            }
            Some(Method::CreateMessage) if offers.sampling => {
                let params = params.ok_or_else(|| malformed("`params` is missing"))?;
                let request = SampleRequest::read(params).map_err(Unasked::Malformed)?;
                if request.has_tools && !offers.sampling_tools {
                    return Err(malformed("`tools` were not offered by this client"));
                }
                Ok(Self::Sample(request))
            }
            Some(Method::RootsList) if offers.roots => Ok(Self::Roots),
            _ => Err(not_offered()),
        }
    }
}

impl From<Unasked> for Declined {
    fn from(unasked: Unasked) -> Self {
        let (mistake, message) = match unasked {
            Unasked::Malformed(reason) => {
                (Mistake::InvalidParams, format!("Invalid params: {reason}"))
            }
            Unasked::NotOffered(method) => (
                Mistake::MethodNotFound,
                format!("Method not found: this client does not offer `{method}`"),
            ),
        };
        Self { code: mistake.code(), message }
    }
}

impl From<Elicited> for String {
    fn from(elicited: Elicited) -> Self {
        match elicited {
            Elicited::Accepted(values) => {
                format!(r#"{{"action":"accept","content":{}}}"#, Value::Object(values))
            }
            Elicited::Cancelled => Consent::Cancelled.into(),
            Elicited::Declined => Consent::Declined.into(),
        }
    }
}

impl From<Consent> for String {
    fn from(consent: Consent) -> Self {
        let action = match consent {
            Consent::Accepted => "accept",
            Consent::Cancelled => "cancel",
            Consent::Declined => "decline",
        };
        format!(r#"{{"action":"{action}"}}"#)
    }
}

/// JSON text of a `ListRootsResult`.
pub(crate) fn write_roots(roots: &[Root]) -> String {
    let root = |root: &Root| {
        let name = root.name.as_ref().map(|name| format!(r#","name":{}"#, quoted(name)));
        format!(r#"{{"uri":{}{}}}"#, quoted(&root.uri), name.unwrap_or_default())
    };
    let roots: Vec<String> = roots.iter().map(root).collect();
    format!(r#"{{"roots":[{}]}}"#, roots.join(","))
}

/// The visits that an error of 2025-11-25 wants before the request is sent again.
pub(crate) fn read_visits(data: Option<&RawValue>) -> Result<Vec<Visit>, String> {
    #[derive(Deserialize)]
    struct Written {
        elicitations: Vec<Elicitation>,
    }
    let data = data.ok_or("`data` is missing")?;
    let written: Written = serde_json::from_str(data.get()).map_err(|error| error.to_string())?;
    if written.elicitations.is_empty() {
        return Err("`elicitations` is empty".to_owned());
    }
    written.elicitations.into_iter().map(Elicitation::visit).collect()
}

/// The parameters of `elicitation/create` in either mode.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Elicitation {
    mode: Option<String>,
    message: String,
    requested_schema: Option<Map<String, Value>>,
    url: Option<String>,
    elicitation_id: Option<String>,
}

impl Elicitation {
    fn visit(self) -> Result<Visit, String> {
        let url = self.url.ok_or("`url` is missing")?;
        let host = host_of(&url)?;
        Ok(Visit { message: self.message, url, host, id: self.elicitation_id })
    }
}

const NAME_CHARS_MAX: usize = 80;

fn read_elicitation(params: &RawValue, offers: Offers) -> Result<Inquiry, Unasked> {
    let written: Elicitation = serde_json::from_str(params.get())
        .map_err(|error| Unasked::Malformed(error.to_string()))?;
    match written.mode.as_deref() {
        None | Some("form") if offers.forms => {
            let schema = written.requested_schema.map(Value::Object);
            let schema = schema.ok_or_else(|| malformed("`requestedSchema` is missing"))?;
            let form = Form::read(written.message, schema, params.to_owned());
            form.map(Box::new).map(Inquiry::Form).map_err(Unasked::Malformed)
        }
        Some("url") if offers.visits => {
            written.visit().map(Inquiry::Visit).map_err(Unasked::Malformed)
        }
        mode => {
            let mode: String = mode.unwrap_or("form").chars().take(NAME_CHARS_MAX).collect();
            Err(Unasked::Malformed(format!("this client does not offer the mode {mode:?}")))
        }
    }
}

/// The host of an address that a person may be shown and asked to visit.
fn host_of(url: &str) -> Result<String, String> {
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && url.len() <= URL_BYTES_MAX;
    let read = if is_plain { url.parse::<Uri>().ok() } else { None };
    let read = read.filter(|url| matches!(url.scheme_str(), Some("http" | "https")));
    let host = read.as_ref().and_then(Uri::host).filter(|host| !host.is_empty());
    host.map(str::to_owned).ok_or_else(|| "`url` must be an http:// or https:// address".to_owned())
}

fn malformed(reason: &str) -> Unasked {
    Unasked::Malformed(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Offers =
        Offers { forms: true, visits: true, sampling: true, sampling_tools: true, roots: true };

    fn read(method: &str, params: &str, offers: Offers) -> Result<Inquiry, Unasked> {
        let params = RawValue::from_string(params.to_owned()).expect("JSON");
        Inquiry::read(method, Some(&params), offers)
    }

    #[test]
    fn a_form_is_asked_for_with_a_mode_or_without() {
        for mode in ["", r#""mode":"form","#] {
            let params =
                format!(r#"{{{mode}"message":"m","requestedSchema":{{"type":"object"}}}}"#);
            let read = read("elicitation/create", &params, ALL);
            assert!(matches!(read, Ok(Inquiry::Form(_))), "{read:?}");
        }
    }

    #[test]
    fn an_address_is_one_that_a_browser_opens_and_a_person_can_read() {
        let visit = |url: &str| {
            let params = format!(r#"{{"mode":"url","message":"m","url":{}}}"#, quoted(url));
            read("elicitation/create", &params, ALL)
        };
        let Ok(Inquiry::Visit(good)) = visit("https://a@xn--e1.example:1/x?y#z") else { panic!() };
        assert_eq!(good.host, "xn--e1.example");
        let long = format!("https://x/{}", "a".repeat(URL_BYTES_MAX));
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://",
            "/x",
            "https://x/\u{1b}[2J",
            "https://exämple.com/",
            "https://x/ y",
            &long,
        ] {
            assert!(matches!(visit(bad), Err(Unasked::Malformed(_))), "{bad}");
        }
    }

    #[test]
    fn what_is_not_offered_is_not_read() {
        let none = Offers::default();
        for method in ["elicitation/create", "sampling/createMessage", "roots/list", "tools/list"] {
            let expected = Unasked::NotOffered(method.to_owned());
            assert_eq!(read(method, "7", none).map(|_| ()), Err(expected));
        }
        let only_forms = Offers { forms: true, ..none };
        let url = r#"{"mode":"url","message":"m","url":"https://x/"}"#;
        let declined =
            read("elicitation/create", url, only_forms).map(|_| ()).map_err(Declined::from);
        assert_eq!(declined.map_err(|declined| declined.code), Err(-32602));
        let tools = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
        let only_text = Offers { sampling: true, ..none };
        assert!(read("sampling/createMessage", tools, only_text).is_err());
        assert!(read("sampling/createMessage", tools, ALL).is_ok());
    }

    #[test]
    fn answers_are_written_as_both_eras_read_them() {
        let values = Map::from_iter([("a".to_owned(), Value::from(1))]);
        for (elicited, expected) in [
            (Elicited::Accepted(values), r#"{"action":"accept","content":{"a":1}}"#),
            (Elicited::Declined, r#"{"action":"decline"}"#),
            (Elicited::Cancelled, r#"{"action":"cancel"}"#),
        ] {
            assert_eq!(String::from(elicited), expected);
        }
        let root = |name: Option<&str>| Root {
            uri: "file:///x".to_owned(),
            name: name.map(str::to_owned),
        };
        assert_eq!(
            write_roots(&[root(None), root(Some("\"x\""))]),
            r#"{"roots":[{"uri":"file:///x"},{"uri":"file:///x","name":"\"x\""}]}"#
        );
    }
}
