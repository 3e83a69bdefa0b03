//! Pictures that a client may show beside a name (Base Protocol, "icons"; from 2025-11-25 on).

/// One picture, in one or several sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Icon {
    /// Where it is: an `https:` or `data:` URI.
    pub src: String,
    /// What kind of picture, where the server of it may not say so.
    pub mime_type: Option<String>,
    /// Sizes like `48x48`, or `any`.
    pub sizes: Vec<String>,
    /// The background that it is drawn for.
    pub theme: Option<Theme>,
}

/// A background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// A dark one.
    Dark,
    /// A light one.
    Light,
}

impl Theme {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}
