//! Which values the steps of a pipeline can see, and what is known of them. Kept by `link` while it
//! walks through the steps in the order in which they run.

use crate::align::narrow;
use crate::fault::{Wrong, line_of};
use crate::pipeline::form::Form;
use crate::pipeline::mistake::Mistake;
use crate::pipeline::path::Path;
use crate::pipeline::scope::ERRORS;
use crate::pipeline::shape::{Kinds, Part, Shape};
use crate::pipeline::{Action, Step};
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::tags;
use crate::template::value::Expression;
use crate::written::pipeline::OnError;
use haft_server::nearest;

/// A value in sight.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Where it is named; arguments are not named by a step.
    place: Option<Place>,
    /// Why it may be nothing.
    pub(crate) nothing: Option<&'static str>,
    /// Another step may give the name too: one of the two is skipped.
    has_when: bool,
}

/// What steps can see.
pub(crate) struct Around<'a> {
    /// The text of the file.
    text: &'a str,
    seen: Vec<Seen>,
    /// What was seen by other steps alone: its name, within what, and where that is.
    left: Vec<(String, &'static str, Place)>,
    /// Whatever is named anywhere in the pipeline.
    all: Vec<(String, Place)>,
    /// The names of steps that may fail.
    failing: Vec<String>,
    /// Arguments may have other names, too.
    is_open: bool,
    /// What the conditions around look at.
    pub(crate) guarded: Vec<String>,
}

impl<'a> Around<'a> {
    pub(crate) fn new(text: &'a str, steps: &[Step], is_open: bool) -> Self {
        let (mut all, mut failing) = (Vec::new(), Vec::new());
        let mut stack: Vec<&Step> = steps.iter().collect();
        while let Some(step) = stack.pop() {
            if step.on_error == OnError::Continue {
                failing.extend(step.name.iter().map(|name| name.value.clone()));
            }
            let names = step.name.iter().chain(step.each.iter().map(|each| &each.item));
            all.extend(names.map(|name| (name.value.clone(), name.place)));
            if let Action::Do(steps) | Action::Parallel(steps) = &step.action {
                stack.extend(steps);
            }
        }
        Self {
            text,
            seen: Vec::new(),
            left: Vec::new(),
            all,
            failing,
            is_open,
            guarded: Vec::new(),
        }
    }

    /// An argument of the pipeline itself.
    pub(crate) fn argument(&mut self, name: &str, shape: Shape, nothing: Option<&'static str>) {
        let name = name.to_owned();
        self.seen.push(Seen { name, shape, place: None, nothing, has_when: false });
    }

    /// A name that a step gives.
    pub(crate) fn name(
        &mut self,
        name: &Placed<String>,
        shape: Shape,
        nothing: Option<&'static str>,
        has_when: bool,
    ) -> Result<(), Wrong> {
        let is_same = |seen: &&mut Seen| seen.name == name.value;
        if let Some(known) = self.seen.iter_mut().find(is_same) {
            if has_when && known.has_when {
                known.shape = known.shape.clone().or(shape);
                return Ok(());
            }
            let line = known.place.map_or(0, |place| line_of(self.text, place));
            let mistake = match line {
                0 => Mistake::BadName { key: "as", name: name.value.clone() },
                line => Mistake::NameTaken { name: name.value.clone(), line },
            };
            return Err(Wrong::new(name.place, Problem::Pipeline(mistake)));
        }
        let (name, place) = (name.value.clone(), Some(name.place));
        self.seen.push(Seen { name, shape, place, nothing, has_when });
        Ok(())
    }

    /// How much is in sight, to be gone back to.
    pub(crate) fn mark(&self) -> usize {
        self.seen.len()
    }

    /// What came in sight since is out of it again: it was within something.
    pub(crate) fn leave(&mut self, mark: usize, within: &'static str, place: Place) -> Vec<Seen> {
        let gone = self.seen.split_off(mark);
        self.left.extend(gone.iter().map(|seen| (seen.name.clone(), within, place)));
        gone
    }

    /// Branches are done, and what they named is in sight of all that follows.
    pub(crate) fn meet(&mut self, branches: Vec<Seen>) -> Result<(), Wrong> {
        for Seen { name, shape, place, nothing, has_when } in branches {
            self.left.retain(|(left, ..)| *left != name);
            let name = Placed::new(place.unwrap_or_default(), name);
            self.name(&name, shape, nothing, has_when)?;
        }
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Seen> {
        self.seen.iter().find(|seen| seen.name == name)
    }

    /// Checks every name in a value, and every part that is named of one.
    pub(crate) fn check(&self, form: &Form) -> Result<(), Wrong> {
        let mut checked = Ok(());
        form.expressions(&mut |expression| {
            if checked.is_ok() {
                checked = self.check_names(expression);
            }
        });
        checked
    }

    fn check_names(&self, expression: &Expression) -> Result<(), Wrong> {
        let typed = &expression.template.typed;
        let unknown = expression.template.variables.iter().find(|name| !self.has(name));
        if let Some(name) = unknown {
            return Err(Wrong::new(self.place_of(typed, name), self.unknown(name)));
        }
        for path in &expression.paths {
            let mut parts = path.split('.');
            let root = parts.next().unwrap_or_default();
            let Some(mut shape) = self.shape_of(root) else { continue };
            let mut walked = root.to_owned();
            for part in parts {
                if part.starts_with(|first: char| first.is_ascii_digit()) {
                    shape = shape.item();
                    continue;
                }
                match shape.part(part) {
                    Part::Known(found) => shape = found,
                    Part::Missing(known) => {
                        let near = nearest(part, known.iter().map(String::as_str));
                        let mistake = Mistake::NoPart {
                            part: part.to_owned(),
                            is: shape.kinds().describe(),
                            nearest: near.map(str::to_owned),
                            value: walked,
                            known,
                        };
                        let place = self.place_of(typed, root);
                        return Err(Wrong::new(place, Problem::Pipeline(mistake)));
                    }
                }
                walked = format!("{walked}.{part}");
            }
        }
        Ok(())
    }

    fn shape_of(&self, name: &str) -> Option<Shape> {
        if name == ERRORS {
            let reason = |name: &String| (name.clone(), Shape::Kinds(Kinds::TEXT).or_nothing());
            return Some(Shape::Map(self.failing.iter().map(reason).collect()));
        }
        self.find(name).map(|seen| seen.shape.clone())
    }

    fn has(&self, name: &str) -> bool {
        let is_made = || self.all.iter().any(|(made, _)| made == name);
        name == ERRORS || self.find(name).is_some() || (self.is_open && !is_made())
    }

    fn place_of(&self, typed: &Placed<String>, name: &str) -> Place {
        match tags::find_variable(&typed.value, name) {
            Some(part) => narrow(self.text, typed.place, &typed.value, part),
            None => typed.place,
        }
    }

    fn unknown(&self, name: &str) -> Problem {
        let name = name.to_owned();
        let left = self.left.iter().rev().find(|(left, ..)| *left == name);
        Problem::Pipeline(match (left, self.all.iter().find(|(known, _)| *known == name)) {
            (Some((_, within, place)), _) => {
                Mistake::OnlyWithin { name, within, line: line_of(self.text, *place) }
            }
            (None, Some((_, place))) => Mistake::NotYet { name, line: line_of(self.text, *place) },
            (None, None) => {
                let known: Vec<_> = self.seen.iter().map(|seen| seen.name.clone()).collect();
                let near = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
                Mistake::UnknownValue { name, nearest: near, known }
            }
        })
    }

    /// What a value will be.
    pub(crate) fn shape(&self, form: &Form) -> Shape {
        match form {
            Form::Fixed(json, _) => Shape::of_value(&json.value),
            Form::List(_, items) => {
                let items = items.iter().map(|item| self.shape(item)).reduce(Shape::or);
                Shape::List(Box::new(items.unwrap_or(Shape::ANY)))
            }
            Form::Map(_, members) => {
                let member = |(key, form): &(String, Form)| (key.clone(), self.shape(form));
                Shape::Map(members.iter().map(member).collect())
            }
            Form::Template(expression) => match &expression.only {
                None => Shape::Kinds(Kinds::TEXT),
                Some((source, _)) => {
                    let path = Path::read(source);
                    let found = path.and_then(|path| Some((self.shape_of(path.root)?, path)));
                    found.map_or(Shape::ANY, |(shape, path)| path.shape(&shape))
                }
            },
        }
    }

    /// The value that it passes on and that may be nothing, with the reason.
    pub(crate) fn may_be_nothing(&self, form: &Form) -> Option<(&str, &'static str)> {
        let Form::Template(expression) = form else { return None };
        let path = Path::read(&expression.only.as_ref()?.0)?;
        let seen = self.find(path.root).filter(|_| path.filter.is_none())?;
        let is_guarded = self.guarded.contains(&seen.name);
        seen.nothing.filter(|_| !is_guarded).map(|why| (seen.name.as_str(), why))
    }
}
