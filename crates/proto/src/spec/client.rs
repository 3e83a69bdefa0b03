//! What a client can do (Lifecycle, "Capability Negotiation"; 2026-07-28: with every request). Read
//! when a handler wants to know; never kept as text.

use crate::json::member;

/// The extension of long-running calls.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// What kind of data the pages of user interfaces are.
pub const UI_MIME_TYPE: &str = "text/html;profile=mcp-app";
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
    /// It shows user interfaces that are pages of [`UI_MIME_TYPE`].
    pub ui: bool,
}

impl ClientCapabilities {
    /// JSON text of the `capabilities` object that says so.
    ///
    /// ```
    /// use haft_proto::spec::client::ClientCapabilities;
    /// let can = ClientCapabilities { form: true, tasks: true, ..Default::default() };
    /// assert_eq!(ClientCapabilities::read(&can.write()), can);
    /// ```
    #[must_use]
    pub fn write(self) -> String {
        let object = |members: &[(bool, &str)]| {
            let told = members.iter().filter(|(is_told, _)| *is_told).map(|(_, text)| *text);
            format!("{{{}}}", told.collect::<Vec<_>>().join(","))
        };
        let modes = object(&[(self.form, r#""form":{}"#), (self.url, r#""url":{}"#)]);
        let sampling = object(&[(self.sampling_tools, r#""tools":{}"#)]);
        let ui = format!(r#""{UI}":{{"mimeTypes":["{UI_MIME_TYPE}"]}}"#);
        let extensions = object(&[(self.tasks, &format!(r#""{TASKS}":{{}}"#)), (self.ui, &ui)]);
        object(&[
            (self.form || self.url, &format!(r#""elicitation":{modes}"#)),
            (self.sampling, &format!(r#""sampling":{sampling}"#)),
            (self.roots, r#""roots":{}"#),
            (self.tasks || self.ui, &format!(r#""extensions":{extensions}"#)),
        ])
    }

    /// Reads the JSON text of a `capabilities` object. What cannot be read is not declared; the
    /// rest is.
    ///
    /// ```
    /// use haft_proto::spec::client::ClientCapabilities;
    /// let can = ClientCapabilities::read(r#"{"elicitation":{},"roots":{"listChanged":true}}"#);
    /// assert!(can.form && can.roots && !can.url && !can.sampling);
    /// ```
    #[must_use]
    pub fn read(raw: &str) -> Self {
        let sampling = object(raw, "sampling");
        let (form, url) = match object(raw, "elicitation") {
            None => (false, false),
            Some(modes) => {
                let (form, url) = (object(modes, "form"), object(modes, "url"));
                // An empty object means forms, as before modes had names.
                (form.is_some() || url.is_none(), url.is_some())
            }
        };
        let extensions = object(raw, "extensions");
        let extension = |name| extensions.and_then(|extensions| object(extensions, name));
        Self {
            roots: object(raw, "roots").is_some(),
            sampling: sampling.is_some(),
            sampling_tools: sampling.and_then(|sampling| object(sampling, "tools")).is_some(),
            form,
            url,
            tasks: extension(TASKS).is_some(),
            ui: extension(UI).is_some_and(shows_pages),
        }
    }
}

/// A member that is an object, as each capability is.
fn object<'a>(raw: &'a str, name: &str) -> Option<&'a str> {
    member(raw, name).filter(|value| value.trim_start().starts_with('{'))
}

/// Whether a client that shows user interfaces shows pages (MCP Apps, "Client<>Server Capability
/// Negotiation": `mimeTypes`); one that does not say what it shows does.
fn shows_pages(settings: &str) -> bool {
    let types = member(settings, "mimeTypes").filter(|types| types.trim() != "null");
    let Some(types) = types else { return true };
    let types = serde_json::from_str::<Vec<serde_json::Value>>(types);
    types.is_ok_and(|types| types.iter().any(|one| one == UI_MIME_TYPE))
}

#[cfg(test)]
mod tests {
    use super::ClientCapabilities;

    const NOTHING: ClientCapabilities = ClientCapabilities {
        roots: false,
        sampling: false,
        sampling_tools: false,
        form: false,
        url: false,
        tasks: false,
        ui: false,
    };

    fn check(raw: &str, expected: ClientCapabilities) {
        assert_eq!(ClientCapabilities::read(raw), expected, "{raw}");
    }

    #[test]
    fn a_member_that_cannot_be_read_takes_no_other_along() {
        let (roots, form) = (true, true);
        let others = ClientCapabilities { roots, form, ..NOTHING };
        for bad in ["null", "true", "7", "[]", r#""yes""#] {
            for name in ["sampling", "extensions", "experimental"] {
                check(&format!(r#"{{"{name}":{bad},"roots":{{}},"elicitation":{{}}}}"#), others);
            }
            let raw = format!(r#"{{"sampling":{{"tools":{bad}}},"elicitation":{{"url":{bad}}}}}"#);
            check(&raw, ClientCapabilities { sampling: true, form, ..NOTHING });
            check(&format!(r#"{{"roots":{bad},"elicitation":{bad}}}"#), NOTHING);
            let raw = format!(
                r#"{{"extensions":{{"io.modelcontextprotocol/ui":{bad},
                    "io.modelcontextprotocol/tasks":{{}}}},"roots": {{}}}}"#
            );
            check(&raw, ClientCapabilities { roots, tasks: true, ..NOTHING });
        }
        for bad in ["", "null", "[]", "{", r#"{"roots"#] {
            check(bad, NOTHING);
        }
    }

    #[test]
    fn modes_of_elicitation_are_told_apart() {
        let form = ClientCapabilities { form: true, ..NOTHING };
        check(r#"{"elicitation":{}}"#, form);
        check(r#"{"elicitation":{"form":{}}}"#, form);
        let url = ClientCapabilities { url: true, ..NOTHING };
        check(r#"{"elicitation":{"url":{}}}"#, url);
        check(r#"{"elicitation":{"form":{},"url":{}}}"#, ClientCapabilities { form: true, ..url });
    }

    #[test]
    fn who_shows_user_interfaces_shows_pages_unless_it_names_other_types_only() {
        let ui = |settings: &str| {
            let raw = format!(r#"{{"extensions":{{"io.modelcontextprotocol/ui":{settings}}}}}"#);
            ClientCapabilities::read(&raw).ui
        };
        assert!(ui("{}") && ui(r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#));
        assert!(ui(r#"{"mimeTypes":["image/png", 7, "text/html;profile=mcp-app"]}"#));
        assert!(ui(r#"{"mimeTypes":null}"#));
        for other in [r#"[]"#, r#"["text/html"]"#, r#""text/html;profile=mcp-app""#] {
            assert!(!ui(&format!(r#"{{"mimeTypes":{other}}}"#)), "{other}");
        }
    }
}
