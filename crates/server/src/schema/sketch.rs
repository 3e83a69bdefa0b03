//! The outline of a schema that `direct` checks, made of what that has compiled. Asked for when a
//! value is first to be mended: until then such a schema needs none.

use super::bounds::{Bounds, Range};
use super::direct::{Node, Others};
use super::outline::{Id, Keyword, Outline, Properties};

/// See above.
pub(super) fn outline(root: &Node) -> Outline {
    let mut outline = Outline { nodes: Vec::new() };
    add(&mut outline, root);
    outline.nodes.shrink_to_fit();
    outline
}

/// Adds a node and all below it, which are not deep.
fn add(outline: &mut Outline, node: &Node) -> Id {
    let id = put(outline, Vec::new());
    let (details, members) = (node.details(), node.members());
    let mut keywords = Vec::new();
    keywords.extend(node.types.map(Keyword::Kinds));
    if !details.allowed.is_empty() {
        keywords.push(Keyword::Enum(details.allowed.clone()));
    }
    let is_bounded = |bounds: Bounds| bounds.min.or(bounds.max).is_some();
    if is_bounded(details.length) {
        keywords.push(Keyword::Length(details.length));
    }
    if is_bounded(details.items_count) {
        keywords.push(Keyword::ItemsCount(details.items_count));
    }
    let Range { min, max, above, below } = details.range;
    if min.or(max).or(above).or(below).is_some() {
        keywords.push(Keyword::Range(details.range));
    }
    if let Some(items) = &node.items {
        keywords.push(Keyword::Items { first: Vec::new(), rest: Some(add(outline, items)) });
    }
    let others = match &members.others {
        Others::Anything => None,
        Others::Nothing => Some(put(outline, vec![Keyword::Nothing])),
        Others::Fitting(node) => Some(add(outline, node)),
    };
    let properties = &members.properties;
    if !properties.is_empty() || others.is_some() {
        let named = properties.iter().map(|one| (one.name().into(), add(outline, &one.node)));
        let all = Properties::new(named.collect(), Vec::new(), others);
        keywords.push(Keyword::Properties(Box::new(all)));
    }
    if members.required != 0 {
        let is_required = |index: usize| members.required & 1 << index != 0;
        let names = properties.iter().enumerate().filter(|(index, _)| is_required(*index));
        keywords.push(Keyword::Required(names.map(|(_, one)| one.name().into()).collect()));
    }
    keywords.shrink_to_fit();
    outline.nodes[id.0 as usize] = keywords;
    id
}

fn put(outline: &mut Outline, keywords: Vec<Keyword>) -> Id {
    let id = Id(u32::try_from(outline.nodes.len()).expect("a schema has fewer bytes than that"));
    outline.nodes.push(keywords);
    id
}
