//! Tools that call other tools of the server, step by step: as run, checked from as typed. Called
//! by `kind`; what needs all the tools of a file is checked by `link`, and `handler` runs them.
//!
//! `form` is a value with templates in it, `shape` what is known of a value before it is there and
//! `path` of an expression, `around` which values a step can see, `passed` whether they fit what
//! is called, `scope` those that are there in a call, and `run` one call.

mod around;
mod form;
pub(crate) mod handler;
pub(crate) mod link;
pub(crate) mod mistake;
mod passed;
mod path;
pub(crate) mod report;
mod run;
mod scope;
mod shape;

use crate::amount;
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::input::Input;
use crate::limits::{
    BRANCHES_MAX, EACH_DEFAULT, EACH_MAX, EACH_RUNNING_MAX, STEP_DEPTH_MAX, STEPS_MAX, TIMEOUT_MAX,
};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::template::value::Expression;
use crate::template::{Compiler, Known, Template};
use crate::tool::out_of_range;
use crate::tree::Tree;
use crate::written;
use crate::written::pipeline::OnError;
use crate::written::tool::Variables;
use form::Form;
use mistake::Mistake;
use std::time::Duration;

/// Steps, and what they answer.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) steps: Vec<Step>,
    pub(crate) result: Option<Form>,
    /// It answers with what each step did.
    pub(crate) report: Option<Variables>,
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its number, like `3.1`.
    pub(crate) label: String,
    pub(crate) place: Place,
    pub(crate) action: Action,
    pub(crate) each: Option<Each>,
    pub(crate) when: Option<Form>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_error: OnError,
    pub(crate) name: Option<Placed<String>>,
    /// Others look at how it went, good or bad: then a failure that tells it is a result.
    pub(crate) is_outcome_read: bool,
    /// Somebody may look at its result.
    pub(crate) is_wanted: bool,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Call { tool: Placed<String>, with: Vec<(Placed<String>, Form)> },
    Do(Vec<Step>),
    Parallel(Vec<Step>),
}

/// What a step is done for.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) list: Form,
    pub(crate) item: Placed<String>,
    pub(crate) max: usize,
    pub(crate) concurrency: usize,
}

/// The key of each action, and those that belong to it.
const KEYS: [(&str, &[&str]); 4] = [
    ("call", &["with"]),
    ("do", &[]),
    ("parallel", &[]),
    ("each", &["item", "max", "concurrency"]),
];

impl Pipeline {
    /// All templates of it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        self.expressions().into_iter().map(|expression| &expression.template).collect()
    }

    /// Whether anything reads the result of a step of that name, or why it failed.
    pub(crate) fn reads(&self, name: &str) -> bool {
        let reason = format!("{}.{name}", scope::ERRORS);
        self.expressions().into_iter().any(|expression| {
            let is_read = |path: &String| *path == reason || path == scope::ERRORS;
            expression.template.variables.iter().any(|variable| variable == name)
                || expression.paths.iter().any(is_read)
        })
    }

    fn expressions(&self) -> Vec<&Expression> {
        let mut forms: Vec<&Form> = self.result.iter().collect();
        let mut stack: Vec<&Step> = self.steps.iter().collect();
        while let Some(step) = stack.pop() {
            let list = step.each.as_ref().map(|each| &each.list);
            forms.extend(step.when.iter().chain(list));
            match &step.action {
                Action::Call { with, .. } => forms.extend(with.iter().map(|(_, form)| form)),
                Action::Do(steps) | Action::Parallel(steps) => stack.extend(steps),
            }
        }
        let mut found = Vec::new();
        forms.into_iter().for_each(|form| form.expressions(&mut |found_one| found.push(found_one)));
        found
    }
}

/// Checks the keys of a tool with `pipeline`. `tree` is the tool in the file.
pub(crate) fn check(
    tool: &written::tool::Tool,
    tree: &Tree,
    input: &Input,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Pipeline, Wrong> {
    let written = tool.pipeline.as_ref().expect("its kind has this key");
    let tree_of = |key: &str| tree.get(key);
    let known = Known { is_open: true, ..input.known() };
    let mut reader = Reader { known, surroundings, compiler, count: 0 };
    let steps = tree_of("pipeline").expect("the typed key comes from this tree");
    let is_wanted = tree_of("result").is_none();
    let help = "name a tool to call: [{ call: word_count }]";
    let steps = reader.steps(("pipeline", help), (written, steps), "", is_wanted)?;
    let result = tree_of("result").map(|result| reader.form(result)).transpose()?;
    let taken = input.names.iter().position(|name| name == scope::ERRORS);
    if let Some(argument) = taken.map(|index| &input.arguments[index]) {
        let mistake = Mistake::BadName { key: "argument", name: argument.name.clone() };
        return Err(Wrong::new(argument.place, Problem::Pipeline(mistake)));
    }
    let pipeline = Pipeline { steps, result, report: None };
    Ok(match tool.foreign.steps {
        Some(variables) => pipeline.with_report(variables),
        None => pipeline,
    })
}

/// Typed steps, as they stand in the file.
type Steps<'w> = (&'w Placed<Vec<Placed<written::pipeline::Step>>>, &'w Tree);

/// What reads the steps of one pipeline.
struct Reader<'r, 'c> {
    known: Known<'r>,
    surroundings: &'r Surroundings<'r>,
    compiler: &'r mut Compiler<'c>,
    count: usize,
}

impl Reader<'_, '_> {
    fn steps(
        &mut self,
        (key, help): (&'static str, &'static str),
        (written, tree): Steps<'_>,
        above: &str,
        is_wanted: bool,
    ) -> Result<Vec<Step>, Wrong> {
        if written.value.is_empty() {
            return Err(Wrong::new(written.place, Problem::EmptyList { key, help }));
        }
        if key == "parallel" && written.value.len() > BRANCHES_MAX {
            let allowed = format!("a list of {BRANCHES_MAX} steps at most");
            return Err(out_of_range("parallel", &allowed, written.place));
        }
        let mut steps = Vec::new();
        for (index, step) in written.value.iter().enumerate() {
            let tree = tree.at(index).expect("the typed items come from this tree");
            let label = match above {
                "" => (index + 1).to_string(),
                above => format!("{above}.{}", index + 1),
            };
            let is_last = index + 1 == written.value.len();
            steps.push(self.step(
                step,
                tree,
                label,
                is_wanted && (is_last || key == "parallel"),
            )?);
        }
        Ok(steps)
    }

    fn step(
        &mut self,
        Placed { place, value: written }: &Placed<written::pipeline::Step>,
        tree: &Tree,
        label: String,
        is_wanted: bool,
    ) -> Result<Step, Wrong> {
        self.count += 1;
        if self.count > STEPS_MAX {
            let allowed = format!("of {STEPS_MAX} steps at most");
            return Err(out_of_range("pipeline", &allowed, tree.place));
        }
        if label.matches('.').count() >= STEP_DEPTH_MAX {
            let mistake = Mistake::StepsTooDeep { limit: STEP_DEPTH_MAX };
            return Err(Wrong::new(tree.place, Problem::Pipeline(mistake)));
        }
        check_keys(tree)?;
        let name = written.r#as.clone();
        if let Some(name) = &name {
            check_name("as", name)?;
        }
        // The last call of a pipeline answers for itself.
        let is_answer =
            !label.contains('.') && written.call.is_some() && tree.get("each").is_none();
        let is_wanted = (is_wanted && !is_answer) || name.is_some();
        let action = match (&written.call, &written.r#do, &written.parallel) {
            (Some(tool), ..) => Action::Call { tool: tool.clone(), with: self.arguments(tree)? },
            (_, Some(steps), _) => {
                let steps = (steps, tree.get("do").expect("as typed"));
                let help = "name a tool to call: [{ call: word_count }]";
                Action::Do(self.steps(("do", help), steps, &label, is_wanted)?)
            }
            (.., Some(steps)) => {
                let steps = (steps, tree.get("parallel").expect("as typed"));
                let help = "name the tools to call: [{ call: word_count }, { call: line_count }]";
                Action::Parallel(self.steps(("parallel", help), steps, &label, is_wanted)?)
            }
            (None, None, None) => {
                let what = format!("step {label} does nothing");
                let help = "give it a tool to `call`, or steps to `do` or to do in `parallel`";
                return Err(Wrong::new(tree.place, Problem::KindMissing { what, help }));
            }
        };
        let each = tree.get("each").map(|list| self.each(list, written)).transpose()?;
        let when = tree.get("when").map(|when| self.expression("when", when)).transpose()?;
        let timeout = written.timeout.as_ref();
        let timeout =
            timeout.map(|text| amount::time("timeout", text, TIMEOUT_MAX, self.surroundings));
        let (timeout, on_error) = (timeout.transpose()?, written.on_error.unwrap_or_default());
        let (place, is_outcome_read) = (*place, false);
        #[rustfmt::skip]
        let step = Step {
            label, place, action, each, when, timeout, on_error, name, is_outcome_read, is_wanted,
        };
        Ok(step)
    }

    fn arguments(&mut self, tree: &Tree) -> Result<Vec<(Placed<String>, Form)>, Wrong> {
        let Some(with) = tree.get("with") else { return Ok(Vec::new()) };
        let Some(entries) = with.entries() else {
            return Err(with.wrong_type("with", "a mapping"));
        };
        let mut arguments = Vec::new();
        for entry in entries {
            let name = Placed::new(entry.key_place, entry.key.clone());
            arguments.push((name, self.form(&entry.value)?));
        }
        Ok(arguments)
    }

    fn each(&mut self, list: &Tree, written: &written::pipeline::Step) -> Result<Each, Wrong> {
        let list = match &list.node {
            crate::tree::Node::List(_) => self.form(list)?,
            _ => self.expression("each", list)?,
        };
        let item = written.item.clone();
        let item = item.unwrap_or_else(|| Placed::new(list.place(), "item".to_owned()));
        check_name("item", &item)?;
        let max = number("max", written.max.as_ref(), EACH_MAX)?.unwrap_or(EACH_DEFAULT);
        let concurrency = written.concurrency.as_ref();
        let concurrency = number("concurrency", concurrency, EACH_RUNNING_MAX)?.unwrap_or(1);
        Ok(Each { list, item, max, concurrency })
    }

    fn form(&mut self, tree: &Tree) -> Result<Form, Wrong> {
        Form::new(tree, self.known, self.compiler)
    }

    /// A text that is `{{ expression }}` and nothing else.
    fn expression(&mut self, key: &'static str, tree: &Tree) -> Result<Form, Wrong> {
        let form = match &tree.node {
            crate::tree::Node::Text(_) => self.form(tree)?,
            _ => return Err(tree.wrong_type(key, "{{ expression }}")),
        };
        match &form {
            Form::Template(expression) if expression.only.is_some() => Ok(form),
            _ => Err(Wrong::new(tree.place, Problem::Pipeline(Mistake::NoExpression { key }))),
        }
    }
}

/// A step does one thing, and has no keys of another.
fn check_keys(tree: &Tree) -> Result<(), Wrong> {
    let place_of = |key: &str| tree.entry(key).map(|entry| entry.key_place);
    let mut actions = KEYS[..3].iter().filter_map(|(key, _)| Some((*key, place_of(key)?)));
    if let (Some((other, _)), Some((key, place))) = (actions.next(), actions.next()) {
        return Err(Wrong::new(place, Problem::TwoOfOne { key, other }));
    }
    for (other, keys) in KEYS.iter().filter(|(other, _)| tree.get(other).is_none()) {
        for key in *keys {
            if let Some(place) = place_of(key) {
                let problem =
                    Problem::KeyBelongsTo { key, owners: "steps", other: (*other).to_owned() };
                return Err(Wrong::new(place, problem));
            }
        }
    }
    Ok(())
}

/// Words that are no names in a template.
const RESERVED: [&str; 18] = [
    "and",
    "dict",
    "else",
    "false",
    "for",
    "if",
    "in",
    "is",
    "loop",
    "namespace",
    "none",
    "not",
    "or",
    "range",
    "self",
    "true",
    "False",
    "True",
];

/// Whether a name means a value of the pipeline and nothing else.
pub(crate) fn is_readable(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(is_part)
        && !name.starts_with("__");
    is_name && !RESERVED.contains(&name) && name != "None" && name != scope::ERRORS
}

fn check_name(key: &'static str, name: &Placed<String>) -> Result<(), Wrong> {
    let text = name.value.as_str();
    if is_readable(text) {
        return Ok(());
    }
    let mistake = Mistake::BadName { key, name: text.to_owned() };
    Err(Wrong::new(name.place, Problem::Pipeline(mistake)))
}

fn number(
    key: &'static str,
    written: Option<&Placed<u32>>,
    max: usize,
) -> Result<Option<usize>, Wrong> {
    written.map(|written| amount::number(key, written, 1, max)).transpose()
}
