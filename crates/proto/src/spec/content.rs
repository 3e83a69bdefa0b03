//! What results and messages are made of (Server Features, "Tools", "Tool Result", and "Prompts").
//! Written by `encode`, which also says what an older client gets instead of a newer kind.

use super::Meta;
use super::resource::Resource;
use serde_json::value::RawValue;

/// One piece of an answer or message.
#[derive(Clone, Debug)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound (from 2025-03-26 on).
    Audio(Media),
    /// The address of a resource (from 2025-06-18 on).
    Link(Box<Resource>),
    /// A resource with its content.
    Embedded(ResourceContents),
    /// Any of these with hints for the client.
    Annotated(Box<Annotated>),
    /// As another server wrote it: JSON text of an object, of a kind that this one need not know.
    Raw(Box<RawValue>),
}

/// Bytes of some kind. They travel as Base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The bytes.
    pub data: Vec<u8>,
    /// What kind, like `image/png`.
    pub mime_type: String,
}

/// Content with hints for the client.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The content.
    pub content: Content,
    /// For whom, and how important.
    pub annotations: Annotations,
    /// `_meta`.
    pub meta: Option<Meta>,
}

/// For whom something is, and how important (Resources, "Annotations").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// For whom; empty is not said.
    pub audience: Vec<Role>,
    /// From 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// When it last changed, as ISO 8601 (from 2025-06-18 on).
    pub last_modified: Option<String>,
}

/// Who speaks, or is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The model.
    Assistant,
    /// The person.
    User,
}

/// What is in a resource, or a part of it.
#[derive(Clone, Debug)]
pub struct ResourceContents {
    /// Its address.
    pub uri: String,
    /// What kind of data.
    pub mime_type: Option<String>,
    /// The data.
    pub body: Body,
    /// `_meta`.
    pub meta: Option<Meta>,
}

/// Data of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Bytes, which travel as Base64.
    Blob(Vec<u8>),
    /// Text.
    Text(String),
}

impl Content {
    /// How many bytes it has, before any encoding, without its hints; of a link, those of its
    /// address; of what another server wrote, those of its JSON text.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Link(resource) => resource.uri.len(),
            Self::Embedded(contents) => contents.body.len(),
            Self::Annotated(annotated) => annotated.content.size(),
            Self::Raw(raw) => raw.get().len(),
        }
    }
}

impl Body {
    /// How many bytes it has, before any encoding.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Blob(data) => data.len(),
            Self::Text(text) => text.len(),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Role {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
        }
    }
}

impl Annotations {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Content {
    /// Plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A picture of that kind.
    #[must_use]
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// A sound of that kind.
    #[must_use]
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// The same with hints.
    ///
    /// ```
    /// use haft_proto::spec::content::{Annotations, Content, Role};
    /// let hints = Annotations { audience: vec![Role::User], ..Annotations::default() };
    /// let content = Content::text("Only for your eyes").annotated(hints);
    /// assert!(matches!(content, Content::Annotated(_)));
    /// ```
    #[must_use]
    pub fn annotated(self, annotations: Annotations) -> Self {
        match self {
            Self::Annotated(mut inner) => {
                inner.annotations = annotations;
                Self::Annotated(inner)
            }
            content => Self::Annotated(Box::new(Annotated { content, annotations, meta: None })),
        }
    }

    /// The same with `_meta`.
    #[must_use]
    pub fn with_meta(self, meta: Meta) -> Self {
        match self {
            Self::Annotated(mut inner) => {
                inner.meta = Some(meta);
                Self::Annotated(inner)
            }
            content => {
                let annotations = Annotations::default();
                Self::Annotated(Box::new(Annotated { content, annotations, meta: Some(meta) }))
            }
        }
    }
}

impl ResourceContents {
    /// Text at an address.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: Body::Text(text.into()), meta: None }
    }

    /// Bytes at an address.
    #[must_use]
    pub fn blob(uri: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: Body::Blob(data.into()), meta: None }
    }

    /// The same of a kind, like `text/plain`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}
