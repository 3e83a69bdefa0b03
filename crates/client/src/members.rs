//! The members of an entry of a list. What it is known by has to be there; what else it says is
//! taken where it is what it must be, and is as good as not said where it is not: one flawed entry
//! must not cost a list, nor one flawed member an entry. Used by `tools`, `resources` and
//! `prompts`.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// See above; of two with one key the later counts.
pub(crate) struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    /// # Errors
    /// It is no object.
    pub(crate) fn of(raw: &'a RawValue) -> Result<Self, String> {
        serde_json::from_str(raw.get()).map(Self).map_err(|error| error.to_string())
    }

    /// The value of a member, if it is what it must be.
    pub(crate) fn get<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.0.get(key)?.get()).ok()
    }

    /// The text that the entry is known by.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn need(&self, key: &str) -> Result<String, String> {
        let Some(raw) = self.0.get(key) else { return Err(format!("it has no `{key}`")) };
        serde_json::from_str(raw.get()).map_err(|error| format!("its `{key}` is no text: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_wrong_type_is_as_good_as_not_said() {
        let text = r#"{"name":"n","a":7,"b":null,"c":["x"],"name":"m"}"#.to_owned();
        let raw = RawValue::from_string(text).expect("JSON");
        let members = Members::of(&raw).expect("an object");
        assert_eq!(members.need("name").as_deref(), Ok("m"));
        assert_eq!((members.get::<String>("a"), members.get::<u8>("a")), (None, Some(7)));
        assert_eq!(members.get::<String>("b"), None);
        assert!(members.need("c").is_err_and(|why| why.starts_with("its `c` is no text")));
        assert_eq!(members.need("d"), Err("it has no `d`".to_owned()));
        let no_object = RawValue::from_string("[]".to_owned()).expect("JSON");
        assert!(Members::of(&no_object).is_err());
    }
}
