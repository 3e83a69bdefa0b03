//! A call to an agent by hand: an `ExecuteRequest` in JSON comes to `admin`, goes over the agent's
//! link like any call of the gateway, and what comes of it is told, one response on a line.

use haft_agent::Hub;
use haft_agent::limits::ANSWER_BYTES_MAX;
use haft_client::{Answer, Carrier, Parcel, Uncarried};
use http::StatusCode;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::timeout;

/// The longest request.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// How long one is waited for that does not say so.
const DEADLINE: Duration = Duration::from_secs(20);
/// How long any is: whoever asked is not there for longer.
const DEADLINE_MAX: Duration = Duration::from_secs(25);

/// What of an `ExecuteRequest` somebody else may say. What the link numbers by itself is passed
/// over, as is what nobody knows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default)]
    deadline_ms: u32,
    #[serde(default)]
    repeatable: bool,
    /// Not in base64, as JSON in JSON needs none.
    message: Box<RawValue>,
}

/// Why nothing was asked.
pub(crate) type Refused = (StatusCode, String);

/// Makes the call; what came of it, in lines.
pub(crate) async fn execute(
    hub: &Hub,
    query: Option<&str>,
    body: Incoming,
) -> Result<String, Refused> {
    let agent = query.and_then(|query| query.strip_prefix("agent=")).unwrap_or_default();
    let known = hub.told().into_iter().any(|told| *told.name == *agent);
    let member = known.then(|| hub.member(agent).ok()).flatten();
    let none = "there is no such agent; add ?agent=NAME, and see /admin/v1/agents";
    let member = member.ok_or_else(|| (StatusCode::NOT_FOUND, none.to_owned()))?;
    let body = Limited::new(body, REQUEST_BYTES_MAX).collect().await.map_err(|_| {
        let why = format!("the request has more than {REQUEST_BYTES_MAX} bytes, or broke off");
        (StatusCode::PAYLOAD_TOO_LARGE, why)
    })?;
    let written: Written = serde_json::from_slice(&body.to_bytes()).map_err(|error| {
        (StatusCode::BAD_REQUEST, format!("this is no ExecuteRequest in JSON: {error}"))
    })?;
    let deadline = match written.deadline_ms {
        0 => DEADLINE,
        given => Duration::from_millis(given.into()).min(DEADLINE_MAX),
    };
    let parcel = Parcel {
        message: Bytes::copy_from_slice(written.message.get().as_bytes()),
        within: Some(deadline),
        is_repeatable: written.repeatable,
        pieces_from: None,
    };
    let mut told = Told::default();
    let mut hear = |notice: Bytes| told.says("NOTICE", &notice);
    let answered = timeout(deadline, member.carry(parcel, &mut hear)).await;
    match answered {
        Ok(Ok(Answer::Whole(answer))) => told.says("END", &answer),
        Ok(Ok(_)) => told.fails("LOST", "the answer came in pieces"),
        Ok(Err(Uncarried::NotBegun(why))) => told.fails("NOT_BEGUN", &why),
        Ok(Err(Uncarried::Lost(why))) => told.fails("LOST", &why),
        Ok(Err(_)) => {
            told.fails("LOST", &format!("the answer has more than {ANSWER_BYTES_MAX} bytes"));
        }
        Err(_) => told.fails("TOO_LATE", "its time is over"),
    }
    Ok(told.lines)
}

/// What came so far.
#[derive(Default)]
struct Told {
    lines: String,
    sequence: u64,
}

impl Told {
    fn says(&mut self, kind: &str, payload: &Bytes) {
        // It is JSON-RPC; what is none is told as a text.
        let text = String::from_utf8_lossy(payload);
        let raw = serde_json::from_str::<Box<RawValue>>(&text);
        let payload = raw.map_or_else(|_| json!(text).to_string(), |raw| raw.get().to_owned());
        let payload = payload.replace(['\n', '\r'], " ");
        self.sequence += 1;
        let sequence = self.sequence;
        self.lines += &format!(r#"{{"sequence":{sequence},"kind":"{kind}","payload":{payload}}}"#);
        self.lines.push('\n');
    }

    fn fails(&mut self, kind: &str, detail: &str) {
        self.sequence += 1;
        let line = json!({"sequence": self.sequence, "kind": kind, "detail": detail});
        self.lines += &format!("{line}\n");
    }
}
