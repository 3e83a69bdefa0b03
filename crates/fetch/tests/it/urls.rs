//! Addresses made of anything.

use haft_fetch::{Url, escape};
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// What a server that undoes the escapes gets.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let (byte, left) = match (byte, after.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => (byte, &after[2..]),
            _ => (byte, after),
        };
        rest = left;
        bytes.push(byte);
    }
    bytes
}

proptest! {
    #[test]
    fn an_escaped_value_stays_in_its_place(value in any::<String>()) {
        let base = Url::parse("http://a.example:1").expect("an address");
        let escaped = escape::text(&value);
        let path = format!("/x/{escaped}/y?b={escaped}&c");
        let Ok(url) = base.with_path(&path) else {
            prop_assert!(path.len() > 16_000);
            return Ok(());
        };
        prop_assert_eq!(url.path().split('/').count(), 4);
        prop_assert_eq!(url.query().map(|query| query.split('&').count()), Some(2));
        prop_assert_eq!(url.path_and_query(), path);
        prop_assert_eq!(unescaped(&escaped), value.into_bytes());
    }

    #[test]
    fn a_location_is_read_as_it_is_sent_or_not_at_all(
        location in prop_oneof![
            any::<String>(),
            "[-a-z0-9:/?#@\\\\.%\\[\\]&= ]{0,40}",
        ]
    ) {
        let base = Url::parse("https://a.example/b/c").expect("an address");
        if let Ok(url) = base.join(&location) {
            let text = url.to_string();
            prop_assert!(!text.contains(['\\', '#', ' ', '\t']) && !url.host().contains('@'));
            prop_assert_eq!(Url::parse(&text), Ok(url.clone()));
            prop_assert!(url.is_same_origin(&base) || location.contains("//"));
        }
    }
}
