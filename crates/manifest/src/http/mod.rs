//! Tools that ask a server: as run, checked from as typed. `address`, `body` and `json` are the
//! parts of a request, `slot` fills them, `request` puts them together, `handler` sends it,
//! `answer` understands what comes back, and `secrets` are taken out of that. Called by `kind`; an
//! [`Http`] can be made by code as well.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod handler;
pub(crate) mod json;
pub(crate) mod mistake;
pub(crate) mod others;
pub(crate) mod path_style;
pub(crate) mod report;
mod request;
pub(crate) mod secrets;
pub(crate) mod slot;

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::address::Address;
use crate::http::auth::Who;
use crate::http::body::Body;
use crate::http::json::Json;
use crate::http::mistake::HttpMistake;
use crate::http::slot::{Slot, Style};
use crate::output::Output;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::{Compiler, Known, Template};
use crate::tool::typed;
use crate::written::Scalar;
use crate::written::http as written;
use crate::written::http::AllowPrivate;
use crate::written::tool::Env;
use haft_fetch::limits::REDIRECTS_MAX;
use haft_fetch::{Allowed, Reach};
use http::{HeaderName, Method};
use std::ops::RangeInclusive;

/// A request, and what to make of the answer.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) method: Method,
    pub(crate) address: Address,
    /// Names, which are escaped, and values.
    pub(crate) query: Vec<(String, Slot)>,
    pub(crate) headers: Vec<(HeaderName, Slot)>,
    pub(crate) body: Body,
    /// Names and values of cookies.
    pub(crate) cookies: Vec<(String, Slot)>,
    pub(crate) auth: Who,
    /// An argument that is null is a value of its own in a body of JSON.
    pub(crate) keeps_null: bool,
    /// The statuses that are no failure.
    pub(crate) ok_status: Vec<RangeInclusive<u16>>,
    pub(crate) redirects: usize,
    pub(crate) reach: Reach,
    pub(crate) output: Output,
    /// Where it stands in the file.
    pub(crate) place: Place,
}

/// How many redirects are followed.
pub(crate) const REDIRECTS: usize = 5;
/// Every status of success.
pub(crate) const SUCCESS: RangeInclusive<u16> = 200..=299;
/// Headers that the connection needs for itself.
pub(crate) const OWN_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks an `http` whose answers are understood in this way.
pub(crate) fn check(
    written: Placed<written::Http>,
    output: Output,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Http, Wrong> {
    let Placed { place, value: mut written } = written;
    let (method, url) = method(&mut written, place)?;
    let before = surroundings.seen.secrets_count();
    let allow_dynamic = written.allow_dynamic_host;
    let (address, mut query) =
        address::check(&typed(&url), allow_dynamic, known, surroundings, compiler)?;
    address.check_secrets(&typed(&url), &written, surroundings)?;
    query.extend(body::form(pairs(written.query.take()), known, compiler)?);
    let headers = headers(written.headers.take(), known, compiler)?;
    let reach = written.allow_private.take().map(reach).transpose()?.unwrap_or_default();
    let auth = match &written.auth {
        Some(auth) => auth::check(auth, &address, &reach, surroundings)?,
        None => Who::Nobody,
    };
    let ok_status = ok_status(written.ok_status.take(), surroundings)?;
    let redirects = redirects(written.redirects.take())?;
    let body = body(written, &method, known, surroundings, compiler)?;
    let mut given = surroundings.seen.secrets_since(before);
    // Whom it asks is no secret.
    given.retain(|value| !address.names(value));
    let auth = auth.knowing(given);
    #[rustfmt::skip]
    let http = Http {
        method, address, query, headers, body, cookies: Vec::new(), auth, keeps_null: false,
        ok_status, redirects, reach, output, place,
    };
    Ok(http)
}

impl Http {
    /// The same with all members of the argument `query` in its query.
    pub(crate) fn with_open_query(mut self) -> Self {
        let name = "query".to_owned();
        let slot = Slot::argument(&name, Style::Form);
        self.query.push((name, slot));
        self
    }

    /// Every template of it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut found = self.address.templates();
        let slots = self.query.iter().map(|(_, slot)| slot);
        let slots = slots.chain(self.headers.iter().map(|(_, slot)| slot)).chain(self.body.slots());
        found.extend(slots.filter_map(Slot::template));
        if let Body::Json(json) = &self.body {
            json.each_template(&mut |template| found.push(template));
        }
        found
    }

    /// Whether it has a use for an argument.
    pub(crate) fn reads(&self, argument: &str) -> bool {
        let slots = self.query.iter().map(|(_, slot)| slot);
        let slots = slots.chain(self.cookies.iter().map(|(_, slot)| slot));
        let mut slots =
            slots.chain(self.headers.iter().map(|(_, slot)| slot)).chain(self.body.slots());
        slots.any(|slot| slot.reads(argument))
            || self.address.reads(argument)
            || match &self.body {
                Body::Json(json) => json.reads(argument),
                Body::Optional(_, names) => names.iter().any(|name| name == argument),
                _ => false,
            }
    }
}

pub(crate) fn pairs(written: Option<Placed<Env>>) -> Vec<(Placed<String>, Placed<Scalar>)> {
    written.map(|pairs| pairs.value.0).unwrap_or_default()
}

pub(crate) fn bad(place: Place, mistake: HttpMistake) -> Wrong {
    Wrong::new(place, Problem::Http(mistake))
}

fn method(written: &mut written::Http, place: Place) -> Result<(Method, Placed<Scalar>), Wrong> {
    let mut given = [
        ("get", Method::GET, written.get.take()),
        ("head", Method::HEAD, written.head.take()),
        ("post", Method::POST, written.post.take()),
        ("put", Method::PUT, written.put.take()),
        ("patch", Method::PATCH, written.patch.take()),
        ("delete", Method::DELETE, written.delete.take()),
    ]
    .into_iter()
    .filter_map(|(key, method, url)| Some((key, method, url?)));
    let Some((other, method, url)) = given.next() else {
        return Err(bad(place, HttpMistake::Nothing { owner: "http" }));
    };
    match given.next() {
        Some((key, _, second)) => Err(Wrong::new(second.place, Problem::TwoOfOne { key, other })),
        None => Ok((method, url)),
    }
}

pub(crate) fn headers(
    written: Option<Placed<Env>>,
    known: Known<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<(HeaderName, Slot)>, Wrong> {
    let mut headers = Vec::new();
    for (name, value) in pairs(written) {
        let parsed = header_name(&name)?;
        let slot = Slot::new(compiler.compile(typed(&value), known)?);
        if slot.template().and_then(Template::fixed).is_some_and(|text| !is_header_value(text)) {
            return Err(bad(value.place, HttpMistake::HeaderValue { name: name.value }));
        }
        headers.push((parsed, slot));
    }
    Ok(headers)
}

/// The name of a header that anybody may send.
pub(crate) fn header_name(name: &Placed<String>) -> Result<HeaderName, Wrong> {
    let typed = || name.value.clone();
    let Ok(parsed) = HeaderName::from_bytes(name.value.as_bytes()) else {
        return Err(bad(name.place, HttpMistake::BadHeaderName { name: typed() }));
    };
    if OWN_HEADERS.contains(&parsed.as_str()) {
        return Err(bad(name.place, HttpMistake::OwnHeader { name: typed() }));
    }
    Ok(parsed)
}

fn is_header_value(text: &str) -> bool {
    http::HeaderValue::from_bytes(text.as_bytes()).is_ok()
}

pub(crate) fn reach(written: Placed<AllowPrivate>) -> Result<Reach, Wrong> {
    let list = match written.value {
        AllowPrivate::All(true) => return Ok(Reach::Anywhere),
        AllowPrivate::All(false) => return Ok(Reach::Public),
        AllowPrivate::Listed(list) => list,
    };
    let allowed = |text: Placed<String>| {
        text.value.parse::<Allowed>().map_err(|_| {
            bad(text.place, HttpMistake::BadAllowed { shown: format!("{:?}", text.value) })
        })
    };
    Ok(Reach::Listed(list.into_iter().map(allowed).collect::<Result<_, _>>()?))
}

fn ok_status(
    written: Option<Placed<Vec<Placed<Scalar>>>>,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<RangeInclusive<u16>>, Wrong> {
    let Some(written) = written else { return Ok(vec![SUCCESS]) };
    if written.value.is_empty() {
        let help = "name the statuses that are no failure, like [2xx, 404]";
        return Err(Wrong::new(written.place, Problem::EmptyList { key: "ok_status", help }));
    }
    let status = |text: &Placed<Scalar>| {
        let filled = surroundings.fill(&typed(text))?;
        let class = filled.value.strip_suffix("xx");
        let class = class.and_then(|class| class.parse::<u16>().ok());
        let range = match (class, filled.value.parse::<u16>()) {
            (Some(class @ 1..=5), _) => class * 100..=class * 100 + 99,
            (_, Ok(status @ 100..=599)) => status..=status,
            _ => return Err(bad(text.place, HttpMistake::BadStatus { shown: filled.shown })),
        };
        Ok(range)
    };
    written.value.iter().map(status).collect()
}

pub(crate) fn redirects(written: Option<Placed<u32>>) -> Result<usize, Wrong> {
    let Some(written) = written else { return Ok(REDIRECTS) };
    let number = written.value as usize;
    if number <= REDIRECTS_MAX {
        Ok(number)
    } else {
        Err(bad(written.place, HttpMistake::Redirects))
    }
}

fn body(
    written: written::Http,
    method: &Method,
    known: Known<'_>,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Body, Wrong> {
    let given = [
        ("json", written.json.as_ref().map(|body| body.place)),
        ("form", written.form.as_ref().map(|body| body.place)),
        ("multipart", written.multipart.as_ref().map(|body| body.place)),
        ("body", written.body.as_ref().map(|body| body.place)),
    ];
    let mut given = given.into_iter().filter_map(|(key, place)| Some((key, place?)));
    if let Some((key, place)) = given.next() {
        if [Method::GET, Method::HEAD].contains(method) {
            let method = if method == Method::GET { "get" } else { "head" };
            return Err(bad(place, HttpMistake::NoBodyWith { key, method }));
        }
        if let Some((second, place)) = given.next() {
            return Err(Wrong::new(place, Problem::TwoOfOne { key: second, other: key }));
        }
    }
    if let Some(json) = &written.json {
        return Json::check(json, known, compiler).map(Body::Json);
    }
    if written.form.is_some() {
        return body::form(pairs(written.form), known, compiler).map(Body::Form);
    }
    if let Some(parts) = written.multipart {
        return body::parts(parts.value, known, surroundings, compiler).map(Body::Multipart);
    }
    let Some(text) = &written.body else { return Ok(Body::None) };
    let text = compiler.compile(typed(text), known)?;
    Ok(Body::Text(Slot::Template(text), body::TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use crate::http::address::{Base, Path, Piece};
    use crate::http::slot::{Filling, Style};
    use crate::written::tool::Parse;
    use haft_fetch::{Url, escape};
    use minijinja::Environment;
    use serde_json::json;

    /// As a description of an API would have it.
    fn made_by_code() -> Http {
        let base = Url::parse("https://api.example.com/v2/").expect("an address");
        let path = ["/pets/", "/photos"].map(|text| Piece::Text(text.to_owned()));
        let [before, after] = path;
        let path = Path::Pieces(vec![before, Piece::Argument("pet".to_owned()), after]);
        let prefix = base.path().trim_end_matches('/').to_owned();
        let body = [("name", "name"), ("tags", "tags")]
            .map(|(key, name)| (Json::key(key), Json::Argument(name.to_owned())));
        Http {
            method: Method::POST,
            address: Address { base: Base::Fixed(base), prefix, path, is_filled: false },
            query: vec![
                (escape::text("ids"), Slot::argument("ids", Style::Comma)),
                (escape::text("filter"), Slot::argument("filter", Style::Deep)),
            ],
            headers: vec![(
                HeaderName::from_static("x-trace"),
                Slot::argument("trace", Style::Comma),
            )],
            body: Body::Json(Json::Map(body.into())),
            cookies: Vec::new(),
            keeps_null: false,
            auth: Who::Nobody,
            ok_status: vec![SUCCESS],
            redirects: REDIRECTS,
            reach: Reach::Public,
            output: Output::new(Parse::Auto),
            place: Place::default(),
        }
    }

    #[test]
    fn a_request_can_be_made_by_code() {
        let http = made_by_code();
        let arguments = json!({
            "pet": "a/b", "ids": [1, 2], "filter": {"age": 3}, "trace": ["x", "y"], "tags": ["t"],
        });
        let json = arguments.to_string();
        let arguments = Arguments::of_call(&json, &serde_json::Map::new(), &[]).expect("an object");
        let templates = Environment::new();
        let filling = Filling { templates: &templates, arguments: &arguments };
        let request = http.request(filling).expect("it can be made");
        let expected = "https://api.example.com/v2/pets/a%2Fb/photos?ids=1,2&filter%5Bage%5D=3";
        assert_eq!(request.url.to_string(), expected);
        assert_eq!(request.headers["x-trace"], "x,y");
        assert_eq!(request.body, r#"{"tags":["t"]}"#);
        assert!(http.reads("name") && http.reads("pet") && !http.reads("owner"));
    }

    #[test]
    fn a_long_name_above_many_values_does_not_multiply() {
        let filter = Slot::argument("filter", Style::Deep);
        let body = Body::Form(vec![(escape::text("filter"), filter)]);
        let http = Http { query: Vec::new(), body, ..made_by_code() };
        let written = |filter: serde_json::Value| {
            let json = json!({ "pet": "a", "filter": filter }).to_string();
            let arguments =
                Arguments::of_call(&json, &serde_json::Map::new(), &[]).expect("an object");
            let templates = Environment::new();
            http.request(Filling { templates: &templates, arguments: &arguments })
        };
        let key = "k".repeat(200_000);
        let error = written(json!({ &key: vec![0; 200] })).expect_err("it would be 40 MB");
        assert!(error.contains("more than 16777216 bytes"), "{error}");
        let empty: Vec<_> = vec![json!([]); 50_000];
        assert_eq!(written(json!({ &key: empty })).expect("nothing to write").body, "");
        assert!(written(json!({ &key: [0] })).is_ok());
    }
}
