//! The names of tools and arguments: those of the document, made of characters that every client
//! takes, at most 64 of them, each once, and the same whenever the document is read. Called by
//! `operation`.

use crate::openapi::document::shown;
use crate::openapi::limits::NAME_MAX;
use std::collections::HashSet;

/// Names, each given once.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// A name for an operation; `own` tells it from others of the same name.
    pub(crate) fn of(&mut self, prefix: &str, wanted: &str, own: &str) -> String {
        let name = shortened(&format!("{prefix}{}", valid(wanted)));
        if self.0.insert(name.clone()) {
            return name;
        }
        let mut number = 0_usize;
        loop {
            let own = if number == 0 { own.to_owned() } else { format!("{own} {number}") };
            let mark = format!("_{:06x}", hash(&own) & 0xff_ffff);
            let kept = name.len().min(NAME_MAX - mark.len());
            let other = format!("{}{mark}", &name[..kept]);
            if self.0.insert(other.clone()) {
                return other;
            }
            number += 1;
        }
    }
}

/// A name of letters, digits, `_` and `-`, with letters of other scripts as those of this one that
/// sound alike; empty, if nothing of it can be written so.
pub(crate) fn valid(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let push = |name: &mut String, character: char| {
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') {
            name.push(character);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    };
    for character in text.chars() {
        match character.is_ascii() {
            true => push(&mut name, character),
            false => match deunicode::deunicode_char(character) {
                // A name is no place for the words that stand for a picture.
                Some(written) if character.is_alphanumeric() => {
                    let letters = written.chars().filter(char::is_ascii_alphanumeric);
                    letters.for_each(|letter| push(&mut name, letter));
                }
                _ => push(&mut name, '_'),
            },
        }
    }
    name.trim_matches('_').to_owned()
}

/// Whether a name is told beside the one that is made of it.
pub(crate) fn is_told(text: &str) -> bool {
    !text.is_ascii() || valid(text).is_empty()
}

/// Words about a thing that is called otherwise here.
pub(crate) fn with_name(text: &str, words: &str) -> String {
    let separator = if words.trim().is_empty() { "" } else { ": " };
    format!("`{}`{separator}{words}", shown(text))
}

/// The name as it is, or its beginning and a mark of the whole.
pub(crate) fn shortened(name: &str) -> String {
    if name.len() <= NAME_MAX {
        return name.to_owned();
    }
    let mark = format!("_{:08x}", hash(name));
    format!("{}{mark}", &name[..NAME_MAX - mark.len()])
}

/// FNV-1a, 32 bits: the same on every machine and in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_what_every_client_takes() {
        for (text, expected) in [
            ("listPets", "listPets"),
            ("repos/list-for-org", "repos_list-for-org"),
            ("get_/pets/{id}", "get_pets_id"),
            ("Ünïcode  op!", "Unicode_op"),
            ("größe_ändern", "grosse_andern"),
            ("получитьСписок", "poluchitSpisok"),
            ("取得", "QuDe"),
            ("日本 list", "RiBen_list"),
            ("données[clé]", "donnees_cle"),
            ("🎉", ""),
            ("???", ""),
        ] {
            assert_eq!(valid(text), expected);
        }
    }

    #[test]
    fn a_name_is_given_once_and_stays_the_same() {
        let mut names = Names::default();
        assert_eq!(names.of("p_", "list", "GET /a"), "p_list");
        let second = names.of("p_", "list", "GET /b");
        let third = names.of("p_", "list", "GET /b");
        assert!(second.starts_with("p_list_") && third != second, "{second} {third}");
        let mut again = Names::default();
        assert_eq!(again.of("p_", "list", "GET /z"), "p_list");
        assert_eq!(again.of("p_", "list", "GET /b"), second);
        let long = "a".repeat(100);
        let name = Names::default().of("p_", &long, "GET /a");
        assert_eq!((name.len(), &name[..4]), (64, "p_aa"));
        assert_ne!(name, Names::default().of("p_", &format!("{long}b"), "GET /a"));
    }
}
