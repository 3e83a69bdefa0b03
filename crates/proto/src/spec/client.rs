//! What a client can do (Lifecycle, "Capability Negotiation"; 2026-07-28: with every request). Read
//! when a handler wants to know; never kept as text.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The extension of long-running calls.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// The extension of user interfaces.
pub const UI: &str = "io.modelcontextprotocol/ui";

/// What a client can do beyond asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// It lists directories that the server may work in.
    pub roots: bool,
    /// It asks a model.
    pub sampling: bool,
    /// It asks a model that may use tools.
    pub sampling_tools: bool,
    /// It asks a person to fill in a form.
    pub form: bool,
    /// It asks a person to visit an address.
    pub url: bool,
    /// It takes a task for an answer.
    pub tasks: bool,
    /// It shows user interfaces.
    pub ui: bool,
}

impl ClientCapabilities {
    /// Reads the JSON text of a `capabilities` object. What cannot be read is not declared.
    ///
    /// ```
    /// use haft_proto::spec::client::ClientCapabilities;
    /// let can = ClientCapabilities::read(r#"{"elicitation":{},"roots":{"listChanged":true}}"#);
    /// assert!(can.form && can.roots && !can.url && !can.sampling);
    /// ```
    #[must_use]
    pub fn read(raw: &str) -> Self {
        let Ok(written) = serde_json::from_str::<Written>(raw) else { return Self::default() };
        let (form, url) = match &written.elicitation {
            None => (false, false),
            // An empty object means forms, as before modes had names.
            Some(modes) => (modes.form.is_some() || modes.url.is_none(), modes.url.is_some()),
        };
        Self {
            roots: written.roots.is_some(),
            sampling: written.sampling.is_some(),
            sampling_tools: written.sampling.is_some_and(|sampling| sampling.tools.is_some()),
            form,
            url,
            tasks: written.extensions.tasks.is_some(),
            ui: written.extensions.ui.is_some(),
        }
    }
}

#[derive(Deserialize)]
struct Written {
    roots: Option<IgnoredAny>,
    sampling: Option<Sampling>,
    elicitation: Option<Elicitation>,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Deserialize)]
struct Sampling {
    tools: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Elicitation {
    form: Option<IgnoredAny>,
    url: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(rename = "io.modelcontextprotocol/tasks")]
    tasks: Option<IgnoredAny>,
    #[serde(rename = "io.modelcontextprotocol/ui")]
    ui: Option<IgnoredAny>,
}
