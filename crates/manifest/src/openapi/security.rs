//! Who asks, by the security schemes of a document: what haft.yaml has for each of them, checked,
//! and which of them an operation wants. Called by `check` and for each operation; what it holds is
//! never shown.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::auth::{Secret, Who};
use crate::openapi::bad;
use crate::openapi::document::{Document, members, text};
use crate::openapi::mistake::OpenApiMistake;
use crate::place::Placed;
use crate::tool::{fixed_text, typed};
use crate::written::Scalar;
use crate::written::http::Send;
use crate::written::upstream::{Credential, Credentials, Somebody};
use haft_fetch::{Auth, Placement, Reach, Tokens, Url, escape};
use haft_server::nearest;
use http::HeaderName;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::net::IpAddr;

/// Who asks.
#[derive(Debug)]
pub(crate) struct Security<'d> {
    /// The same for all operations.
    pub(crate) everywhere: Option<Who>,
    schemes: HashMap<&'d str, Who>,
    of_document: Option<&'d Value>,
}

/// Who asks for an operation.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) who: Who,
    /// The schemes that the operation wants and that nothing is given for.
    pub(crate) missing: Vec<String>,
}

/// Where requests go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct To<'a> {
    pub(crate) base: &'a Url,
    /// The document is a file, which somebody put there.
    pub(crate) is_file: bool,
    pub(crate) reach: &'a Reach,
}

impl To<'_> {
    /// Whether a document may say that secrets are sent to an address.
    fn trusts(self, url: &Url) -> bool {
        let is_local = || {
            let host = url.host().trim_matches(['[', ']']);
            let address = host.parse::<IpAddr>();
            address.is_ok_and(|address| address.is_loopback() && self.reach.allows(host, address))
        };
        url.is_same_origin(self.base) || self.is_file && (url.is_secure() || is_local())
    }
}

const REASON: &str = "a caller must not choose who asks";

impl<'d> Security<'d> {
    pub(crate) fn new(
        document: &'d Document,
        everywhere: Option<Who>,
        Credentials(written): &Credentials,
        to: To<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Wrong> {
        let known = document
            .get("components")
            .and_then(|components| members(components, "securitySchemes"));
        let mut schemes = HashMap::new();
        for (name, credential) in written {
            let found = known.and_then(|known| known.get_key_value(&name.value));
            let Some((key, scheme)) = found else {
                let names = known.map(Map::keys).into_iter().flatten().map(String::as_str);
                let nearest = nearest(&name.value, names).map(str::to_owned);
                let (what, name_) = ("security scheme", name.value.clone());
                let unknown = OpenApiMistake::Unknown { what, name: name_, nearest };
                return Err(bad(name.place, unknown));
            };
            let scheme = document.resolve(scheme).unwrap_or(scheme);
            let who = Given { name, scheme, to, surroundings }.who(credential)?;
            schemes.insert(key.as_str(), who);
        }
        Ok(Self { everywhere, schemes, of_document: document.get("security") })
    }

    /// Who asks for an operation.
    pub(crate) fn of(&self, operation: &Value) -> Asking {
        if let Some(who) = &self.everywhere {
            return Asking { who: who.clone(), missing: Vec::new() };
        }
        let wanted = operation.get("security").or(self.of_document).and_then(Value::as_array);
        let mut missing = Vec::new();
        let mut may_be_nobody = wanted.is_none_or(Vec::is_empty);
        for choice in wanted.into_iter().flatten().filter_map(Value::as_object) {
            if choice.is_empty() {
                may_be_nobody = true;
                continue;
            }
            let found: Option<Vec<Who>> =
                choice.keys().map(|name| self.schemes.get(name.as_str()).cloned()).collect();
            if let Some(mut found) = found {
                let who = if found.len() == 1 { found.swap_remove(0) } else { Who::All(found) };
                return Asking { who, missing: Vec::new() };
            }
            if missing.is_empty() {
                let is_missing = |name: &&String| !self.schemes.contains_key(name.as_str());
                missing.extend(choice.keys().filter(is_missing).cloned());
            }
        }
        if may_be_nobody {
            missing.clear();
        }
        Asking { who: Who::Nobody, missing }
    }
}

/// What is given for a scheme.
struct Given<'a> {
    name: &'a Placed<String>,
    scheme: &'a Value,
    to: To<'a>,
    surroundings: &'a Surroundings<'a>,
}

impl Given<'_> {
    fn who(&self, credential: &Placed<Credential>) -> Result<Who, Wrong> {
        let kind = text(self.scheme, "type").unwrap_or_default();
        let http = text(self.scheme, "scheme").unwrap_or_default().to_ascii_lowercase();
        match (kind, &*http, &credential.value) {
            ("apiKey", _, Credential::Key(key)) => self.key(&self.secret(credential.place, key)?),
            ("http", "basic", Credential::Somebody(somebody)) if somebody.user.is_some() => {
                let given = |text: &Option<Placed<Scalar>>| {
                    let text = text.as_ref().map(|text| self.text(text)).transpose();
                    text.map(Option::unwrap_or_default)
                };
                let (user, password) = (given(&somebody.user)?, given(&somebody.password)?);
                let auth = Auth::basic(&user, &password).map_err(|_| self.unusable())?;
                Ok(Who::Header(auth, Secret(password)))
            }
            ("http", "bearer", Credential::Key(key))
            | ("oauth2" | "openIdConnect", _, Credential::Key(key)) => {
                let token = self.secret(credential.place, key)?;
                let auth = Auth::bearer(&token).map_err(|_| self.unusable())?;
                Ok(Who::Header(auth, Secret(token)))
            }
            ("oauth2" | "openIdConnect", _, Credential::Somebody(client)) => self.tokens(client),
            ("http", "basic", _) => Err(self.needs("`user` and `password`")),
            ("apiKey" | "http", _, _) => Err(self.needs("a key or token, as a text")),
            _ => Err(self.needs("more than a key, which haft cannot give it")),
        }
    }

    fn key(&self, secret: &str) -> Result<Who, Wrong> {
        let name = text(self.scheme, "name").unwrap_or_default();
        let kept = Secret(secret.to_owned());
        match text(self.scheme, "in") {
            Some("query") => Ok(Who::Query(escape::text(name), kept)),
            Some("cookie") => Ok(Who::Cookie(escape::text(name), kept)),
            _ => {
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| self.unusable())?;
                let auth = Auth::header(name, secret).map_err(|_| self.unusable())?;
                Ok(Who::Header(auth, kept))
            }
        }
    }

    fn tokens(&self, client: &Somebody) -> Result<Who, Wrong> {
        let (Some(id), Some(secret)) = (&client.client_id, &client.client_secret) else {
            return Err(self.needs("a token, or `client_id` and `client_secret`"));
        };
        let flow = self.scheme.get("flows").and_then(|flows| flows.get("clientCredentials"));
        let url = match (&client.token_url, flow.and_then(|flow| text(flow, "tokenUrl"))) {
            (Some(typed), _) => Url::parse(&self.text(typed)?).ok(),
            (None, Some(said)) => match self.to.base.join(said) {
                Ok(url) if !self.to.trusts(&url) => {
                    return Err(self.needs("a `token_url`, as that of the document is elsewhere"));
                }
                url => url.ok(),
            },
            (None, None) => return Err(self.needs("a `token_url`, as the document has none")),
        };
        let url = url.ok_or_else(|| self.needs("a `token_url` that is an address"))?;
        let scope = client.scope.as_ref().map(|scope| self.text(scope)).transpose()?;
        Ok(Who::Tokens(Box::new(Tokens {
            url,
            client_id: self.text(id)?,
            client_secret: self.text(secret)?,
            fields: scope.map(|scope| ("scope".to_owned(), scope)).into_iter().collect(),
            placement: match client.send {
                Send::Basic => Placement::Basic,
                Send::Body => Placement::Body,
            },
            reach: self.to.reach.clone(),
        })))
    }

    fn text(&self, scalar: &Placed<Scalar>) -> Result<String, Wrong> {
        fixed_text(&typed(scalar), "security", REASON, self.surroundings).map(|text| text.value)
    }

    fn secret(&self, place: crate::place::Place, scalar: &Scalar) -> Result<String, Wrong> {
        self.text(&Placed::new(place, scalar.clone()))
    }

    fn needs(&self, needs: &'static str) -> Wrong {
        let scheme = self.name.value.clone();
        bad(self.name.place, OpenApiMistake::BadCredential { scheme, needs })
    }

    fn unusable(&self) -> Wrong {
        self.needs("a text without line ends and control characters")
    }
}
