//! `auth` of a request. Called by `http`.

use super::build::{self, Mapping};
use super::placeholder::{Slots, VALUE, filled};
use super::section::{Section, Work};
use super::tool::Given;
use crate::fault::Wrong;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use haft_server::nearest;

/// Adds who asks; `false` if callers would have to say it where haft lets nobody do so.
pub(super) fn translate(
    tool: Section<'_>,
    given: &mut Given,
    http: &mut Mapping,
    work: &mut Work<'_>,
) -> Result<bool, Wrong> {
    let Some(entry) = tool.entry("auth") else { return Ok(true) };
    let auth = tool.within(&entry.value, "auth")?;
    let kind = auth.need("type")?;
    let mut out = Mapping::new(entry.value.place);
    match &*kind.value {
        "bearer" => bearer(auth, given, http, &mut out)?,
        "basic" => {
            if let Some(place) = basic(auth, &mut out)? {
                let why = "left out: callers would have to know the password; put it into the \
                           environment: `password: ${PASSWORD}`";
                work.note(tool, place, why);
                return Ok(false);
            }
        }
        "apikey" | "api_key" => key(auth, given, http, &mut out)?,
        _ => {
            let known = ["bearer", "basic", "apikey"];
            let nearest = nearest(&kind.value, known).map(str::to_owned);
            let known = known.map(str::to_owned).to_vec();
            let (key, word) = ("type".to_owned(), kind.value);
            let problem = Problem::UnknownWord { key, word, nearest, known };
            return Err(Wrong::new(kind.place, problem));
        }
    }
    const KNOWN: [&str; 10] = [
        "type",
        "token",
        "token_env",
        "username",
        "username_env",
        "password",
        "password_env",
        "key",
        "key_env",
        "header",
    ];
    auth.know(&KNOWN, work);
    if !out.is_empty() {
        http.put_at("auth", entry.key_place, out.tree());
    }
    Ok(true)
}

/// A variable of the environment by its name alone, or the text itself.
fn secret(auth: Section<'_>, key: &str) -> Result<Placed<String>, Wrong> {
    match auth.text(&format!("{key}_env"))? {
        Some(name) => Ok(Placed::new(name.place, format!("${{{}}}", name.value))),
        None => auth.need(key),
    }
}

fn is_given(text: &Placed<String>) -> bool {
    Slots::names_any(&text.value, VALUE)
}

fn bearer(
    auth: Section<'_>,
    given: &mut Given,
    http: &mut Mapping,
    out: &mut Mapping,
) -> Result<(), Wrong> {
    let token = secret(auth, "token")?;
    if is_given(&token) {
        let header = Placed::new(token.place, format!("Bearer {}", token.value));
        put_header("Authorization", &header, given, http);
    } else {
        out.put("bearer", build::text(token.place, filled(&token.value)));
    }
    Ok(())
}

/// Where callers would have to give it, if they would.
fn basic(auth: Section<'_>, out: &mut Mapping) -> Result<Option<Place>, Wrong> {
    let (user, password) = (secret(auth, "username")?, secret(auth, "password")?);
    if is_given(&user) || is_given(&password) {
        return Ok(Some(password.place));
    }
    let mut basic = Mapping::new(auth.tree.place);
    basic.put("user", build::text(user.place, filled(&user.value)));
    basic.put("password", build::text(password.place, filled(&password.value)));
    out.put("basic", basic.tree());
    Ok(None)
}

fn key(
    auth: Section<'_>,
    given: &mut Given,
    http: &mut Mapping,
    out: &mut Mapping,
) -> Result<(), Wrong> {
    let key = secret(auth, "key")?;
    let name = auth.text("header")?;
    let name = name.unwrap_or_else(|| Placed::new(auth.tree.place, "X-API-Key".to_owned()));
    if is_given(&key) {
        put_header(&name.value, &key, given, http);
        return Ok(());
    }
    let mut header = Mapping::new(auth.tree.place);
    header.put("name", build::text(name.place, name.value));
    header.put("value", build::text(key.place, filled(&key.value)));
    out.put("header", header.tree());
    Ok(())
}

/// A secret that callers give is a header like any other.
fn put_header(name: &str, value: &Placed<String>, given: &mut Given, http: &mut Mapping) {
    let template = build::text(value.place, given.slots.template(value, VALUE));
    http.put_within("headers", name, template);
}
