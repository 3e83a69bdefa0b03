//! Arguments that a body takes beside those that it names: members of its own names. Used by
//! `body`,
//! `json` and `slot`.

use crate::http::slot::Filling;
use serde_json::Value;

/// Which arguments these are: all that have no other place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others {
    /// The arguments that have one.
    pub(crate) known: Vec<String>,
    /// Members of the body, and the arguments that are written as these.
    pub(crate) members: Vec<(String, String)>,
}

impl Others {
    /// Names and values of a call. A member that has an argument is not written twice.
    pub(crate) fn of<'a>(
        &'a self,
        filling: Filling<'a>,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let values = &filling.arguments.values;
        let is_free = move |name: &String| {
            let is_written = |(member, argument): &(String, String)| {
                member == name && values.contains_key(argument)
            };
            !self.known.contains(name) && !self.members.iter().any(is_written)
        };
        let others = values.iter().filter(move |(name, _)| is_free(name));
        others.map(|(name, value)| (name.as_str(), value))
    }
}
