//! Who asks, from as typed to as sent. Checked when the file is read; the handler makes of it what
//! `haft_fetch` wants. What it holds is never shown.

use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::http::address::Address;
use crate::http::bad;
use crate::http::mistake::HttpMistake;
use crate::http::secrets::Secrets;
use crate::place::Placed;
use crate::problem::Problem;
use crate::tool::{fixed_text, typed};
use crate::written::Scalar;
use crate::written::http::{self as written, Send};
use haft_fetch::{Auth, Clients, Placement, Reach, Tokens, Url, escape};
use http::HeaderName;
use std::fmt;

/// Who asks.
#[derive(Clone, Debug, Default)]
pub(crate) enum Who {
    /// Somebody who is known by several things at once.
    All(Vec<Self>),
    /// Somebody who has a cookie.
    Cookie(String, Secret),
    /// Nobody, but this is said elsewhere in a request, and secret.
    Given(Secret),
    /// Somebody who has a header.
    Header(Auth, Secret),
    #[default]
    Nobody,
    /// Somebody who has a parameter of the query: its name and value, both escaped.
    Query(String, Secret),
    /// Somebody who gets tokens.
    Tokens(Box<Tokens>),
}

/// A text that is not shown.
#[derive(Clone, Default)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Who {
    /// How a request says it.
    pub(crate) fn auth(&self, clients: &Clients) -> Auth {
        match self {
            Self::Header(auth, _) => auth.clone(),
            Self::All(all) => {
                let one = |who: &Self| match who.auth(clients) {
                    Auth::None => None,
                    auth => Some(auth),
                };
                let mut found: Vec<_> = all.iter().filter_map(one).collect();
                // The headers of the others are written with the request.
                let token = found.iter().position(|auth| matches!(auth, Auth::Token(_)));
                if found.is_empty() { Auth::None } else { found.swap_remove(token.unwrap_or(0)) }
            }
            Self::Cookie(..) | Self::Given(_) | Self::Nobody | Self::Query(..) => Auth::None,
            Self::Tokens(tokens) => Auth::Token(clients.tokens(tokens)),
        }
    }

    /// The same, where these are secret as well.
    pub(crate) fn knowing(self, given: Vec<String>) -> Self {
        if given.is_empty() {
            return self;
        }
        let mut all = match self {
            Self::All(all) => all,
            one => vec![one],
        };
        all.extend(given.into_iter().map(|value| Self::Given(Secret(value))));
        Self::All(all)
    }

    /// Each thing that it is known by.
    pub(crate) fn each(&self) -> &[Self] {
        match self {
            Self::All(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// What is secret, in any form that it was sent in; `auth` is how the request said it.
    pub(crate) fn secrets(&self, auth: &Auth) -> Secrets {
        let mut secrets = auth.secrets();
        for who in self.each() {
            let secret = match who {
                Self::Cookie(_, secret) | Self::Given(secret) | Self::Query(_, secret) => &secret.0,
                Self::Header(auth, secret) => {
                    secrets.extend(auth.secrets());
                    &secret.0
                }
                Self::Tokens(tokens) => &tokens.client_secret,
                Self::All(_) | Self::Nobody => continue,
            };
            secrets.extend([secret.clone(), escape::text(secret)]);
        }
        Secrets::new(secrets)
    }

    /// The text without what is secret, should a server repeat it.
    pub(crate) fn redact(&self, auth: &Auth, text: String) -> String {
        self.secrets(auth).redact(text)
    }
}

const REASON: &str = "a caller must not choose who asks";

/// Checks `auth`.
pub(crate) fn check(
    written: &Placed<written::Auth>,
    address: &Address,
    reach: &Reach,
    surroundings: &Surroundings<'_>,
) -> Result<Who, Wrong> {
    let written::Auth { bearer, basic, header, query, oauth } = &written.value;
    let given = [
        ("bearer", bearer.as_ref().map(|given| given.place)),
        ("basic", basic.as_ref().map(|given| given.place)),
        ("header", header.as_ref().map(|given| given.place)),
        ("query", query.as_ref().map(|given| given.place)),
        ("oauth", oauth.as_ref().map(|given| given.place)),
    ];
    let mut given = given.into_iter().filter_map(|(key, place)| Some((key, place?)));
    let Some((first, _)) = given.next() else {
        return Err(bad(written.place, HttpMistake::Nothing { owner: "auth" }));
    };
    if let Some((key, place)) = given.next() {
        return Err(Wrong::new(place, Problem::TwoOfOne { key, other: first }));
    }
    if address.is_anyones(surroundings)? {
        return Err(bad(written.place, HttpMistake::AuthToAnyone));
    }
    let text = |text: &Placed<Scalar>, key: &'static str| {
        fixed_text(&typed(text), key, REASON, surroundings).map(|filled| filled.value)
    };
    if let Some(token) = bearer {
        let secret = text(token, "bearer")?;
        let auth = Auth::bearer(&secret).map_err(|_| unusable(token, "bearer"))?;
        return Ok(Who::Header(auth, Secret(secret)));
    }
    if let Some(Placed { value: basic, .. }) = basic {
        let (user, secret) = (text(&basic.user, "user")?, text(&basic.password, "password")?);
        let auth = Auth::basic(&user, &secret).map_err(|_| unusable(&basic.user, "user"))?;
        return Ok(Who::Header(auth, Secret(secret)));
    }
    if let Some(Placed { value: key, .. }) = header {
        let Ok(name) = HeaderName::from_bytes(key.name.value.as_bytes()) else {
            let name = key.name.value.clone();
            return Err(bad(key.name.place, HttpMistake::BadHeaderName { name }));
        };
        let secret = text(&key.value, "value")?;
        let auth = Auth::header(name, &secret).map_err(|_| unusable(&key.value, "value"))?;
        return Ok(Who::Header(auth, Secret(secret)));
    }
    if let Some(Placed { value: key, .. }) = query {
        let secret = text(&key.value, "value")?;
        return Ok(Who::Query(escape::text(&key.name.value), Secret(secret)));
    }
    let oauth = oauth.as_ref().map(|oauth| &oauth.value);
    let oauth = oauth.expect("one of the five is given");
    tokens(oauth, reach, &text).map(|tokens| Who::Tokens(Box::new(tokens)))
}

fn unusable(text: &Placed<Scalar>, name: &str) -> Wrong {
    bad(text.place, HttpMistake::HeaderValue { name: name.to_owned() })
}

/// Fills a text that is no template.
type Fixed<'a> = dyn Fn(&Placed<Scalar>, &'static str) -> Result<String, Wrong> + 'a;

fn tokens(oauth: &written::OAuth, reach: &Reach, text: &Fixed<'_>) -> Result<Tokens, Wrong> {
    let url = Url::parse(&text(&oauth.token_url, "token_url")?).map_err(|error| {
        bad(oauth.token_url.place, HttpMistake::BadUrl { reason: error.0.to_owned() })
    })?;
    let mut fields = Vec::new();
    for (name, value) in [("scope", &oauth.scope), ("audience", &oauth.audience)] {
        if let Some(value) = value {
            fields.push((name.to_owned(), text(value, name)?));
        }
    }
    Ok(Tokens {
        url,
        client_id: text(&oauth.client_id, "client_id")?,
        client_secret: text(&oauth.client_secret, "client_secret")?,
        fields,
        placement: match oauth.send {
            Send::Basic => Placement::Basic,
            Send::Body => Placement::Body,
        },
        reach: reach.clone(),
    })
}
