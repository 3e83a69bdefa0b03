//! The three things that a function may become, and in what they differ before anything is written.

/// What a function becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Prompt,
    Resource,
    Tool,
}

impl Kind {
    /// The word for it, which is also the name of what makes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Tool => "tool",
        }
    }

    /// What clients send: JSON to a tool, texts to the others.
    pub(crate) const fn takes_json(self) -> bool {
        matches!(self, Self::Tool)
    }

    /// What a parameter that clients send is called.
    pub(crate) const fn parameter(self) -> &'static str {
        match self {
            Self::Prompt | Self::Tool => "an argument",
            Self::Resource => "a variable",
        }
    }

    /// What `#[haft(..)]` may say of such a parameter.
    pub(crate) const fn parameter_options(self) -> &'static [&'static str] {
        match self {
            Self::Prompt => &["complete", "default", "rename"],
            Self::Resource => &["complete", "rename"],
            Self::Tool => &["default", "flatten", "header", "length", "range", "rename"],
        }
    }
}
