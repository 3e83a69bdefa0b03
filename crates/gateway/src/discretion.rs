//! What clients are told of a failure of an upstream: what happened, without what may be secret or
//! somebody else's: lines that it printed, addresses, texts of pages. Whoever runs the gateway is
//! told all of it.

use haft_client::ClientError;

/// The failure in a line for clients.
pub(crate) fn told(error: &ClientError) -> String {
    match error {
        ClientError::AuthenticationNeeded { status, .. } => {
            format!("it refused access ({status})")
        }
        ClientError::CannotStart { .. } => "it cannot be started".to_owned(),
        ClientError::ForeignEndpoint { .. } => {
            "it wants messages sent to another server".to_owned()
        }
        ClientError::GarbageInStream { method, .. } => {
            format!("its answer to `{method}` is not a JSON-RPC message")
        }
        ClientError::GarbageOnStdout { .. } => {
            "it wrote something on stdout that is no message".to_owned()
        }
        ClientError::HttpStatus { method, status, .. } => {
            format!("it answered `{method}` with HTTP {status}")
        }
        ClientError::ListTooLong { limit } => {
            format!("a list of it has more than {limit} bytes; raise `list_limit` of the upstream")
        }
        ClientError::MessageTooLarge { limit } => {
            format!("it sent a message larger than {limit} bytes; raise `limit` of the upstream")
        }
        ClientError::NoEndpoint { .. } => "it does not say where messages go".to_owned(),
        ClientError::NotAnEndpoint { status, .. } => {
            format!("no MCP server answers there (HTTP {status})")
        }
        // The reason says where it cannot be read, and nothing of what stands there.
        ClientError::NotJsonRpc { method, reason } => {
            format!("its answer to `{method}` cannot be read: {reason}")
        }
        ClientError::OutputEnded { .. } => "it closed its stdout".to_owned(),
        ClientError::ProcessEnded { status, .. } => format!("its process ended ({status})"),
        ClientError::Redirected { .. } => "it redirects elsewhere".to_owned(),
        ClientError::ServerExited { method, status, .. } => {
            format!("its process ended ({status}) before it answered `{method}`")
        }
        ClientError::StdoutClosed { method, .. } => {
            format!("it closed its stdout before it answered `{method}`")
        }
        ClientError::Unreachable { .. } => "it cannot be reached".to_owned(),
        error => error.to_string(),
    }
}

/// The failure in a line for whoever runs the gateway: with the key that helps, if one does.
pub(crate) fn said(error: &ClientError) -> String {
    match error {
        ClientError::ListTooLong { .. } | ClientError::MessageTooLarge { .. } => told(error),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_upstream_printed_or_where_it_is_is_not_told() {
        let secret = || "s3cret".to_owned();
        let method = "tools/call";
        for error in [
            ClientError::AuthenticationNeeded { status: 401, said: secret() },
            ClientError::CannotStart { program: secret(), reason: secret() },
            ClientError::ForeignEndpoint { to: secret() },
            ClientError::GarbageOnStdout { line: secret() },
            ClientError::HttpStatus { method, status: 500, said: secret() },
            ClientError::NoEndpoint { url: secret(), reason: secret() },
            ClientError::NotAnEndpoint { url: secret(), status: 404 },
            ClientError::GarbageInStream { method, line: secret() },
            ClientError::OutputEnded { words: secret() },
            ClientError::ProcessEnded { status: "exit status: 1".into(), words: secret() },
            ClientError::Redirected { to: secret() },
            ClientError::ServerExited { method, status: "exit status: 1".into(), words: secret() },
            ClientError::StdoutClosed { method, words: secret() },
            ClientError::Unreachable { authority: secret(), reason: secret() },
        ] {
            let told = told(&error);
            assert!(!told.contains("s3cret") && !told.is_empty(), "{told}");
        }
        let late = ClientError::MessageTooLarge { limit: 7 };
        assert!(told(&late).contains("larger than 7 bytes; raise `limit`"));
        let long = ClientError::ListTooLong { limit: 7 };
        assert!(told(&long).contains("more than 7 bytes; raise `list_limit`"));
    }
}
