//! How far a check may go at one place of a value, found once when a schema is compiled: a chain of
//! subschemas that is too long would overflow the stack, a circle would never end, and too many
//! subschemas make a check slow. Looks at keywords that stay at their place; sees no value.

use super::BadSchema;
use super::limits::{IN_PLACE_MAX, WEIGHT_MAX};
use super::outline::{Id, Keyword};

/// What is known of one subschema.
#[derive(Clone, Copy)]
enum Reach {
    Unseen,
    /// It is on the way that is being followed.
    Open,
    Known(Known),
}

#[derive(Clone, Copy)]
struct Known {
    /// The longest chain of subschemas at its place.
    chain: usize,
    /// How many are looked at to know whether a value fits.
    weight: u64,
    /// How many more to know which members it has seen, for `unevaluatedProperties` and
    /// `unevaluatedItems`: each alternative is checked again.
    marking: u64,
}

/// Refuses a schema that a check may look at for ever, or too deep, at one place.
pub(super) fn check(nodes: &[Vec<Keyword>]) -> Result<(), BadSchema> {
    let mut reaches = vec![Reach::Unseen; nodes.len()];
    // A stack of our own: the chain that is looked for may be longer than the thread's.
    let mut way: Vec<usize> = Vec::new();
    for start in 0..nodes.len() {
        way.push(start);
        while let Some(&at) = way.last() {
            if let Reach::Known(_) = reaches[at] {
                way.pop();
                continue;
            }
            reaches[at] = Reach::Open;
            let before = way.len();
            if let Some(known) = measure(&nodes[at], &reaches, &mut way)? {
                reaches[at] = Reach::Known(known);
            }
            debug_assert!(way.len() > before || matches!(reaches[at], Reach::Known(_)));
        }
    }
    Ok(())
}

/// Measures a subschema, or adds to `way` those that have to be measured before.
fn measure(
    keywords: &[Keyword],
    reaches: &[Reach],
    way: &mut Vec<usize>,
) -> Result<Option<Known>, BadSchema> {
    let mut here = Known { chain: 0, weight: keywords.len() as u64 + 1, marking: 1 };
    let mut is_ready = true;
    let mut has_circle = false;
    for keyword in keywords {
        keyword.each_in_place(&mut |Id(next)| match reaches[next as usize] {
            Reach::Unseen => {
                is_ready = false;
                way.push(next as usize);
            }
            Reach::Open => has_circle = true,
            Reach::Known(Known { chain, weight, marking }) => {
                here.chain = here.chain.max(chain + 1);
                here.weight = here.weight.saturating_add(weight);
                here.marking = here.marking.saturating_add(weight).saturating_add(marking);
            }
        });
    }
    let is_marking = |keyword: &Keyword| {
        matches!(keyword, Keyword::UnevaluatedItems | Keyword::UnevaluatedProperties(_))
    };
    if keywords.iter().any(is_marking) {
        here.weight = here.weight.saturating_add(here.marking);
    }
    let refuse = |reason: String| Err(BadSchema { reason });
    if has_circle {
        return refuse(
            "a `$ref` in it leads back to itself before it goes into the value; \
             nothing could be checked"
                .to_owned(),
        );
    }
    if here.chain > IN_PLACE_MAX {
        return refuse(format!(
            "more than {IN_PLACE_MAX} `$ref`, `allOf`, `anyOf` and the like follow each other \
             for one value; write it shorter"
        ));
    }
    if here.weight > WEIGHT_MAX {
        return refuse(format!(
            "more than {WEIGHT_MAX} subschemas have to be looked at for one value; \
             use fewer alternatives"
        ));
    }
    Ok(is_ready.then_some(here))
}
