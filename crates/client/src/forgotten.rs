//! Whether a server has forgotten a legacy session. It should say so by 404; many answer whatever
//! comes in an old session with another status, or with an error that speaks of the session. Such a
//! refusal may as well be about the request, so the session is tried by a `ping`. Asked by `http`.

use crate::auth::asking_nobody;
use crate::error::ClientError;
use crate::http::Http;
use crate::limits::SESSION_TRIED_MAX;
use crate::reply;
use haft_proto::method::Method;
use http::StatusCode;
use tokio::time::timeout;

/// Whether a refusal may be that of a server which does not know the session any more.
pub(crate) fn may_be(error: &ClientError) -> bool {
    match error {
        ClientError::AuthenticationNeeded { status, .. } => *status == 401,
        ClientError::HttpStatus { status, .. } => is_of_session(*status),
        ClientError::Refused { error, status, .. } => {
            status.is_some_and(is_of_session) || speaks_of_session(error.message.as_bytes())
        }
        _ => false,
    }
}

/// Tries the session; true if what answers refuses a `ping` in the same way. One that does not know
/// `ping` knows the session, and one that is silent may know it.
pub(crate) async fn is(http: &Http) -> bool {
    let ping = br#"{"jsonrpc":"2.0","id":"haft","method":"ping"}"#;
    let trying = async {
        let response = http.post(Method::Ping.name(), ping.to_vec()).await.ok()?;
        let status = response.status();
        if !status.is_success() {
            return Some(status == StatusCode::NOT_FOUND || is_of_session(status.as_u16()));
        }
        let said = reply::beginning(response).await;
        let is_error = reply::is_refusal(&said);
        Some(is_error && speaks_of_session(&said))
    };
    let tried = timeout(SESSION_TRIED_MAX, asking_nobody(trying)).await;
    tried.ok().flatten().unwrap_or(false)
}

/// The statuses with which servers answer requests in sessions that they do not know.
fn is_of_session(status: u16) -> bool {
    matches!(status, 400 | 401 | 404 | 410 | 500 | 503)
}

fn speaks_of_session(said: &[u8]) -> bool {
    const WORD: &[u8] = b"session";
    said.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD))
}
