//! How far a check may go at one place of a value, found once when a schema is compiled: a chain of
//! subschemas that is too long would overflow the stack, a circle would never end, and too many
//! subschemas make a check slow. Looks at keywords that stay at their place; sees no value.

use super::BadSchema;
use super::limits::IN_PLACE_MAX;
use super::outline::{Id, Keyword};

/// What is known of one subschema.
#[derive(Clone, Copy)]
enum Reach {
    Unseen,
    /// It is on the way that is being followed.
    Open,
    Known {
        chain: usize,
        weight: u64,
    },
}

/// The most that a check does at one place, in subschemas.
pub(super) fn weigh(nodes: &[Vec<Keyword>]) -> Result<u64, BadSchema> {
    let mut known = vec![Reach::Unseen; nodes.len()];
    let mut heaviest = 1;
    // A stack of our own: the chain that is looked for may be longer than the thread's.
    let mut way: Vec<usize> = Vec::new();
    for start in 0..nodes.len() {
        way.push(start);
        while let Some(&at) = way.last() {
            if let Reach::Known { .. } = known[at] {
                way.pop();
                continue;
            }
            known[at] = Reach::Open;
            let mut chain = 0;
            let mut weight = nodes[at].iter().map(cost).fold(1, u64::saturating_add);
            let before = way.len();
            let mut has_circle = false;
            for keyword in &nodes[at] {
                keyword.each_in_place(&mut |Id(next)| match known[next as usize] {
                    Reach::Unseen => way.push(next as usize),
                    Reach::Open => has_circle = true,
                    Reach::Known { chain: rest, weight: more } => {
                        chain = chain.max(rest + 1);
                        weight = weight.saturating_add(more);
                    }
                });
            }
            if has_circle {
                return Err(circle());
            }
            if way.len() > before {
                continue;
            }
            if chain > IN_PLACE_MAX {
                return Err(too_long());
            }
            heaviest = heaviest.max(weight);
            known[at] = Reach::Known { chain, weight };
        }
    }
    Ok(heaviest)
}

/// What a keyword costs by itself, in comparisons.
fn cost(keyword: &Keyword) -> u64 {
    match keyword {
        Keyword::Enum(choices) if !choices.iter().all(|choice| choice.is_string()) => {
            choices.len() as u64
        }
        Keyword::Properties(all) => all.patterns.len() as u64 + 1,
        _ => 1,
    }
}

fn circle() -> BadSchema {
    BadSchema {
        reason: "a `$ref` in it leads back to itself before it goes into the value; \
                 nothing could be checked"
            .to_owned(),
    }
}

fn too_long() -> BadSchema {
    BadSchema {
        reason: format!(
            "more than {IN_PLACE_MAX} `$ref`, `allOf`, `anyOf` and the like follow each other \
             for one value; write it shorter"
        ),
    }
}
