//! The resources of a server: lists of them and of their templates, and what is in one.

use crate::absent;
use crate::client::Client;
use crate::error::ClientError;
use crate::message::{Listener, quoted};
use crate::pages::{Listing, malformed, read_entry, read_page};
use crate::rounds::Subject;
use haft_proto::method::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A resource as a server describes it.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// The name that programs use.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What kind of content it has, if that is known.
    pub mime_type: Option<String>,
    /// How many bytes its content is, if that is known.
    pub size: Option<u64>,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// Addresses of one form, as a server describes them.
#[derive(Clone, Debug)]
pub struct ResourceTemplate {
    /// Their form (RFC 6570).
    pub uri_template: String,
    /// The name that programs use.
    pub name: String,
    /// The name that people read.
    pub title: Option<String>,
    /// What they are.
    pub description: Option<String>,
    /// What kind of content they all have, if they do.
    pub mime_type: Option<String>,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// What is in a resource.
#[derive(Clone, Debug)]
pub struct ReadResult {
    /// Its parts; a directory may have many.
    pub contents: Vec<ResourcePart>,
    /// All of it, as it came.
    pub raw: Box<RawValue>,
}

/// One part of a resource.
#[derive(Clone, Debug)]
pub struct ResourcePart {
    /// Its address.
    pub uri: String,
    /// What kind of content it is, if that is known.
    pub mime_type: Option<String>,
    /// The content.
    pub body: ResourceBody,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Bytes, in Base64.
    Base64(String),
    /// Text.
    Text(String),
}

impl Client {
    /// All resources that the server lists, from all pages; none if it has none.
    ///
    /// # Errors
    /// A [`ClientError`]; [`ClientError::ListWithoutEnd`] if the pages do not end.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, ClientError> {
        let method = Method::ResourcesList;
        self.list(method, "resources", |raw| {
            read_page(raw, method, "resources", |raw| {
                let written: Written = read_entry(&raw)?;
                Ok(written.resource(raw))
            })
        })
        .await
    }

    /// All resource templates, from all pages; none if it has none.
    ///
    /// # Errors
    /// A [`ClientError`]; [`ClientError::ListWithoutEnd`] if the pages do not end.
    pub async fn list_resource_templates(&self) -> Result<Listing<ResourceTemplate>, ClientError> {
        let method = Method::ResourcesTemplatesList;
        self.list(method, "resources", |raw| {
            read_page(raw, method, "resourceTemplates", |raw| {
                let written: WrittenTemplate = read_entry(&raw)?;
                Ok(written.template(raw))
            })
        })
        .await
    }

    /// Reads a resource. `listener` hears progress and log messages until the answer is there;
    /// what the server asks meanwhile goes to
    /// [`Options::answerer`](crate::Options::answerer).
    ///
    /// # Errors
    /// A [`ClientError`]. That there is no such resource is [`ClientError::Refused`], with the
    /// code -32602, or -32002 in the legacy era.
    pub async fn read_resource(
        &self,
        uri: &str,
        listener: Listener<'_>,
    ) -> Result<ReadResult, ClientError> {
        let quoted = quoted(uri);
        let subject = Subject {
            method: Method::ResourcesRead,
            revision: self.handshake().revision,
            target: uri,
            members: &[("uri", &quoted)],
            headers: Vec::new(),
            passing: None,
        };
        read_contents(self.ask_rounds(&subject, listener).await?)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    uri: String,
    #[serde(default, deserialize_with = "absent::or_null")]
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "absent::or_empty")]
    size: Option<f64>,
}

impl Written {
    fn resource(self, raw: Box<RawValue>) -> Resource {
        let Self { uri, name, title, description, mime_type, size } = self;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest count; JSON has but one kind of number"
        )]
        let size = size.map(|size| size as u64);
        Resource { uri, name, title, description, mime_type, size, raw }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenTemplate {
    uri_template: String,
    #[serde(default, deserialize_with = "absent::or_null")]
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
}

impl WrittenTemplate {
    fn template(self, raw: Box<RawValue>) -> ResourceTemplate {
        let Self { uri_template, name, title, description, mime_type } = self;
        ResourceTemplate { uri_template, name, title, description, mime_type, raw }
    }
}

fn read_contents(raw: Box<RawValue>) -> Result<ReadResult, ClientError> {
    #[derive(Deserialize)]
    struct Written {
        contents: Vec<WrittenPart>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct WrittenPart {
        uri: String,
        mime_type: Option<String>,
        text: Option<String>,
        blob: Option<String>,
    }
    let method = Method::ResourcesRead;
    let written: Written =
        serde_json::from_str(raw.get()).map_err(|error| malformed(method, &error.to_string()))?;
    let part = |part: WrittenPart| {
        let body = match (part.text, part.blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Base64(blob),
            _ => return Err(malformed(method, "a part needs either `text` or `blob`")),
        };
        Ok(ResourcePart { uri: part.uri, mime_type: part.mime_type, body })
    };
    Ok(ReadResult {
        contents: written.contents.into_iter().map(part).collect::<Result<_, _>>()?,
        raw,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ResourceBody>, ClientError> {
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        Ok(read_contents(raw)?.contents.into_iter().map(|part| part.body).collect())
    }

    #[test]
    fn a_part_is_text_or_bytes() {
        let parts =
            read(r#"{"contents":[{"uri":"a","text":""},{"uri":"b","blob":"AAAA"}],"ttlMs":1}"#);
        let expected = [ResourceBody::Text(String::new()), ResourceBody::Base64("AAAA".to_owned())];
        assert_eq!(parts.expect("two parts"), expected);
        for wrong in [
            "{}",
            r#"{"contents":[{"uri":"a"}]}"#,
            r#"{"contents":[{"uri":"a","text":"","blob":""}]}"#,
            r#"{"contents":[{"text":""}]}"#,
        ] {
            assert!(matches!(read(wrong), Err(ClientError::MalformedResult { .. })), "{wrong}");
        }
    }
}
