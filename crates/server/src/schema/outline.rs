//! A schema as a table of its subschemas, with every `$ref` followed once. Repairs and explanations
//! walk it; `outliner` makes it. It never decides whether a value fits: that is for the checks.

use super::bounds::{Bounds, Range};
use super::kind_set::Kinds;
use super::pattern::Pattern;
use serde_json::Value;
use std::sync::Arc;

/// All subschemas that a schema reaches. The first is the schema itself.
pub(super) struct Outline {
    pub(super) nodes: Vec<Vec<Keyword>>,
}

/// A subschema of an [`Outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(pub(super) u32);

/// What one keyword, or a group that belongs together, asks of a value.
pub(super) enum Keyword {
    /// `$ref` and `allOf`.
    AllOf(Vec<Id>),
    AnyOf(Vec<Id>),
    Contains {
        item: Id,
        count: Bounds,
    },
    DependentRequired(Vec<(Box<str>, Vec<Box<str>>)>),
    DependentSchemas(Vec<(Box<str>, Id)>),
    /// `enum` and `const`.
    Enum(Vec<Value>),
    If {
        condition: Id,
        then: Option<Id>,
        otherwise: Option<Id>,
    },
    Items {
        first: Vec<Id>,
        rest: Option<Id>,
    },
    ItemsCount(Bounds),
    Kinds(Kinds),
    Length(Bounds),
    MultipleOf(f64),
    Not(Id),
    /// The schema `false`.
    Nothing,
    OneOf(Vec<Id>),
    Pattern(Arc<Pattern>),
    Properties(Box<Properties>),
    PropertiesCount(Bounds),
    PropertyNames(Id),
    Range(Range),
    Required(Vec<Box<str>>),
    UnevaluatedItems,
    UnevaluatedProperties(Id),
    UniqueItems,
    /// Something that is not outlined; the subschemas that it may apply at the same place.
    Unknown(Vec<Id>),
}

/// `properties`, `patternProperties` and `additionalProperties` of one subschema.
pub(super) struct Properties {
    /// As the schema has them.
    pub(super) named: Vec<(Box<str>, Id)>,
    /// Indices of `named`, by name.
    by_name: Vec<u32>,
    pub(super) patterns: Vec<(Arc<Pattern>, Id)>,
    pub(super) others: Option<Id>,
}

impl Outline {
    pub(super) const ROOT: Id = Id(0);

    pub(super) fn keywords(&self, id: Id) -> &[Keyword] {
        &self.nodes[id.0 as usize]
    }

    /// Whether nothing fits the subschema.
    pub(super) fn is_nothing(&self, id: Id) -> bool {
        matches!(self.keywords(id), [Keyword::Nothing])
    }

    /// The regular expressions that may take long, and whether one of them is for keys.
    pub(super) fn patient_patterns(&self) -> (bool, bool) {
        let (mut of_values, mut of_keys) = (false, false);
        for keyword in self.nodes.iter().flatten() {
            match keyword {
                Keyword::Pattern(pattern) => of_values |= !pattern.is_linear(),
                Keyword::Properties(all) => {
                    of_keys |= all.patterns.iter().any(|(pattern, _)| !pattern.is_linear());
                }
                _ => {}
            }
        }
        (of_values, of_keys)
    }
}

impl Keyword {
    /// The subschemas that apply to the same value as this keyword.
    pub(super) fn each_in_place(&self, each: &mut impl FnMut(Id)) {
        match self {
            Self::AllOf(ids) | Self::AnyOf(ids) | Self::OneOf(ids) | Self::Unknown(ids) => {
                ids.iter().copied().for_each(each);
            }
            Self::DependentSchemas(all) => all.iter().for_each(|(_, id)| each(*id)),
            Self::If { condition, then, otherwise } => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().for_each(each);
            }
            Self::Not(id) => each(*id),
            _ => {}
        }
    }
}

impl Properties {
    pub(super) fn new(
        named: Vec<(Box<str>, Id)>,
        patterns: Vec<(Arc<Pattern>, Id)>,
        others: Option<Id>,
    ) -> Self {
        let mut by_name: Vec<u32> = (0..).take(named.len()).collect();
        by_name.sort_by(|a, b| named[*a as usize].0.cmp(&named[*b as usize].0));
        Self { named, by_name, patterns, others }
    }

    /// The subschema of a name in `properties`.
    pub(super) fn find(&self, name: &str) -> Option<Id> {
        let found =
            self.by_name.binary_search_by(|index| (*self.named[*index as usize].0).cmp(name));
        found.ok().map(|at| self.named[self.by_name[at] as usize].1)
    }

    /// The subschemas for the value under a key.
    pub(super) fn apply(&self, key: &str, mut each: impl FnMut(Id)) {
        let named = self.find(key);
        let mut is_other = named.is_none();
        named.into_iter().for_each(&mut each);
        for (pattern, id) in &self.patterns {
            match pattern.is_match(key) {
                Some(true) => {
                    is_other = false;
                    each(*id);
                }
                Some(false) => {}
                None => is_other = false,
            }
        }
        if let Some(others) = self.others.filter(|_| is_other) {
            each(others);
        }
    }
}
