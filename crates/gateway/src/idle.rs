//! Rules of the file that are about nothing that there is: whoever wrote one meant something else.
//! Asked by `made` for what upstreams have, by `tailor` for what views have.

use haft_manifest::{Pattern, Selection, ToolRules, What};
use haft_server::nearest;

/// A clause for each pattern that nothing fits; `names` are those of a kind that there are.
pub(crate) fn choices<'n>(
    selection: &Selection,
    names: impl Fn(What) -> Vec<&'n str>,
) -> Vec<String> {
    let named = What::ALL.map(names);
    let patterns = selection.patterns().filter_map(|(key, what, pattern)| {
        clause(&format!("`{}` in `{key}`", what.key()), (what, &named[what as usize]), pattern)
    });
    patterns.collect()
}

/// The same for rules of tools.
pub(crate) fn rules(rules: &ToolRules, names: &[&str]) -> Vec<String> {
    let rules = rules.iter();
    rules.filter_map(|(pattern, _)| clause("`tools`", (What::Tool, names), pattern)).collect()
}

fn clause(place: &str, (what, names): (What, &[&str]), pattern: &Pattern) -> Option<String> {
    if names.iter().any(|name| pattern.fits(name)) {
        return None;
    }
    let (shown, kind) = (pattern.as_str(), what.key());
    let meant = nearest(shown, names.iter().copied()).filter(|_| !pattern.is_open());
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    Some(format!("{place} names `{shown}`, which fits none of its {kind}{meant}"))
}
