//! User interfaces of tools (the extension `io.modelcontextprotocol/ui`, "MCP Apps"): pages that
//! the server has as resources, and tools that say which page shows what they answer. A client that
//! shows none uses the tool as any other.

use crate::resource::Resource;
use crate::tool::Tool;
use haft_proto::spec::Meta;
pub use haft_proto::spec::client::UI_MIME_TYPE;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// What a page may do in its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ui {
    /// From where it may load and to where it may connect; without it, nowhere.
    #[serde(skip_serializing_if = "Csp::is_empty")]
    pub csp: Csp,
    /// What of the device it would use: "camera", "microphone", "geolocation", "clipboardWrite".
    #[serde(serialize_with = "as_keys", skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
    /// Whether the host should draw a border.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// Origins that a page may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Csp {
    /// By fetch and WebSocket.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// For scripts, styles, pictures and fonts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// In frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
}

impl Csp {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn as_keys<S: serde::Serializer>(keys: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(keys.iter().map(|key| (key, json!({}))))
}

impl Resource {
    /// A page that shows what tools answer. Its address begins with `ui://`.
    ///
    /// ```
    /// use haft_server::{Resource, Server, Tool, Ui, handler};
    /// # #[derive(serde::Deserialize)] struct Nothing {}
    /// let page = Resource::ui("ui://clock/face", "face", "<title>Clock</title>", &Ui::default());
    /// let clock = Tool::new("clock", handler::function(|_: Nothing| "12:00"));
    /// let built = Server::builder("clock", "1.0.0").resource(page);
    /// let server = built.tool(clock.ui("ui://clock/face")).build()?;
    /// # Ok::<(), haft_server::BuildError>(())
    /// ```
    pub fn ui(
        uri: impl Into<String>,
        name: impl Into<String>,
        html: impl Into<String>,
        may: &Ui,
    ) -> Self {
        let page = Self::text(uri, name, html).mime_type(UI_MIME_TYPE);
        let meta = with_ui(None, may);
        page.contents_meta(meta.clone()).meta(meta)
    }
}

impl Tool {
    /// The page that shows what this tool answers: the address of a resource that begins with
    /// `ui://`.
    #[must_use]
    pub fn ui(self, uri: &str) -> Self {
        let meta = with_ui(self.meta_text(), &json!({ "resourceUri": uri }));
        self.meta(meta)
    }
}

/// `_meta` with one more member, `ui`.
fn with_ui(meta: Option<&RawValue>, ui: &impl Serialize) -> Meta {
    let known = meta.and_then(|meta| serde_json::from_str::<Map<String, Value>>(meta.get()).ok());
    let mut meta = known.unwrap_or_default();
    meta.insert("ui".to_owned(), serde_json::to_value(ui).unwrap_or_default());
    to_raw_value(&meta).expect("values become JSON")
}
