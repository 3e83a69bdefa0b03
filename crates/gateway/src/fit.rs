//! One tool of an upstream as the rules of a view want it, made once: what becomes of others makes
//! nothing anew. Asked by `tailor`; names are its business.

use crate::gateway::lock;
use crate::rules::{Given, Ruled, doubts, no_such, shape};
use haft_manifest::{ToolRule, ToolRules};
use haft_proto::spec::tool_result::ToolResult;
use haft_server::{Handling, Middleware, Next, Outcome, Request, Tool};
use std::collections::HashMap;
use std::future::ready;
use std::ptr;
use std::sync::{Arc, Mutex};

/// What was made for each view.
#[derive(Default)]
pub(crate) struct Wardrobe(Mutex<HashMap<String, Fits>>);

/// What was made for one.
#[derive(Default)]
struct Fits {
    rules: ToolRules,
    /// By the names of tools elsewhere.
    of: HashMap<String, Arc<Fit>>,
}

/// What was made of one tool.
pub(crate) struct Fit {
    /// Of which.
    tool: Tool,
    /// `None` if it cannot be as it is wanted.
    pub(crate) made: Option<Tool>,
    /// What is odd about that, a clause each.
    pub(crate) odd: Vec<String>,
}

/// What is being made for a view.
pub(crate) struct Fitting<'w> {
    wardrobe: &'w Wardrobe,
    view: &'w str,
    rules: &'w ToolRules,
    before: Fits,
    now: HashMap<String, Arc<Fit>>,
}

impl Wardrobe {
    /// Begins to make what the view of that name has now, whose rules these are.
    pub(crate) fn fitting<'w>(&'w self, view: &'w str, rules: &'w ToolRules) -> Fitting<'w> {
        let before = lock(&self.0).remove(view);
        let before = before.filter(|fits| fits.rules == *rules).unwrap_or_default();
        Fitting { wardrobe: self, view, rules, before, now: HashMap::new() }
    }

    /// Forgets all views but those of which this is so.
    pub(crate) fn keep(&self, is_there: impl Fn(&str) -> bool) {
        lock(&self.0).retain(|name, _| is_there(name));
    }
}

impl Fitting<'_> {
    /// A tool as a rule wants it.
    pub(crate) fn fit(&mut self, tool: &Tool, rule: ToolRule) -> Arc<Fit> {
        let is_same = |fit: &Arc<Fit>| match (fit.tool.told_there(), tool.told_there()) {
            (Some(before), Some(now)) => ptr::eq(before, now),
            _ => false,
        };
        let known = self.before.of.remove(tool.name()).filter(is_same);
        let fit = known.unwrap_or_else(|| Arc::new(Fit::new(tool, rule, self.rules)));
        self.now.insert(tool.name().to_owned(), Arc::clone(&fit));
        fit
    }

    /// Keeps what was made.
    pub(crate) fn end(self) {
        let fits = Fits { rules: self.rules.clone(), of: self.now };
        lock(&self.wardrobe.0).insert(self.view.to_owned(), fits);
    }
}

impl Fit {
    fn new(tool: &Tool, rule: ToolRule, rules: &ToolRules) -> Self {
        let (name, mut odd) = (tool.name(), Vec::new());
        let made = changed(tool, rule, rules.naming(name), &mut odd);
        let made = made.map_err(|why| odd.push(format!("`{name}` is left out: {why}"))).ok();
        Self { tool: tool.clone(), made, odd }
    }
}

/// `own` is the rule that names the tool.
fn changed(
    tool: &Tool,
    mut rule: ToolRule,
    own: Option<&ToolRule>,
    odd: &mut Vec<String>,
) -> Result<Tool, String> {
    let not_passed_on = || "it is not passed on".to_owned();
    let told = tool.told_there().ok_or_else(not_passed_on)?;
    // What the upstream's own rules give is no business of views.
    let named = |argument: &str| {
        own.is_some_and(|own| own.fixed.iter().any(|(fixed, _)| fixed == argument))
    };
    rule.fixed.retain(|(argument, _)| {
        let is_given = tool.withholds(argument);
        odd.extend((is_given && named(argument)).then(|| no_such(tool.name(), argument)));
        !is_given
    });
    let shaped = shape(&rule, own, told);
    odd.extend(doubts(tool.name(), &shaped));
    let here = rule.name.as_deref().unwrap_or_else(|| tool.name());
    let retold = match shaped.given {
        None => tool.retold(here, shaped.definition, |inner| inner),
        // What stands around it must know all arguments, as a cache does.
        Some(given) if tool.has_middleware() => {
            let around = Giving { given: Arc::new(given), name: here.into() };
            let retold = tool.retold(here, shaped.definition, |inner| inner);
            retold.map(|tool| tool.outer_middleware(around))
        }
        Some(given) => tool.retold(here, shaped.definition, |inner| {
            Arc::new(Ruled { inner, given, name: here.into() })
        }),
    };
    retold.ok_or_else(not_passed_on)?.verified().map_err(|error| error.to_string())
}

/// Gives a call the arguments that are no business of who calls.
struct Giving {
    given: Arc<Given>,
    name: Box<str>,
}

impl Middleware for Giving {
    fn handle(&self, mut request: Request, next: Next) -> Handling {
        match self.given.splice(&request.arguments) {
            Ok(arguments) => request.arguments = arguments.into_owned(),
            Err(why) => {
                let text = Given::refusal(&self.name, &why);
                return Box::pin(ready(Outcome::Tool(ToolResult::error(text))));
            }
        }
        next.run(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_server::handler::{Answer, Call, Handler, Made};
    use serde_json::value::RawValue;

    struct Nothing;

    impl Handler for Nothing {
        fn call(&self, _: Call<'_>, answer: Answer<'_>) -> Made {
            answer.text("");
            Made::Now
        }
    }

    #[test]
    fn what_has_not_changed_is_not_made_anew() {
        let told = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
        let tool = || {
            let told = RawValue::from_string(told.to_owned()).expect("JSON");
            Tool::relayed("t", told, Nothing)
        };
        let (wardrobe, rules, first) = (Wardrobe::default(), ToolRules::default(), tool());
        let fit = |view: &str, tool: &Tool| {
            let mut fitting = wardrobe.fitting(view, &rules);
            let fit = fitting.fit(tool, ToolRule::default());
            fitting.end();
            fit
        };
        let made = fit("v", &first);
        assert!(Arc::ptr_eq(&made, &fit("v", &first)));
        assert!(!Arc::ptr_eq(&made, &fit("w", &first)), "another view may have other rules");
        assert!(!Arc::ptr_eq(&made, &fit("v", &tool())), "the upstream has said it anew");
        wardrobe.keep(|name| name == "w");
        assert_eq!(lock(&wardrobe.0).len(), 1);
    }
}
