//! What can be wrong with the keys of `http` and `output`, beside what is wrong with any key: one
//! variant for each mistake, its sentence and what to do. Called by `problem`.

use haft_fetch::limits::REDIRECTS_MAX;

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum HttpMistake {
    /// Who asks, told to whomever a caller names.
    AuthToAnyone,
    /// A place that may be reached.
    BadAllowed { shown: String },
    /// The name of a header.
    BadHeaderName { name: String },
    /// A header that the request itself needs.
    OwnHeader { name: String },
    /// What was filled in, told to whomever a caller names.
    SecretToAnyone { what: &'static str },
    /// A status.
    BadStatus { shown: String },
    /// An address.
    BadUrl { reason: String },
    /// A statement in the query of an address.
    BlockInQuery,
    /// A template that chooses the host.
    DynamicHost,
    /// A value that a header cannot have.
    HeaderValue { name: String },
    /// A body where there cannot be one.
    NoBodyWith { key: &'static str, method: &'static str },
    /// None of those of which one must be there.
    Nothing { owner: &'static str },
    /// What is to be picked.
    Pointer { shown: String },
    /// The number of redirects.
    Redirects,
}

impl HttpMistake {
    pub(crate) fn message(&self) -> String {
        match self {
            Self::AuthToAnyone => "`auth` would go to whatever host a caller names".to_owned(),
            Self::BadAllowed { shown } => format!("{shown} is no host, address or network"),
            Self::BadHeaderName { name } => format!("{name:?} cannot be the name of a header"),
            Self::OwnHeader { name } => format!("the header `{name}` is the connection's own"),
            Self::SecretToAnyone { what } => {
                format!("what is filled in for {what} would go to whatever host a caller names")
            }
            Self::BadStatus { shown } => format!("{shown} is no status"),
            Self::BadUrl { reason } => format!("the address cannot be used: {reason}"),
            Self::BlockInQuery => "a statement stands in the query of the address".to_owned(),
            Self::DynamicHost => "a template chooses the host".to_owned(),
            Self::HeaderValue { name } => format!("the value of `{name}` is no text of a header"),
            Self::NoBodyWith { key, method } => {
                format!("`{method}` has no body, and `{key}` is one")
            }
            Self::Nothing { owner } => format!("`{owner}` says nothing"),
            Self::Pointer { shown } => format!("{shown} is no JSON Pointer"),
            Self::Redirects => format!("`redirects` must be from 0 to {REDIRECTS_MAX}"),
        }
    }

    pub(crate) fn help(&self) -> String {
        match self {
            Self::AuthToAnyone | Self::SecretToAnyone { .. } => {
                "let the host end in a fixed part: https://{{ name }}.example.com"
            }
            Self::BadAllowed { .. } => "write it like localhost, 127.0.0.1 or 10.0.0.0/8",
            Self::BadHeaderName { .. } => "use letters, digits and `-`, like x-api-key",
            Self::OwnHeader { .. } => "remove it; haft sends it where it is needed",
            Self::BadStatus { .. } => "write a number from 100 to 599, or a class like 2xx",
            Self::BadUrl { .. } => "write it like https://api.example.com/v1/items/{{ id }}",
            Self::BlockInQuery => {
                "put the parameter into `query`, which leaves out what makes nothing"
            }
            Self::DynamicHost => {
                "write the host out, or `allow_dynamic_host: true` if callers may choose it"
            }
            Self::HeaderValue { .. } => "remove line ends and control characters",
            Self::NoBodyWith { .. } => "use `query`, or another method",
            Self::Nothing { owner } => match *owner {
                "auth" => "give it one of bearer, basic, header, query and oauth",
                _ => "give it one of get, head, post, put, patch and delete, with an address",
            },
            Self::Pointer { .. } => "write it like /items/0/name",
            Self::Redirects => "write 0 to follow none",
        }
        .to_owned()
    }
}
