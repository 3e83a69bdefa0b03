//! How deep the compiler of the general check goes into a schema, found before it runs: it goes
//! from subschema to subschema on the caller's stack, and follows eight references in a row before
//! it puts the next one off. Looks at where subschemas stand; knows no keyword.

use super::BadSchema;
use super::limits::COMPILE_DEPTH_MAX;
use super::outline::Id;

/// How many references the compiler follows in a row.
const HOPS_MAX: usize = 8;

/// What stands in a subschema.
#[derive(Clone, Default)]
pub(super) struct Inside {
    pub(super) subschemas: Vec<Id>,
    pub(super) references: Vec<Id>,
}

/// Refuses a schema that the compiler would go too deep into.
pub(super) fn check(nodes: &[Inside]) -> Result<(), BadSchema> {
    let mut nesting = Nesting { nodes, known: vec![[None; HOPS_MAX + 1]; nodes.len()] };
    for index in 0..nodes.len() {
        // What is put off begins anew, so it may begin anywhere.
        if nesting.depth(index, HOPS_MAX) > COMPILE_DEPTH_MAX {
            let reason = format!(
                "definitions that refer to each other nest more than {COMPILE_DEPTH_MAX} deep; \
                 make them flatter"
            );
            return Err(BadSchema { reason });
        }
    }
    Ok(())
}

struct Nesting<'a> {
    nodes: &'a [Inside],
    /// By subschema, and by how many references are followed from there.
    known: Vec<[Option<usize>; HOPS_MAX + 1]>,
}

impl Nesting<'_> {
    /// Recursion that is bounded by the depth of the schema's text for each of a few hops.
    fn depth(&mut self, index: usize, hops: usize) -> usize {
        if let Some(known) = self.known[index][hops] {
            return known;
        }
        let mut deepest = 0;
        let inside = &self.nodes[index];
        for Id(below) in &inside.subschemas {
            deepest = deepest.max(self.depth(*below as usize, hops));
        }
        if let Some(hops) = hops.checked_sub(1) {
            for Id(below) in &inside.references {
                deepest = deepest.max(self.depth(*below as usize, hops));
            }
        }
        self.known[index][hops] = Some(deepest + 1);
        deepest + 1
    }
}
