//! Rules of the file that are about nothing that there is: whoever wrote one meant something else.
//! Asked by `made` for what upstreams have, by `tailor` for what views have.

use haft_manifest::{Pattern, Selection, ToolRules, What};
use haft_server::nearest;

/// A clause for each such rule; `names` are those of a kind that there are.
pub(crate) fn clauses<'n>(
    selection: &Selection,
    tools: &ToolRules,
    names: impl Fn(What) -> Vec<&'n str>,
) -> Vec<String> {
    let named = What::ALL.map(names);
    let clause = |place: String, what: What, pattern: &Pattern| {
        let names = &named[what as usize];
        if names.iter().any(|name| pattern.fits(name)) {
            return None;
        }
        let (shown, kind) = (pattern.as_str(), what.key());
        let meant = nearest(shown, names.iter().copied()).filter(|_| !pattern.is_open());
        let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Some(format!("{place} names `{shown}`, which fits none of its {kind}{meant}"))
    };
    let choices = selection.patterns().filter_map(|(key, what, pattern)| {
        clause(format!("`{}` in `{key}`", what.key()), what, pattern)
    });
    let rules = tools.iter();
    let tools = rules.filter_map(|(pattern, _)| clause("`tools`".to_owned(), What::Tool, pattern));
    choices.chain(tools).collect()
}
