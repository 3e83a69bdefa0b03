//! One piece of what tools, prompts and models say. Read by `tools`, `prompts` and `sampling`.

use serde_json::Value;

/// One piece of an answer or of a message.
#[derive(Clone, Debug)]
pub enum Content {
    /// Bytes for people's eyes or ears.
    Media {
        /// "image" or "audio".
        kind: String,
        /// What kind of image or audio.
        mime_type: String,
        /// How long its Base64 text is.
        base64_bytes: usize,
    },
    /// Something of a kind that this client does not know.
    Other {
        /// Its `type`.
        kind: String,
    },
    /// A resource, by its address; with its text if that was sent along.
    Resource {
        /// Its address.
        uri: String,
        /// Its text.
        text: Option<String>,
    },
    /// Plain text.
    Text(String),
}

pub(crate) fn read_content(content: &Value) -> Content {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text(content, "type").unwrap_or_default();
    match &*kind {
        "text" => Content::Text(text(content, "text").unwrap_or_default()),
        "image" | "audio" => Content::Media {
            mime_type: text(content, "mimeType").unwrap_or_default(),
            base64_bytes: content.get("data").and_then(Value::as_str).map_or(0, str::len),
            kind,
        },
        "resource_link" => {
            Content::Resource { uri: text(content, "uri").unwrap_or_default(), text: None }
        }
        "resource" => {
            let resource = content.get("resource").unwrap_or(&Value::Null);
            Content::Resource {
                uri: text(resource, "uri").unwrap_or_default(),
                text: text(resource, "text"),
            }
        }
        _ => Content::Other { kind },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_any_kind_is_read() {
        let kinds = [
            (r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#, "Media"),
            (r#"{"type":"resource","resource":{"uri":"file:///x","text":"y"}}"#, "Resource"),
            (r#"{"type":"resource_link","uri":"file:///x","name":"x"}"#, "Resource"),
            (r#"{"type":"hologram"}"#, "Other"),
            ("7", "Other"),
        ];
        for (text, expected) in kinds {
            let content = read_content(&serde_json::from_str(text).expect("JSON"));
            assert!(format!("{content:?}").starts_with(expected), "{text}: {content:?}");
        }
    }
}
