//! Values in a definition that are no schemas: whether somebody who reads them sees all of them.
//! Called by `schema` and `entry`.

use super::json::Json;
use super::mends::{Mends, Place};
use super::text::{is_visible, visible};
use haft_proto::json::{Cursor, Kind};

/// Takes hidden characters out of all texts.
pub(super) fn clean(value: &mut Json<'_>, place: &Place<'_>, mends: &mut Mends) {
    match value {
        Json::Plain(_) => {}
        Json::Text(text) if is_visible(text) => {}
        Json::Text(text) => {
            *text = visible(text).into_owned().into();
            mends.say(place, "had hidden characters");
        }
        Json::Array(items) => items.iter_mut().for_each(|item| clean(item, place, mends)),
        Json::Object(members) => members.retain_mut(|(key, value)| {
            let place = place.at(key);
            if !is_visible(key) {
                mends.say(&place, "has a name with hidden characters, and is left out");
                return false;
            }
            clean(value, &place, mends);
            true
        }),
    }
}

/// Whether a value has no hidden characters.
pub(super) fn is_clean(value: &Json<'_>) -> bool {
    match value {
        Json::Plain(_) => true,
        Json::Text(text) => is_visible(text),
        Json::Array(items) => items.iter().all(is_clean),
        Json::Object(members) => {
            members.iter().all(|(key, value)| is_visible(key) && is_clean(value))
        }
    }
}

/// The number that a text is.
pub(super) fn number_in(text: &str) -> Option<&str> {
    let mut cursor = Cursor::new(text, 1);
    (cursor.kind().ok()? == Kind::Number).then_some(())?;
    let number = cursor.value().ok()?;
    cursor.end().ok()?;
    Some(number.trim())
}
