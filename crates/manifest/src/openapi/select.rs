//! Which operations become tools: `include` and `exclude` of haft.yaml, checked against the
//! document. Called by `operation` for each of them.

use crate::fault::Wrong;
use crate::openapi::bad;
use crate::openapi::mistake::OpenApiMistake;
use crate::place::Placed;
use crate::written::rules;
use crate::written::upstream as written;
use haft_server::nearest;
use std::collections::BTreeSet;

/// What is chosen.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    include: Option<Filter>,
    exclude: Option<Filter>,
}

#[derive(Debug, Default)]
struct Filter {
    tags: Vec<Placed<String>>,
    paths: Vec<String>,
    operations: Vec<Placed<String>>,
    methods: Vec<written::Method>,
}

/// What is known of an operation before it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'d> {
    pub(crate) method: written::Method,
    pub(crate) path: &'d str,
    pub(crate) id: Option<&'d str>,
    pub(crate) tags: &'d [serde_json::Value],
}

impl Selection {
    pub(crate) fn new(include: Option<rules::Filter>, exclude: Option<rules::Filter>) -> Self {
        Self { include: include.map(Filter::new), exclude: exclude.map(Filter::new) }
    }

    /// Whether an operation is chosen: it fits every key of `include`, and none of `exclude`.
    pub(crate) fn has(&self, known: Known<'_>) -> bool {
        let included = self
            .include
            .as_ref()
            .is_none_or(|filter| filter.fits(known).into_iter().flatten().all(|fits| fits));
        let excluded = self
            .exclude
            .as_ref()
            .is_some_and(|filter| filter.fits(known).into_iter().flatten().any(|fits| fits));
        included && !excluded
    }

    /// Names that the document does not have are mistakes.
    pub(crate) fn check<'d>(&self, all: impl Iterator<Item = Known<'d>>) -> Result<(), Wrong> {
        let filters = || self.include.iter().chain(&self.exclude);
        if filters().all(|filter| filter.tags.is_empty() && filter.operations.is_empty()) {
            return Ok(());
        }
        let (mut tags, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for known in all {
            tags.extend(known.tags.iter().filter_map(serde_json::Value::as_str));
            ids.extend(known.id);
        }
        let known = |what: &'static str, wanted: &Placed<String>, names: &BTreeSet<&str>| {
            if names.contains(&*wanted.value) {
                return Ok(());
            }
            let nearest = nearest(&wanted.value, names.iter().copied()).map(str::to_owned);
            let name = wanted.value.clone();
            Err(bad(wanted.place, OpenApiMistake::Unknown { what, name, nearest }))
        };
        for filter in filters() {
            filter.tags.iter().try_for_each(|tag| known("tag", tag, &tags))?;
            filter.operations.iter().try_for_each(|id| known("operation", id, &ids))?;
        }
        Ok(())
    }
}

impl Filter {
    fn new(written: rules::Filter) -> Self {
        let rules::Filter { tags, paths, operations, methods, .. } = written;
        let paths = paths.into_iter().map(|path| path.value).collect();
        Self { tags, paths, operations, methods }
    }

    /// For each key that is there, whether it fits.
    fn fits(&self, known: Known<'_>) -> [Option<bool>; 4] {
        let given = |is_empty: bool, fits: bool| (!is_empty).then_some(fits);
        let has_tag = |tag: &Placed<String>| known.tags.iter().any(|own| own == &tag.value);
        [
            given(self.tags.is_empty(), self.tags.iter().any(has_tag)),
            given(
                self.paths.is_empty(),
                self.paths.iter().any(|pattern| matches(pattern, known.path)),
            ),
            given(
                self.operations.is_empty(),
                self.operations.iter().any(|id| known.id == Some(&id.value)),
            ),
            given(self.methods.is_empty(), self.methods.contains(&known.method)),
        ]
    }
}

/// Whether a path fits a pattern: `*` is any part of a segment, `**` any segments.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // Which beginnings of the pattern fit what was read; no pattern makes this slow.
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    skip(&pattern, &mut fits);
    for segment in path {
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate().filter(|(at, _)| fits[*at]) {
            if *part == "**" {
                next[at] = true;
            } else if crate::pattern::fits(part, segment) {
                next[at + 1] = true;
            }
        }
        skip(&pattern, &mut next);
        fits = next;
    }
    fits[pattern.len()]
}

/// `**` is no segment, too.
fn skip(pattern: &[&str], fits: &mut [bool]) {
    for (at, part) in pattern.iter().enumerate() {
        if *part == "**" && fits[at] {
            fits[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_fit_paths() {
        for (pattern, path, expected) in [
            ("/pets/**", "/pets", true),
            ("/pets/**", "/pets/{id}/toys", true),
            ("/pets/**", "/petshop", false),
            ("/pets/*", "/pets/{id}", true),
            ("/pets/*", "/pets/{id}/toys", false),
            ("/pets/*", "/pets", false),
            ("/**/toys", "/pets/{id}/toys", true),
            ("/**/toys", "/toys", true),
            ("**", "/anything/at/all", true),
            ("/v*/pets", "/v2/pets", true),
            ("/v*/p*s", "/v2/pots", true),
            ("/v*/p*s", "/v2/pot", false),
            ("/a*b*c", "/abc", true),
            ("/a*b*c", "/axc", false),
            ("/pets", "/pets", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
