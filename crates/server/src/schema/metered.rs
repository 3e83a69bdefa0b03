//! A parsed value as the `jsonschema` crate reads it, except that every look at it is paid from
//! the budget of the check. Without it some schemas make that crate look at one value for ever.
//! When the budget is spent, arrays and objects look empty, so the check ends soon; its verdict is
//! void then.

use super::budget::{has_steps, spend};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp, unique};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// The representation, for `jsonschema::options_for`.
pub(super) struct Metered;

/// A value, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a>(pub(super) &'a Value);

/// The members of an object.
pub(super) struct Members<'a>(&'a Map<String, Value>);

/// The items of an array.
pub(super) struct Items<'a>(&'a [Value]);

impl Json for Metered {
    type Node<'a> = Probe<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Probe<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        f(Probe(buffer))
    }
}

impl<'a> Node<'a, Metered> for Probe<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        spend(1);
        self.0.as_object().map(Members)
    }

    fn as_array(&self) -> Option<Items<'a>> {
        spend(1);
        self.0.as_array().map(|items| Items(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str()?;
        // Whoever asks reads it.
        spend(1 + text.len() / BYTES_PER_STEP);
        Some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        spend(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        spend(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        spend(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        spend(1);
        match self.0 {
            Value::Array(_) => JsonType::Array,
            Value::Bool(_) => JsonType::Boolean,
            Value::Null => JsonType::Null,
            Value::Number(_) => JsonType::Number,
            Value::Object(_) => JsonType::Object,
            Value::String(_) => JsonType::String,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        let is_alike = match (self.0, expected) {
            (Value::Array(ours), Value::Array(theirs)) => ours.len() == theirs.len(),
            (Value::Object(ours), Value::Object(theirs)) => ours.len() == theirs.len(),
            (Value::String(ours), Value::String(theirs)) => ours.len() == theirs.len(),
            (ours, theirs) => ours.is_number() && theirs.is_number() || ours == theirs,
        };
        spend(1) && is_alike && spend(size(expected)) && cmp::equal(self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.0).addr()))
    }
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Probe<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Probe<'a>> {
        if spend(1) { self.0.get(key).map(Probe) } else { None }
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.0.iter())
    }
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Probe<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        has_steps() && spend(self.0.iter().map(size).sum()) && unique::is_unique(self.0)
    }
}

/// Goes through an object as long as there is something to spend.
pub(super) struct MembersIter<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Probe<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if !spend(1) {
            return None;
        }
        self.0.next().map(|(key, value)| (key.as_str(), Probe(value)))
    }
}

/// Goes through an array as long as there is something to spend.
pub(super) struct ItemsIter<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Probe<'a>;

    fn next(&mut self) -> Option<Probe<'a>> {
        if !spend(1) {
            return None;
        }
        self.0.next().map(Probe)
    }
}

/// How many bytes of a text are read in one step.
const BYTES_PER_STEP: usize = 8;

/// How many steps a comparison takes at most.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            members
                .iter()
                .map(|(key, value)| 1 + key.len() / BYTES_PER_STEP + size(value))
                .sum::<usize>()
                + 1
        }
        Value::String(text) => 1 + text.len() / BYTES_PER_STEP,
        Value::Bool(_) | Value::Null | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::budget::with_budget;
    use jsonschema::json::conformance::{assert_conformance, document};
    use serde_json::json;

    #[test]
    fn it_is_a_representation_as_the_validator_wants_it() {
        let document = document();
        with_budget(0, || assert_conformance::<Metered>(&Probe(&document))).expect("it is small");
    }

    #[test]
    fn a_spent_budget_empties_the_value_and_voids_the_verdict() {
        let value = json!({"a": [1]});
        let outcome = with_budget(0, || {
            while spend(1) {}
            let object = Probe(&value).as_object().expect("it still is one");
            (object.members().count(), object.get(&"a".to_owned()).is_none())
        });
        assert!(outcome.is_err());
        assert!(with_budget(0, || spend(1)).expect("the next check has its own budget"));
    }
}
