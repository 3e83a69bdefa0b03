//! Members that a server need not send, and sends as `null` or `""`: read as if they were not
//! there. Named by the types that answers are read into.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The value, or the default for `null`. What is absent is for `#[serde(default)]` to say.
pub(crate) fn or_null<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// The same for what is no text, of which `""` is no value either.
pub(crate) fn or_empty<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    match Value::deserialize(from)? {
        Value::Null => Ok(T::default()),
        Value::String(text) if text.is_empty() => Ok(T::default()),
        value => T::deserialize(value).map_err(serde::de::Error::custom),
    }
}
