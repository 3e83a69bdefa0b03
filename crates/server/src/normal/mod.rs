//! What another server lists, made fit for the strictest client in use: JSON text in, JSON text out
//! and what was mended, or why nothing can be made of it. The strictest are the official packages
//! for TypeScript and Python, which refuse a whole list for one member of a wrong type. Looked at
//! once, when a list is fetched; an entry that is fit stays as it came, to the byte.

mod entry;
mod json;
mod keywords;
mod mends;
mod own;
mod reference;
mod schema;
mod text;
mod values;

pub use entry::Listed;
pub use mends::Mends;
pub(crate) use own::of_own;
pub use text::visible;

use json::Json;

/// A definition as clients are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normal {
    /// The definition, if it is other than it came.
    pub text: Option<String>,
    /// What is other.
    pub mends: Mends,
}

/// Makes an entry of a list fit for clients.
///
/// # Errors
/// A clause that says why it cannot be one.
///
/// ```
/// use haft_server::normal::{Listed, entry};
/// let told = r#"{"name":"t","title":null,"inputSchema":{"properties":{"a":true}}}"#;
/// let normal = entry(Listed::Tool, told)?;
/// let expected = r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{}}}}"#;
/// assert_eq!(normal.text.as_deref(), Some(expected));
/// assert!(entry(Listed::Tool, r#"{"name":7}"#).is_err());
/// # Ok::<(), String>(())
/// ```
pub fn entry(listed: Listed, text: &str) -> Result<Normal, String> {
    let (mut json, is_repeated) = Json::read(text).map_err(|error| error.to_string())?;
    let mut mends = Mends::default();
    if is_repeated {
        mends.quietly();
    }
    entry::mend(listed, &mut json, &mut mends)?;
    Ok(Normal { text: mends.is_changed.then(|| json.written()), mends })
}

/// A definition without a member; nothing, if it is no object.
#[must_use]
pub fn without(text: &str, key: &str) -> Option<String> {
    let (Json::Object(mut members), _) = Json::read(text).ok()? else { return None };
    json::remove(&mut members, key);
    Some(Json::Object(members).written())
}
