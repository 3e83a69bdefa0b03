//! What a caller may decide about a connection before it is made.

use crate::answerer::Answerer;
use crate::auth::{Authorizer, OAuth};
use crate::eras::Eras;
use haft_fetch::Proxies;
use haft_proto::limits::Limits;
use haft_proto::version::Era;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

/// How to connect and how long to wait.
#[derive(Clone, Debug)]
pub struct Options {
    /// The era to speak; `None` finds out which one the server speaks, modern first.
    pub era: Option<Era>,
    /// What has been found out of servers before, where connections share it.
    pub eras: Eras,
    /// How long any request may take; also the time limit for a TCP connection. The time in which
    /// the answerer answers a question does not count.
    pub timeout: Duration,
    /// How long a server may leave `server/discover` unanswered before it is asked to `initialize`.
    pub discover_timeout: Duration,
    /// What a server may make us hold.
    pub limits: Limits,
    /// Headers that every HTTP request carries. Mark secrets as sensitive.
    pub headers: HeaderMap,
    /// Which servers are reached through a proxy; `None` does as the environment says.
    pub proxies: Option<Proxies>,
    /// The least severe log message that is wanted from a modern server; `None` wants none.
    pub log_level: Option<String>,
    /// Who answers what servers ask back; `None` answers nothing, and servers are told so.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// What a legacy server asks goes to whoever made the request that it belongs to, by
    /// [`Client::pass`](crate::Client::pass). Means nothing beside an `answerer`.
    pub passes: bool,
    /// Who sends a person to an authorization server; `None` sends nobody. Means nothing to a child
    /// process, nor beside an `Authorization` among the headers.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Who this client is to authorization servers, and where tokens are kept.
    pub oauth: OAuth,
    /// Whether a modern server may turn a call into a task, which is then waited for (the extension
    /// `io.modelcontextprotocol/tasks`).
    pub tasks: bool,
    /// The name that this client gives itself.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Default for Options {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            era: None,
            eras: Eras::default(),
            timeout: limits.request_timeout,
            discover_timeout: Duration::from_secs(5),
            limits,
            headers: HeaderMap::new(),
            proxies: None,
            log_level: None,
            answerer: None,
            passes: false,
            authorizer: None,
            oauth: OAuth::default(),
            tasks: false,
            name: "haft".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
