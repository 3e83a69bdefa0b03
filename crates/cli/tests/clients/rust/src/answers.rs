//! What the client answers when the server asks, and what it hears. `walk` receives what is heard;
//! nothing here decides whether it is right.

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ResourceUpdatedNotificationParam,
    Root, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How much may be heard before the walk looks.
const HEARD_MAX: usize = 100;

/// A notification of the server.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    Log(Value),
    Progress(f64),
    ToolsChanged,
    Updated(String),
}

pub(crate) struct Answers(Sender<Heard>);

/// What answers, and where that which it hears comes out.
pub(crate) fn heard() -> (Answers, Receiver<Heard>) {
    let (sender, receiver) = channel(HEARD_MAX);
    (Answers(sender), receiver)
}

impl Answers {
    fn tell(&self, heard: Heard) {
        // Nobody listens any more once the walk is over; what is too much is missed, and noticed.
        _ = self.0.try_send(heard);
    }
}

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        let can = json!({"elicitation": {}, "roots": {"listChanged": true}, "sampling": {}});
        let can = serde_json::from_value::<ClientCapabilities>(can).expect("they are MCP's");
        ClientConfig::new(can, Implementation::new("haft-foreign-rust", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { requested_schema, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let fill = |name: &str| if name == "email" { "alice@example.com" } else { "Alice" };
        let names = requested_schema.properties.into_keys();
        let content: Map<_, _> = names.map(|name| (name.clone(), fill(&name).into())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content.into()))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let said = SamplingMessage::assistant_text("Paris");
        Ok(CreateMessageResult::new(said, "none".to_owned()))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let one = Root::new("file:///one").with_name("one");
        Ok(ListRootsResult::new(vec![one, Root::new("file:///two")]))
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell(Heard::Log(params.data));
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell(Heard::Progress(params.progress));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell(Heard::Updated(params.uri));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(Heard::ToolsChanged);
    }
}
