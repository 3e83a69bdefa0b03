//! Which era a server speaks: asks it to describe itself in the modern way, and shakes hands in the
//! legacy way if it cannot. Called once by `connect` for each connection; it does not open any.

use crate::absent;
use crate::error::{ClientError, era_name};
use crate::message::notification;
use crate::road::shown;
use crate::wire::{Question, Wire, nobody};
use haft_proto::error::Mistake;
use haft_proto::method::Method;
use haft_proto::version::{Era, Revision};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// What a server says of itself, and how it is spoken with.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// Which era is spoken.
    pub era: Era,
    /// Which revision is spoken.
    pub revision: Revision,
    /// The revisions that the server named; of a legacy server, the one that it chose.
    pub supported: Vec<String>,
    /// Name, version and more of the server, if it said so.
    pub server: ServerInfo,
    /// What it can do: a JSON object.
    pub capabilities: Value,
    /// How to use it, for the model.
    pub instructions: Option<String>,
    /// The whole answer, as it came.
    pub raw: Box<RawValue>,
}

/// Who a server says it is. Nothing may be decided by this.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerInfo {
    /// The name that programs use.
    #[serde(deserialize_with = "absent::or_null")]
    pub name: String,
    /// Its version.
    #[serde(deserialize_with = "absent::or_null")]
    pub version: String,
    /// The name that people read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One line about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

/// What became of asking which era a server speaks.
pub(crate) enum Verdict {
    /// The server has said who it is.
    Spoken(Handshake),
    /// Not modern, for this reason: shake hands.
    Legacy(ClientError),
    /// The connection is gone; if it can be made again, shake hands on that one.
    Gone(ClientError),
    /// Neither will help.
    Hopeless(ClientError),
}

/// Asks a server to describe itself, waiting as long as `limit`; again, if it refuses the revision
/// and names one that is spoken here.
pub(crate) async fn discover(wire: &Wire, limit: Duration) -> Verdict {
    let ask = async |revision: Revision| {
        let question = Question::new(Method::Discover, revision, &[]);
        wire.ask_within(limit, question, &mut nobody).await
    };
    let mut answer = ask(Revision::LATEST).await;
    if let Err(ClientError::Refused { error, .. }) = &answer
        && error.code == i64::from(Mistake::UnsupportedVersion.code())
        && let Some(revision) = modern(&named_versions(error.data.as_deref()))
    {
        answer = ask(revision).await;
    }
    match answer {
        Ok(raw) => read_discovery(raw),
        Err(error) => judge(error),
    }
}

/// Shakes hands.
pub(crate) async fn initialize(wire: &Wire) -> Result<Handshake, ClientError> {
    let revision = Revision::LATEST_LEGACY;
    let date = format!("\"{}\"", revision.as_str());
    let capabilities = wire.desk().capabilities(Era::Legacy);
    let members = [
        ("protocolVersion", &*date),
        ("capabilities", &capabilities),
        ("clientInfo", wire.client_info()),
    ];
    let question = Question::new(Method::Initialize, revision, &members);
    let raw = match (wire.ask(question, &mut nobody).await, wire.http()) {
        (Err(ClientError::HttpStatus { status: status @ (400 | 404 | 405), .. }), Some(http)) => {
            return Err(ClientError::NotAnEndpoint { url: shown(&http.url()), status });
        }
        (answer, _) => answer?,
    };
    let handshake = read_initialized(raw)?;
    if let Some(http) = wire.http() {
        http.agreed(handshake.revision);
    }
    wire.tell(notification(Method::Initialized, None)).await?;
    Ok(handshake)
}

/// Asks a server to describe itself and, if it is silent for a while, to shake hands as well; what
/// it answers first decides. A slow modern server is not taken for a legacy one.
pub(crate) async fn discover_or_initialize(wire: &Wire, patience: Duration) -> Verdict {
    let mut discovering = Box::pin(discover(wire, wire.timeout()));
    tokio::select! {
        verdict = &mut discovering => return verdict,
        // A person who is asked for consent meanwhile is not waited for in vain.
        _ = wire.desk().patience().wait(patience, std::future::pending::<()>()) => {}
    }
    first_of(discovering, Box::pin(initialize(wire))).await
}

/// The same the other way round, for a server that has shaken hands before: one that is slow to
/// start is waited for, and one that has become modern is found.
pub(crate) async fn initialize_or_discover(wire: &Wire, patience: Duration) -> Verdict {
    let mut initializing = Box::pin(initialize(wire));
    tokio::select! {
        handshake = &mut initializing => return settle(handshake),
        _ = wire.desk().patience().wait(patience, std::future::pending::<()>()) => {}
    }
    first_of(Box::pin(discover(wire, wire.timeout())), initializing).await
}

/// What is answered first decides; a refusal is none.
async fn first_of(
    mut discovering: impl Future<Output = Verdict> + Unpin,
    mut initializing: impl Future<Output = Result<Handshake, ClientError>> + Unpin,
) -> Verdict {
    tokio::select! {
        verdict = &mut discovering => match verdict {
            // The caller would only do what is already under way.
            Verdict::Legacy(_) => settle(initializing.await),
            verdict => verdict,
        },
        handshake = &mut initializing => match handshake {
            Ok(handshake) => settle(Ok(handshake)),
            Err(error) => match discovering.await {
                Verdict::Legacy(_) => Verdict::Hopeless(error),
                verdict => verdict,
            },
        },
    }
}

/// The error for an era that was asked for and is not spoken.
pub(crate) fn not_spoken(era: Era, reason: &ClientError) -> ClientError {
    ClientError::EraNotSpoken { era, reason: reason.to_string() }
}

/// A description without a description: a server that is modern, but has no `server/discover`.
fn undescribed() -> Handshake {
    Handshake {
        era: Era::Modern,
        revision: Revision::LATEST,
        supported: vec![Revision::LATEST.as_str().to_owned()],
        server: ServerInfo::default(),
        capabilities: Value::Object(serde_json::Map::new()),
        instructions: None,
        raw: RawValue::NULL.to_owned(),
    }
}

/// Whether only modern servers answer with that code.
pub(crate) fn is_modern_only(code: i64) -> bool {
    [Mistake::HeaderMismatch, Mistake::MissingCapability, Mistake::UnsupportedVersion]
        .iter()
        .any(|mistake| i64::from(mistake.code()) == code)
}

fn settle(handshake: Result<Handshake, ClientError>) -> Verdict {
    match handshake {
        Ok(handshake) => Verdict::Spoken(handshake),
        Err(error) => Verdict::Hopeless(error),
    }
}

/// What a failure to answer `server/discover` says. Only codes and statuses that modern servers
/// alone send mean modern; everything else that answers may be legacy.
fn judge(error: ClientError) -> Verdict {
    match &error {
        ClientError::Refused { error: refusal, status, .. } => {
            let code = refusal.code;
            if code == i64::from(Mistake::UnsupportedVersion.code()) {
                let supported = named_versions(refusal.data.as_deref());
                return judge_versions(&supported, error);
            }
            if is_modern_only(code) {
                Verdict::Hopeless(error)
            } else if *status == Some(404) && code == i64::from(Mistake::MethodNotFound.code()) {
                Verdict::Spoken(undescribed())
            } else {
                Verdict::Legacy(error)
            }
        }
        ClientError::AnsweredAnotherId { .. }
        | ClientError::GarbageInStream { .. }
        | ClientError::GarbageOnStdout { .. }
        | ClientError::HttpStatus { .. }
        | ClientError::MalformedResult { .. }
        | ClientError::NotJsonRpc { .. }
        | ClientError::TimedOut { .. }
        | ClientError::UnknownContentType { .. } => Verdict::Legacy(error),
        ClientError::ClosedMidAnswer { .. }
        | ClientError::ServerExited { .. }
        | ClientError::StdoutClosed { .. } => Verdict::Gone(error),
        _ => Verdict::Hopeless(error),
    }
}

/// A server that names only dates of handshakes means that it wants one.
fn judge_versions(supported: &[String], error: ClientError) -> Verdict {
    let is_any_known = supported.iter().any(|date| Revision::parse(date).is_some());
    if modern(supported).is_some() {
        Verdict::Hopeless(error)
    } else if is_any_known || supported.is_empty() {
        Verdict::Legacy(error)
    } else {
        Verdict::Hopeless(ClientError::NoCommonVersion { theirs: supported.join(", ") })
    }
}

/// The newest modern revision among some dates.
fn modern(dates: &[String]) -> Option<Revision> {
    let known = dates.iter().filter_map(|date| Revision::parse(date));
    known.filter(|revision| revision.era() == Era::Modern).max()
}

fn named_versions(data: Option<&RawValue>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = data.and_then(|data| serde_json::from_str(data.get()).ok());
    data.map(|Data { supported }| supported).unwrap_or_default()
}

/// What a description says, which may be that hands must be shaken all the same.
fn read_discovery(raw: Box<RawValue>) -> Verdict {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: Value,
        instructions: Option<String>,
        #[serde(default, deserialize_with = "absent::or_null", rename = "_meta")]
        meta: Meta,
    }
    #[derive(Default, Deserialize)]
    struct Meta {
        #[serde(
            default,
            deserialize_with = "absent::or_null",
            rename = "io.modelcontextprotocol/serverInfo"
        )]
        server: ServerInfo,
    }
    let written: Written = match serde_json::from_str(raw.get()) {
        Ok(written) => written,
        Err(error) => {
            let (method, reason) = (Method::Discover.name(), error.to_string());
            return Verdict::Legacy(ClientError::MalformedResult { method, reason });
        }
    };
    let Some(revision) = modern(&written.supported_versions) else {
        let theirs = written.supported_versions.join(", ");
        return judge_versions(
            &written.supported_versions,
            ClientError::NoCommonVersion { theirs },
        );
    };
    Verdict::Spoken(Handshake {
        era: Era::Modern,
        revision,
        supported: written.supported_versions,
        server: written.meta.server,
        capabilities: written.capabilities,
        instructions: written.instructions,
        raw,
    })
}

fn read_initialized(raw: Box<RawValue>) -> Result<Handshake, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        protocol_version: String,
        #[serde(default)]
        capabilities: Value,
        #[serde(default, deserialize_with = "absent::or_null")]
        server_info: ServerInfo,
        instructions: Option<String>,
    }
    let malformed = |error: serde_json::Error| ClientError::MalformedResult {
        method: Method::Initialize.name(),
        reason: error.to_string(),
    };
    let written: Written = serde_json::from_str(raw.get()).map_err(malformed)?;
    let agreed = Revision::parse(&written.protocol_version);
    let Some(revision) = agreed.filter(|agreed| agreed.era() == Era::Legacy) else {
        return Err(ClientError::NoCommonVersion {
            theirs: format!("{:?} in the {} era", written.protocol_version, era_name(Era::Legacy)),
        });
    };
    Ok(Handshake {
        era: Era::Legacy,
        revision,
        supported: vec![written.protocol_version],
        server: written.server_info,
        capabilities: written.capabilities,
        instructions: written.instructions,
        raw,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RpcError;

    fn refusal(code: i64, status: Option<u16>, data: &str) -> ClientError {
        let data = Some(RawValue::from_string(data.to_owned()).expect("JSON"));
        let error = RpcError { code, message: String::new(), data };
        ClientError::Refused { method: "server/discover", error, status }
    }

    fn check(error: ClientError, expected: &str) {
        let shown = format!("{error:?}");
        let found = match judge(error) {
            Verdict::Spoken(_) => "modern",
            Verdict::Legacy(_) => "legacy",
            Verdict::Gone(_) => "gone",
            Verdict::Hopeless(_) => "hopeless",
        };
        assert_eq!(found, expected, "{shown}");
    }

    #[test]
    fn only_what_modern_servers_alone_say_means_modern() {
        for code in [-32601, -32602, -32600, -32000, -32603, 7] {
            check(refusal(code, None, "null"), "legacy");
            check(refusal(code, Some(400), "null"), "legacy");
            check(refusal(code, Some(200), "null"), "legacy");
        }
        check(refusal(-32601, Some(404), "null"), "modern");
        check(refusal(-32020, Some(400), "null"), "hopeless");
        let status = |status| ClientError::HttpStatus { method: "x", status, said: String::new() };
        for code in [400, 404, 405, 406, 415, 500] {
            check(status(code), "legacy");
        }
        check(ClientError::AuthenticationNeeded { status: 401, said: String::new() }, "hopeless");
    }

    #[test]
    fn versions_that_need_a_handshake_lead_to_one() {
        check(refusal(-32022, None, r#"{"supported":["2025-11-25"]}"#), "legacy");
        check(refusal(-32022, None, "{}"), "legacy");
        check(refusal(-32022, None, r#"{"supported":["2031-01-01"]}"#), "hopeless");
        check(refusal(-32022, None, r#"{"supported":["2026-07-28"]}"#), "hopeless");
    }

    #[test]
    fn a_server_that_describes_itself_by_dates_of_handshakes_wants_one() {
        let raw = r#"{"supportedVersions":["2025-11-25","2024-11-05"]}"#;
        let discovered = read_discovery(RawValue::from_string(raw.to_owned()).expect("JSON"));
        assert!(matches!(discovered, Verdict::Legacy(ClientError::NoCommonVersion { .. })));
    }

    #[test]
    fn a_server_of_another_day_has_no_common_version() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("JSON");
        let discovered = read_discovery(raw(r#"{"supportedVersions":["2031-01-01"]}"#));
        let is_hopeless =
            matches!(discovered, Verdict::Hopeless(ClientError::NoCommonVersion { .. }));
        assert!(is_hopeless);
        for date in ["2031-01-01", "2026-07-28"] {
            let answer = format!(r#"{{"protocolVersion":"{date}"}}"#);
            let agreed = read_initialized(raw(&answer));
            assert!(matches!(agreed, Err(ClientError::NoCommonVersion { .. })), "{date}");
        }
    }
}
