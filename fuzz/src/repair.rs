//! A schema and a value from strangers: neither makes a check or a repair panic, a repair fits, and
//! what fits is not repaired.

use haft_proto::json::{Cursor, DEPTH_MAX};
use haft_server::schema::Schema;

/// Panics if something does not hold. The first line is the schema, the rest the value.
pub fn a_repair_fits(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((schema, value)) = text.split_once('\n') else { return };
    let Ok(schema) = Schema::compile(schema) else { return };
    // A wire has read every message before its arguments are checked.
    if !is_json(value) {
        return;
    }
    let mended = schema.repair(value);
    match schema.check(value) {
        Ok(()) => assert_eq!(mended, None, "it fitted as it was"),
        Err(violations) => {
            assert!((1..=8).contains(&violations.len()));
            for told in violations.iter().map(ToString::to_string) {
                assert!(!told.contains('\n'), "a violation of more than one line: {told:?}");
            }
        }
    }
    let Some(mended) = mended else { return };
    assert!(is_json(&mended.text));
    assert_eq!(schema.check(&mended.text), Ok(()));
    assert_eq!(schema.repair(&mended.text), None);
    assert_eq!(mended.repairs.len(), mended.count.min(8));
    assert!(mended.text.len() < value.len(), "taking off quotes makes a text shorter");
}

fn is_json(text: &str) -> bool {
    let mut cursor = Cursor::new(text, DEPTH_MAX);
    cursor.value().is_ok() && cursor.end().is_ok()
}
