//! The table of all methods and notifications: who sends each, and which revisions have it. Nothing
//! else lists methods; a dispatcher matches on [`Method`].

use crate::version::Revision::{self, V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

/// Who may send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Either side.
    Both,
    /// The client, to the server.
    Client,
    /// The server, to the client.
    Server,
}

/// Which member of `params` a request names its target by; HTTP mirrors it in `Mcp-Name`
/// (Streamable HTTP, 2026-07-28, "Standard Request Headers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `params.name`.
    Name,
    /// The method has no target.
    None,
    /// `params.taskId`.
    TaskId,
    /// `params.uri`.
    Uri,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Which method.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// Whether it carries an id and is answered.
    pub is_request: bool,
    /// The first revision that has it.
    pub first: Revision,
    /// The last revision that has it.
    pub last: Revision,
    /// What names its target.
    pub target: Target,
}

macro_rules! methods {
    ($($variant:ident $name:literal $sender:ident $kind:ident $first:ident .. $last:ident $target:ident;)*) => {
        /// A method or notification of any revision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        /// All methods, in the order of [`Method`].
        pub const TABLE: &[Row] = &[
            $(Row {
                method: Method::$variant,
                name: $name,
                sender: Sender::$sender,
                is_request: is_request!($kind),
                first: $first,
                last: $last,
                target: Target::$target,
            },)*
        ];

        impl Method {
            /// The method of that name in any revision.
            ///
            /// ```
            /// use haft_proto::method::Method;
            /// assert_eq!(Method::find("tools/call"), Some(Method::ToolsCall));
            /// assert_eq!(Method::find("tools/cal"), None);
            /// ```
            #[must_use]
            pub fn find(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

macro_rules! is_request {
    (request) => {
        true
    };
    (notice) => {
        false
    };
}

#[rustfmt::skip]
methods! {
    Initialize              "initialize"                           Client request V2024_11_05 .. V2025_11_25 None;
    Ping                    "ping"                                 Both   request V2024_11_05 .. V2025_11_25 None;
    Discover                "server/discover"                      Client request V2026_07_28 .. V2026_07_28 None;
    ToolsList               "tools/list"                           Client request V2024_11_05 .. V2026_07_28 None;
    ToolsCall               "tools/call"                           Client request V2024_11_05 .. V2026_07_28 Name;
    PromptsList             "prompts/list"                         Client request V2024_11_05 .. V2026_07_28 None;
    PromptsGet              "prompts/get"                          Client request V2024_11_05 .. V2026_07_28 Name;
    ResourcesList           "resources/list"                       Client request V2024_11_05 .. V2026_07_28 None;
    ResourcesTemplatesList  "resources/templates/list"             Client request V2024_11_05 .. V2026_07_28 None;
    ResourcesRead           "resources/read"                       Client request V2024_11_05 .. V2026_07_28 Uri;
    ResourcesSubscribe      "resources/subscribe"                  Client request V2024_11_05 .. V2025_11_25 None;
    ResourcesUnsubscribe    "resources/unsubscribe"                Client request V2024_11_05 .. V2025_11_25 None;
    SubscriptionsListen     "subscriptions/listen"                 Client request V2026_07_28 .. V2026_07_28 None;
    Complete                "completion/complete"                  Client request V2024_11_05 .. V2026_07_28 None;
    SetLevel                "logging/setLevel"                     Client request V2024_11_05 .. V2025_11_25 None;
    TasksGet                "tasks/get"                            Both   request V2025_11_25 .. V2026_07_28 TaskId;
    TasksCancel             "tasks/cancel"                         Both   request V2025_11_25 .. V2026_07_28 TaskId;
    TasksUpdate             "tasks/update"                         Client request V2026_07_28 .. V2026_07_28 TaskId;
    TasksResult             "tasks/result"                         Both   request V2025_11_25 .. V2025_11_25 None;
    TasksList               "tasks/list"                           Both   request V2025_11_25 .. V2025_11_25 None;
    CreateMessage           "sampling/createMessage"               Server request V2024_11_05 .. V2025_11_25 None;
    RootsList               "roots/list"                           Server request V2024_11_05 .. V2025_11_25 None;
    Elicit                  "elicitation/create"                   Server request V2025_06_18 .. V2025_11_25 None;
    Initialized             "notifications/initialized"            Client notice  V2024_11_05 .. V2025_11_25 None;
    Cancelled               "notifications/cancelled"              Both   notice  V2024_11_05 .. V2026_07_28 None;
    Progress                "notifications/progress"               Both   notice  V2024_11_05 .. V2026_07_28 None;
    LogMessage              "notifications/message"                Server notice  V2024_11_05 .. V2026_07_28 None;
    ToolsChanged            "notifications/tools/list_changed"     Server notice  V2024_11_05 .. V2026_07_28 None;
    PromptsChanged          "notifications/prompts/list_changed"   Server notice  V2024_11_05 .. V2026_07_28 None;
    ResourcesChanged        "notifications/resources/list_changed" Server notice  V2024_11_05 .. V2026_07_28 None;
    ResourceUpdated         "notifications/resources/updated"      Server notice  V2024_11_05 .. V2026_07_28 None;
    RootsChanged            "notifications/roots/list_changed"     Client notice  V2024_11_05 .. V2025_11_25 None;
    ListenAcknowledged      "notifications/subscriptions/acknowledged" Server notice V2026_07_28 .. V2026_07_28 None;
    ElicitationComplete     "notifications/elicitation/complete"   Server notice  V2025_11_25 .. V2025_11_25 None;
    TaskStatus              "notifications/tasks/status"           Both   notice  V2025_11_25 .. V2025_11_25 None;
    Task                    "notifications/tasks"                  Server notice  V2026_07_28 .. V2026_07_28 None;
}

impl Method {
    /// This method's row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether a client of that revision may send this to a server, as a request or as a
    /// notification.
    #[must_use]
    pub fn is_for_server(self, revision: Revision, as_request: bool) -> bool {
        let row = self.row();
        row.sender != Sender::Server
            && row.is_request == as_request
            && revision.is_within(row.first, row.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_knows_its_place() {
        for row in TABLE {
            assert_eq!(Method::find(row.name), Some(row.method));
            assert_eq!(row.method.name(), row.name);
        }
    }

    #[test]
    fn the_stateless_revision_has_ten_core_requests() {
        let core: Vec<_> = TABLE
            .iter()
            .filter(|row| row.method.is_for_server(V2026_07_28, true))
            .filter(|row| !row.name.starts_with("tasks/"))
            .map(|row| row.name)
            .collect();
        assert_eq!(core.len(), 10, "{core:?}");
    }

    #[test]
    fn the_handshake_is_gone_from_the_stateless_revision() {
        for method in [Method::Initialize, Method::Ping, Method::SetLevel] {
            assert!(method.is_for_server(V2025_11_25, true));
            assert!(!method.is_for_server(V2026_07_28, true));
        }
        assert!(!Method::Discover.is_for_server(V2025_11_25, true));
    }
}
