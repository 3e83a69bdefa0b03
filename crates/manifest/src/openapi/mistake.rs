//! What can be wrong with a document that describes an API, or with what haft.yaml says of it: one
//! variant for each mistake, its sentence and what to do. Called by `problem`.

use crate::openapi::limits::{DOCUMENT_BYTES_MAX, SCHEMAS_BYTES_MAX, TOOLS_MAX};

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum OpenApiMistake {
    /// The address that requests begin with.
    BadBase { shown: String, reason: String },
    /// What a security scheme needs, for another kind of it.
    BadCredential { scheme: String, needs: &'static str },
    /// Another server has the document, and would say who is told secrets.
    Moved { host: String },
    /// The document does not arrive.
    NotFetched { reason: String },
    /// A value that describes no API.
    NotOpenApi,
    /// The text of the document.
    NotReadable { reason: String },
    /// No server that requests could go to.
    NoBase { reason: String },
    /// Nothing that is a tool.
    NoTools { reason: String },
    /// Too long a document.
    TooLarge,
    /// Too much of it.
    TooMany,
    /// Too many bytes of schemas.
    TooMuch,
    /// A tag, operation or security scheme that the document does not have.
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    /// Another version of OpenAPI.
    Version { version: String },
}

impl OpenApiMistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::BadBase { shown, reason } => format!("{shown} is no address: {reason}"),
            Self::BadCredential { scheme, needs } => format!("the scheme `{scheme}` needs {needs}"),
            Self::Moved { host } => format!(
                "the document is from another server, `{host}`, which must not choose who is told \
                 who asks"
            ),
            Self::NotFetched { reason } => format!("the document cannot be fetched: {reason}"),
            Self::NotOpenApi => "the document describes no API: it has no `openapi`".to_owned(),
            Self::NotReadable { reason } => format!("the document cannot be read: {reason}"),
            Self::NoBase { reason } => format!("requests would go nowhere: {reason}"),
            Self::NoTools { reason } => format!("no operation becomes a tool: {reason}"),
            Self::TooLarge => format!("the document has more than {DOCUMENT_BYTES_MAX} bytes"),
            Self::TooMany => format!("more than {TOOLS_MAX} operations become tools"),
            Self::TooMuch => {
                format!("the schemas of the operations have more than {SCHEMAS_BYTES_MAX} bytes")
            }
            Self::Unknown { what, name, .. } => format!("the document has no {what} {name:?}"),
            Self::Version { version } => format!("the document is of {version}"),
        }
    }

    pub(crate) fn help(&self) -> String {
        match self {
            Self::BadBase { .. } => "write it like https://api.example.com/v1".to_owned(),
            Self::BadCredential { .. } => {
                "write a text for a key or token, `user` and `password`, or `client_id` and \
                 `client_secret`"
                    .to_owned()
            }
            Self::NotFetched { .. } | Self::NotReadable { .. } | Self::NotOpenApi => {
                "name an OpenAPI 3.0 or 3.1 or Swagger 2.0 document in JSON or YAML".to_owned()
            }
            Self::Moved { .. } | Self::NoBase { .. } => "give it a `base_url`".to_owned(),
            Self::NoTools { .. } => "look at `include` and `exclude`".to_owned(),
            Self::TooLarge => "cut it down to what is served".to_owned(),
            Self::TooMany | Self::TooMuch => "choose some with `include`".to_owned(),
            Self::Unknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Unknown { .. } => "remove it, or look into the document".to_owned(),
            Self::Version { .. } => "convert it to OpenAPI 3.0 or 3.1".to_owned(),
        }
    }
}
