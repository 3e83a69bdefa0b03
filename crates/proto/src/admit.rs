//! Which era a message belongs to, and whether it may be asked: the order of checks that both wires
//! follow. What a legacy session has agreed on is told to it; it keeps nothing.

use crate::encode;
use crate::envelope::{CLIENT_CAPABILITIES, Envelope, LOG_LEVEL, PROTOCOL_VERSION};
use crate::error::{Mistake, Refusal};
use crate::json::JsonStr;
use crate::method::Method;
use crate::mirror::{self, Headers};
use crate::spec::level::Level;
use crate::version::{Era, Revision};

/// A message that may be asked or noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// What it asks.
    pub method: Method,
    /// The revision that it speaks.
    pub revision: Revision,
}

/// Which era a message belongs to: modern if it names its own revision, or if a header names one
/// that does not begin with a handshake. An `initialize` may carry a header of its own era, and a
/// malformed modern request may have nothing but its header.
#[must_use]
pub fn era_of(message: &Envelope<'_>, version_header: Option<&str>) -> Era {
    let is_legacy = |date| Revision::parse(date).is_some_and(|found| found.era() == Era::Legacy);
    if message.params.meta.protocol_version.is_some() {
        return Era::Modern;
    }
    match version_header {
        Some(date) if !is_legacy(date) => Era::Modern,
        _ => Era::Legacy,
    }
}

/// Checks a modern request, in the order that its errors are told: `_meta`, headers, version,
/// method.
///
/// # Errors
/// The [`Refusal`] to answer with.
pub fn modern_request(
    message: &Envelope<'_>,
    headers: Option<&dyn Headers>,
) -> Result<Admitted, Refusal> {
    let meta = &message.params.meta;
    let missing = |key: &str, kind: &str| {
        Refusal::new(
            Mistake::MissingMeta,
            format!("Invalid params: `params._meta` must have `{key}`, {kind}"),
        )
    };
    let version = meta
        .protocol_version
        .and_then(JsonStr::from_raw)
        .ok_or_else(|| missing(PROTOCOL_VERSION, "a string"))?
        .decode();
    if !meta.client_capabilities.is_some_and(|raw| raw.starts_with('{')) {
        return Err(missing(CLIENT_CAPABILITIES, "an object"));
    }
    if let Some(headers) = headers {
        mirror::check(headers, message)?;
    }
    let revision = Revision::parse(&version)
        .filter(|revision| revision.era() == Era::Modern)
        .ok_or_else(|| unsupported(&version))?;
    if let Some(level) = meta.log_level {
        log_level(level, LOG_LEVEL)?;
    }
    let method = method_of(message, revision, true)?;
    Ok(Admitted { method, revision })
}

/// Checks a legacy request. `agreed` is what `initialize` agreed on, if it has come.
///
/// # Errors
/// The [`Refusal`] to answer with.
pub fn legacy_request(
    message: &Envelope<'_>,
    agreed: Option<Revision>,
) -> Result<Admitted, Refusal> {
    let method = method_of(message, agreed.unwrap_or(Revision::LATEST_LEGACY), true)?;
    if method == Method::Initialize {
        let proposed = message.params.protocol_version.and_then(JsonStr::from_raw);
        let proposed = proposed.ok_or_else(|| {
            Refusal::new(
                Mistake::InvalidParams,
                "Invalid params: `params.protocolVersion` must be a string like \"2025-11-25\"",
            )
        })?;
        return Ok(Admitted { method, revision: Revision::negotiate(&proposed.decode()) });
    }
    match agreed {
        Some(revision) => Ok(Admitted { method, revision }),
        None if method == Method::Ping => {
            Ok(Admitted { method, revision: Revision::LATEST_LEGACY })
        }
        None => Err(Refusal::new(
            Mistake::InvalidRequest,
            format!(
                "Invalid request: send `initialize` first, or name a version in \
                 `params._meta[\"{PROTOCOL_VERSION}\"]`"
            ),
        )),
    }
}

/// The refusal of a version that is not served, with those that are.
#[must_use]
pub fn unsupported(requested: &str) -> Refusal {
    let mut data = b"{\"supported\":".to_vec();
    encode::hello::modern_versions(&mut data);
    data.extend_from_slice(b",\"requested\":");
    encode::string(&mut data, requested);
    data.push(b'}');
    Refusal::new(Mistake::UnsupportedVersion, "Unsupported protocol version; see `data.supported`")
        .with_data(String::from_utf8_lossy(&data).into_owned())
}

/// The log level that raw JSON is.
///
/// # Errors
/// [`Mistake::InvalidParams`], naming the place and what may stand there.
pub fn log_level(raw: &str, place: &str) -> Result<Level, Refusal> {
    let level = JsonStr::from_raw(raw).and_then(|level| Level::parse(&level.decode()));
    level.ok_or_else(|| {
        let known = Level::ALL.map(Level::as_str).join(", ");
        let message = format!("Invalid params: `{place}` must be one of {known}");
        Refusal::new(Mistake::InvalidParams, message)
    })
}

fn method_of(
    message: &Envelope<'_>,
    revision: Revision,
    as_request: bool,
) -> Result<Method, Refusal> {
    let name = message.method.map(JsonStr::decode).unwrap_or_default();
    Method::find(&name).filter(|method| method.is_for_server(revision, as_request)).ok_or_else(
        || {
            let shown: String = name.chars().take(80).collect();
            Refusal::new(
                Mistake::MethodNotFound,
                format!("Method not found: {shown:?} ({})", revision.as_str()),
            )
        },
    )
}
