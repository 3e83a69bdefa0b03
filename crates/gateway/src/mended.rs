//! What of an upstream's definitions was mended so that every client takes them, for whoever runs
//! the gateway. Filled by `made`; what is mended, and how, is for `haft_server::normal`.

use crate::limits::MENDED_MAX;
use haft_server::normal::{Listed, entry};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// See above.
#[derive(Default)]
pub(crate) struct Mended {
    /// Of the first.
    clauses: Vec<String>,
    /// How many more there are.
    more: usize,
}

impl Mended {
    /// A definition as clients can be told it; mostly as it came.
    ///
    /// # Errors
    /// Why clients cannot be told it.
    pub(crate) fn fit<'t>(
        &mut self,
        listed: Listed,
        name: &str,
        told: &'t RawValue,
    ) -> Result<Cow<'t, RawValue>, String> {
        let normal = entry(listed, told.get())?;
        self.note(name, normal.mends.told, normal.mends.more);
        match normal.text {
            None => Ok(Cow::Borrowed(told)),
            Some(text) => {
                RawValue::from_string(text).map(Cow::Owned).map_err(|error| error.to_string())
            }
        }
    }

    /// Keeps what was mended of the definition of that name.
    pub(crate) fn note(
        &mut self,
        name: &str,
        mends: impl IntoIterator<Item = String>,
        more: usize,
    ) {
        let mends: Vec<String> = mends.into_iter().collect();
        if mends.is_empty() {
            return;
        }
        if self.clauses.len() == MENDED_MAX {
            self.more += 1;
            return;
        }
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        self.clauses.push(format!("`{name}` is mended for clients: {}{more}", mends.join("; ")));
    }

    /// A clause for each definition, as far as they are kept.
    pub(crate) fn clauses(self) -> impl Iterator<Item = String> {
        let more = (self.more > 0)
            .then(|| format!("{} more of its definitions are mended for clients", self.more));
        self.clauses.into_iter().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_so_many_definitions_it_is_told_what_was_mended_and_others_are_counted() {
        let told = RawValue::from_string(r#"{"name":"t"}"#.to_owned()).expect("JSON");
        let mut mended = Mended::default();
        for number in 0..MENDED_MAX + 2 {
            let name = format!("t{number}");
            assert!(matches!(mended.fit(Listed::Tool, &name, &told), Ok(Cow::Owned(_))));
        }
        let clauses: Vec<String> = mended.clauses().collect();
        assert_eq!(clauses.len(), MENDED_MAX + 1);
        assert_eq!(clauses[0], "`t0` is mended for clients: `inputSchema` was not there");
        assert_eq!(clauses[MENDED_MAX], "2 more of its definitions are mended for clients");
    }

    #[test]
    fn what_is_fit_is_not_copied() {
        let told = r#"{"name":"t", "inputSchema":{"type":"object"}}"#.to_owned();
        let told = RawValue::from_string(told).expect("JSON");
        let mut mended = Mended::default();
        assert!(matches!(mended.fit(Listed::Tool, "t", &told), Ok(Cow::Borrowed(_))));
        assert_eq!(mended.clauses().count(), 0);
    }
}
