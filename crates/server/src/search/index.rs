//! Which words lead to which tools, and how well: the words of names, titles, descriptions and
//! arguments, weighed as BM25 does (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework", 2009). Made once for a set of tools; asked by `search`, never changed.

use crate::search::limits::{
    BEGINNINGS_MAX, DESCRIPTION_BYTES_MAX, QUERY_BYTES_MAX, QUERY_WORDS_MAX,
};
use haft_proto::json::{Cursor, DEPTH_MAX, JsonStr, member};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// See above. Tools are told by their places in a list.
pub(crate) struct Index {
    /// By word: in which tools it is, and how much.
    words: BTreeMap<Box<str>, Vec<(u32, f32)>>,
    /// How much each tool has in all.
    lengths: Vec<f32>,
    mean_length: f32,
}

/// How soon more of the same word says nothing more.
const SATURATION: f32 = 1.2;
/// How much it counts that a tool has many words.
const LENGTH: f32 = 0.75;
/// What a word is worth in a name, a title, a description and the name of an argument.
const WEIGHTS: [f32; 4] = [4.0, 2.0, 1.0, 0.5];
/// What a word is worth that a word of the question is the beginning of.
const BEGINNING: f32 = 0.4;
/// The shortest beginning that is looked for, in letters.
const BEGINNING_LETTERS_MIN: usize = 3;

/// Words that say nothing of what a tool does; among few tools, they may be rare.
const EMPTY: [&str; 14] =
    ["a", "an", "and", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"];

impl Index {
    /// The words of these definitions, which are JSON text.
    pub(crate) fn new<'t>(definitions: impl Iterator<Item = &'t str>) -> Self {
        let mut words: BTreeMap<Box<str>, Vec<(u32, f32)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (place, definition) in definitions.enumerate() {
            let place = u32::try_from(place).expect("nobody has that many tools");
            let of_it = words_of(definition);
            lengths.push(of_it.values().sum());
            for (word, weight) in of_it {
                words.entry(word.into()).or_default().push((place, weight));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "nobody has that many tools")]
        let mean_length = lengths.iter().sum::<f32>() / (lengths.len().max(1) as f32);
        Self { words, lengths, mean_length }
    }

    /// The places of the tools that fit best, the best first; of equals the first.
    pub(crate) fn find(&self, query: &str, limit: usize) -> Vec<usize> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        let mut asked: Vec<String> = words(head(query, QUERY_BYTES_MAX)).collect();
        asked.truncate(QUERY_WORDS_MAX);
        for word in &asked {
            if let Some(tools) = self.words.get(word.as_str()) {
                self.add(tools, 1.0, &mut scores);
            }
            if word.chars().count() >= BEGINNING_LETTERS_MIN {
                let after = (Bound::Excluded(word.as_str()), Bound::Unbounded);
                let longer = self.words.range::<str, _>(after);
                let longer = longer.take_while(|(longer, _)| longer.starts_with(word.as_str()));
                for (_, tools) in longer.take(BEGINNINGS_MAX) {
                    self.add(tools, BEGINNING, &mut scores);
                }
            }
        }
        let mut scores: Vec<(u32, f32)> = scores.into_iter().collect();
        scores.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        scores.truncate(limit);
        scores.into_iter().map(|(place, _)| place as usize).collect()
    }

    /// What a word is worth to the tools that have it: more where few do.
    #[expect(clippy::cast_precision_loss, reason = "nobody has that many tools")]
    fn add(&self, tools: &[(u32, f32)], share: f32, scores: &mut HashMap<u32, f32>) {
        let (all, having) = (self.lengths.len() as f32, tools.len() as f32);
        let rarity = ((all - having + 0.5) / (having + 0.5)).ln_1p();
        for (place, weight) in tools {
            let length = self.lengths[*place as usize] / self.mean_length;
            let room = SATURATION * (1.0 - LENGTH + LENGTH * length);
            let worth = weight * (SATURATION + 1.0) / (weight + room);
            *scores.entry(*place).or_default() += share * rarity * worth;
        }
    }
}

/// The words of a definition, and how much each is worth.
fn words_of(definition: &str) -> BTreeMap<String, f32> {
    let text = |key| {
        let text = member(definition, key).and_then(JsonStr::from_raw);
        text.map(|text| text.decode().into_owned()).unwrap_or_default()
    };
    let schema = member(definition, "inputSchema").unwrap_or("{}");
    let arguments = keys(member(schema, "properties").unwrap_or("{}")).join(" ");
    let description = text("description");
    let description = head(&description, DESCRIPTION_BYTES_MAX);
    let mut found = BTreeMap::new();
    let texts = [&*text("name"), &text("title"), description, &arguments];
    for (text, weight) in texts.into_iter().zip(WEIGHTS) {
        for word in words(text) {
            *found.entry(word).or_default() += weight;
        }
    }
    found
}

fn keys(object: &str) -> Vec<String> {
    let mut cursor = Cursor::new(object, DEPTH_MAX);
    let (mut keys, mut is_first) = (Vec::new(), true);
    if cursor.enter_object().is_err() {
        return keys;
    }
    while let Ok(Some(key)) = cursor.next_key(&mut is_first) {
        keys.push(key.decode().into_owned());
        if cursor.value().is_err() {
            break;
        }
    }
    keys
}

/// As much of a text as has so many bytes.
fn head(text: &str, bytes: usize) -> &str {
    let is_end = |at: &usize| text.is_char_boundary(*at);
    let end = (0..=bytes.min(text.len())).rev().find(is_end);
    &text[..end.unwrap_or_default()]
}

/// The words of a text in small letters, without the `s` of the plural; `openTicket2` is three.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|character: char| !character.is_alphanumeric());
    let small = parts.flat_map(humps).map(str::to_lowercase);
    small.filter(|word| !EMPTY.contains(&word.as_str())).map(|word| match word.strip_suffix('s') {
        Some(single) if single.len() > 2 && !single.ends_with('s') => single.to_owned(),
        _ => word,
    })
}

/// The parts of a word that begin with a capital or a digit behind something else.
fn humps(word: &str) -> Vec<&str> {
    let (mut humps, mut start, mut before) = (Vec::new(), 0, None::<char>);
    for (at, character) in word.char_indices() {
        let is_new = before.is_some_and(|before| {
            character.is_uppercase() && !before.is_uppercase()
                || character.is_numeric() != before.is_numeric()
        });
        if is_new {
            humps.push(&word[start..at]);
            start = at;
        }
        before = Some(character);
    }
    if start < word.len() {
        humps.push(&word[start..]);
    }
    humps
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn index(tools: &[(&str, &str)]) -> Index {
        let definition = |(name, description): &(&str, &str)| {
            json!({"name": name, "description": description,
                "inputSchema": {"type": "object", "properties": {"owner": {}}}})
            .to_string()
        };
        let all: Vec<_> = tools.iter().map(definition).collect();
        Index::new(all.iter().map(String::as_str))
    }

    #[test]
    fn what_fits_best_comes_first() {
        let tools = [
            ("create_issue", "Creates an issue in a repository."),
            ("list_issues", "Lists the issues of a repository."),
            ("searchCode", "Looks for code in all repositories."),
            ("weather", "Says how the weather is. For an issue of the paper, ask elsewhere."),
            ("get_user", "Gets a user by their name."),
        ];
        let index = index(&tools);
        let check = |query: &str, expected: &[&str]| {
            let found = index.find(query, 3);
            let names: Vec<_> = found.iter().map(|place| tools[*place].0).collect();
            assert_eq!(names, expected, "{query}");
        };
        check("create an issue", &["create_issue", "list_issues", "weather"]);
        check("issues", &["create_issue", "list_issues", "weather"]);
        check("list the issues", &["list_issues", "create_issue", "weather"]);
        check("SEARCH code", &["searchCode"]);
        check("repo", &["searchCode", "create_issue", "list_issues"]);
        check("weath", &["weather"]);
        check("", &[]);
        check("!?", &[]);
        check("zebra", &[]);
    }

    #[test]
    fn words_are_small_single_and_apart() {
        let of = |text: &str| words(text).collect::<Vec<_>>();
        assert_eq!(of("openTicket2 for_users"), ["open", "ticket", "2", "user"]);
        assert_eq!(of("HTTP-Status  class gas"), ["http", "statu", "class", "gas"]);
        assert_eq!(of("Größen näher"), ["größen", "näher"]);
    }

    #[test]
    fn nothing_that_is_asked_takes_long() {
        let many: Vec<_> = (0..2000).map(|number| format!("word{number} tool")).collect();
        let tools: Vec<_> = many.iter().map(|text| ("tool", text.as_str())).collect();
        let index = index(&tools);
        assert_eq!(index.find(&"wor word tool ".repeat(100_000), 20).len(), 20);
        assert_eq!(index.find(&"ü".repeat(5000), 20), [0; 0]);
    }
}
