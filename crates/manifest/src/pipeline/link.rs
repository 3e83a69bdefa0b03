//! A file's pipelines and the tools that they call, checked together once all are known: names,
//! values, types, circles. Called by `meant`; starts nothing.

use crate::command::Command;
use crate::fault::Wrong;
use crate::input::Input;
use crate::kind::Kind;
use crate::pipeline::around::Around;
use crate::pipeline::form::Form;
use crate::pipeline::mistake::Mistake;
use crate::pipeline::shape::{Kinds, Shape};
use crate::pipeline::{Action, Each, Pipeline, Step, passed};
use crate::place::Placed;
use crate::problem::Problem;
use crate::tool::Tool;
use crate::written::pipeline::OnError;
use crate::written::tool::Parse;
use haft_proto::limits::Limits;
use haft_proto::spec::tool::Annotations;
use haft_server::nearest;
use haft_server::schema::Prepared;
use serde_json::Value;
use std::collections::HashMap;

/// A tool that pipelines can call.
#[derive(Clone, Copy)]
pub(crate) struct Callable<'a> {
    pub(crate) name: &'a str,
    /// The JSON Schema of its arguments.
    pub(crate) input: &'a str,
    /// The JSON Schema of its result, if that is known.
    pub(crate) output: Option<&'a str>,
    pub(crate) annotations: Annotations,
    /// Its steps, if it is a pipeline itself.
    pub(crate) pipeline: Option<(&'a Pipeline, &'a Input)>,
}

impl<'a> Callable<'a> {
    fn of_tool(tool: &'a Tool) -> Self {
        const TEXT: &str = r#"{"type":"string"}"#;
        let output = match &tool.kind {
            Kind::Command(command) if is_text(command) => Some(TEXT),
            Kind::Text(_) => Some(TEXT),
            _ => tool.output_schema.as_ref().map(Prepared::text),
        };
        let pipeline = match &tool.kind {
            // Of one that reports, the values are known in a call alone.
            Kind::Pipeline(pipeline) if pipeline.report.is_none() => {
                Some((&**pipeline, &tool.input))
            }
            _ => None,
        };
        let (name, input) = (tool.name.value.as_str(), tool.input.schema.text());
        Self { name, input, output, annotations: tool.annotations, pipeline }
    }
}

fn is_text(command: &Command) -> bool {
    command.output.parse == Parse::Text
}

/// Checks the pipelines among the tools, which may call all of them and those of elsewhere, and
/// tells of each pipeline what its steps make of it where the file does not.
pub(crate) fn link(
    tools: &mut [Tool],
    elsewhere: &[Callable<'_>],
    text: &str,
) -> Result<(), Wrong> {
    if !tools.iter().any(|tool| matches!(tool.kind, Kind::Pipeline(_))) {
        return Ok(());
    }
    let own = tools.iter().map(Callable::of_tool);
    let callables: Vec<_> = own.chain(elsewhere.iter().copied()).collect();
    let by_name = callables.iter().enumerate().map(|(index, tool)| (tool.name, index)).collect();
    let linked = vec![None; callables.len()];
    let mut linker = Linker { callables: &callables, by_name, linked, path: Vec::new(), text };
    let mut known = Vec::new();
    for (index, _) in callables.iter().enumerate().filter(|(_, tool)| tool.pipeline.is_some()) {
        known.push((index, linker.visit(index)?.annotations));
    }
    for (index, annotations) in known {
        if let Some(tool) = tools.get_mut(index) {
            tool.annotations = annotations;
        }
    }
    Ok(())
}

/// What is known of a tool once its own steps have been checked.
#[derive(Clone)]
struct Linked {
    annotations: Annotations,
    output: Shape,
    /// How deep its calls nest.
    height: usize,
}

struct Linker<'a> {
    callables: &'a [Callable<'a>],
    by_name: HashMap<&'a str, usize>,
    linked: Vec<Option<Linked>>,
    /// The pipelines that are being checked, each called by the one before.
    path: Vec<usize>,
    text: &'a str,
}

/// What has been found out of the steps of one pipeline.
#[derive(Default)]
struct Found {
    called: Vec<Annotations>,
    height: usize,
}

impl Linker<'_> {
    fn visit(&mut self, index: usize) -> Result<Linked, Wrong> {
        if let Some(known) = &self.linked[index] {
            return Ok(known.clone());
        }
        let callable = self.callables[index];
        let schema = |text: &str| serde_json::from_str(text).unwrap_or(Value::Bool(true));
        let said = callable.output.map(|text| Shape::of_schema(schema(text)));
        let linked = match callable.pipeline {
            None => {
                let output = said.unwrap_or(Shape::ANY);
                Linked { annotations: callable.annotations, output, height: 0 }
            }
            Some((pipeline, input)) => {
                self.path.push(index);
                let (found, output) = self.pipeline(pipeline, input)?;
                self.path.pop();
                let annotations = together(callable.annotations, &found.called);
                Linked { annotations, output: said.unwrap_or(output), height: found.height }
            }
        };
        self.linked[index] = Some(linked.clone());
        Ok(linked)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, input: &Input) -> Result<(Found, Shape), Wrong> {
        let mut around = Around::new(self.text, &pipeline.steps, input.is_open);
        let schema: Value = serde_json::from_str(input.schema.text()).unwrap_or(Value::Bool(true));
        let whole = Shape::of_schema(schema);
        for argument in &input.arguments {
            let shape = match whole.part(&argument.name) {
                crate::pipeline::shape::Part::Known(shape) => shape,
                crate::pipeline::shape::Part::Missing(_) => Shape::ANY,
            };
            let is_there = argument.is_required || argument.has_default();
            let nothing = (!is_there).then_some("it is an optional argument");
            around.argument(&argument.name, shape, nothing);
        }
        let mut found = Found::default();
        let last = self.steps(&pipeline.steps, &mut around, &mut found)?;
        let output = match &pipeline.result {
            Some(result) => {
                around.check(result)?;
                around.shape(result)
            }
            None => last,
        };
        Ok((found, output))
    }

    fn steps(
        &mut self,
        steps: &[Step],
        around: &mut Around<'_>,
        found: &mut Found,
    ) -> Result<Shape, Wrong> {
        let mut last = Shape::ANY;
        for step in steps {
            last = self.step(step, around, found)?;
        }
        Ok(last)
    }

    fn step(
        &mut self,
        step: &Step,
        around: &mut Around<'_>,
        found: &mut Found,
    ) -> Result<Shape, Wrong> {
        let (mark, guards) = (around.mark(), around.guarded.len());
        if let Some(when) = &step.when {
            around.check(when)?;
            when.expressions(&mut |expression| {
                around.guarded.extend(expression.template.variables.iter().cloned());
            });
        }
        if let Some(each) = &step.each {
            self.item(each, around)?;
        }
        let one = self.action(step, around, found)?;
        around.guarded.truncate(guards);
        let may_fail = step.on_error == OnError::Continue;
        // Names that are there only sometimes, or many times, stay within.
        let within = match (&step.each, &step.when) {
            (Some(_), _) => Some("`each`"),
            (None, Some(_)) => Some("`when`"),
            (None, None) => may_fail.then_some("`on_error: continue`"),
        };
        if let Some(within) = within {
            around.leave(mark, within, step.place);
        }
        let one = if may_fail { one.or_nothing() } else { one };
        let all = match &step.each {
            Some(_) => Shape::List(Box::new(one)),
            None => one,
        };
        let all = if step.when.is_some() { all.or_nothing() } else { all };
        let nothing = match (&step.when, may_fail && step.each.is_none()) {
            (Some(_), _) => Some("its step may be skipped"),
            (None, true) => Some("its step may fail"),
            (None, false) => None,
        };
        if let Some(name) = &step.name {
            around.name(name, all.clone(), nothing, step.when.is_some())?;
        }
        Ok(all)
    }

    fn item(&self, each: &Each, around: &mut Around<'_>) -> Result<(), Wrong> {
        around.check(&each.list)?;
        let list = around.shape(&each.list);
        let kinds = list.kinds();
        if !kinds.has_any(Kinds::LIST) {
            let mistake = Mistake::NoList { found: kinds.describe() };
            return Err(Wrong::new(each.list.place(), Problem::Pipeline(mistake)));
        }
        if let Some((name, why)) = around.may_be_nothing(&each.list) {
            let (name, tool) = (name.to_owned(), "each".to_owned());
            let mistake = Mistake::MayBeNothing { name, why, tool, argument: "a list".to_owned() };
            return Err(Wrong::new(each.list.place(), Problem::Pipeline(mistake)));
        }
        around.name(&each.item, list.item(), None, false)
    }

    fn action(
        &mut self,
        step: &Step,
        around: &mut Around<'_>,
        found: &mut Found,
    ) -> Result<Shape, Wrong> {
        match &step.action {
            Action::Call { tool, with } => self.call(tool, with, around, found),
            Action::Do(steps) => self.steps(steps, around, found),
            Action::Parallel(steps) => {
                let (mut named, mut made) = (Vec::new(), Vec::new());
                for step in steps {
                    let mark = around.mark();
                    made.push(self.step(step, around, found)?);
                    named.extend(around.leave(mark, "`parallel`", step.place));
                }
                around.meet(named)?;
                let item = made.into_iter().reduce(Shape::or);
                Ok(Shape::List(Box::new(item.unwrap_or(Shape::ANY))))
            }
        }
    }

    fn call(
        &mut self,
        tool: &Placed<String>,
        with: &[(Placed<String>, Form)],
        around: &Around<'_>,
        found: &mut Found,
    ) -> Result<Shape, Wrong> {
        let wrong = |mistake| Wrong::new(tool.place, Problem::Pipeline(mistake));
        let Some(&index) = self.by_name.get(tool.value.as_str()) else {
            let known: Vec<_> = self.callables.iter().map(|tool| tool.name.to_owned()).collect();
            let near = nearest(&tool.value, known.iter().map(String::as_str)).map(str::to_owned);
            let name = tool.value.clone();
            return Err(wrong(Mistake::UnknownTool { name, nearest: near, known }));
        };
        if let Some(start) = self.path.iter().position(|&above| above == index) {
            let circle = self.path[start..].iter().chain([&index]);
            let names = circle.map(|&index| self.callables[index].name.to_owned()).collect();
            return Err(wrong(Mistake::Circle { names }));
        }
        let limit = Limits::default().call_depth;
        let too_deep = Mistake::PipelinesTooDeep { limit };
        if self.path.len() > limit {
            return Err(wrong(too_deep));
        }
        for (_, form) in with {
            around.check(form)?;
        }
        let callable = self.callables[index];
        let schema: Value = serde_json::from_str(callable.input).unwrap_or(Value::Bool(true));
        passed::check(tool, with, &schema, around)?;
        let linked = self.visit(index)?;
        found.called.push(linked.annotations);
        found.height = found.height.max(linked.height + 1);
        if found.height > limit {
            return Err(wrong(too_deep));
        }
        Ok(linked.output)
    }
}

/// What is said of a pipeline, and where nothing is said, what all its steps are.
fn together(said: Annotations, called: &[Annotations]) -> Annotations {
    // Good if all are good, bad if one is bad, unknown otherwise.
    let all = |hint: fn(&Annotations) -> Option<bool>, good: bool| {
        if called.iter().any(|known| hint(known) == Some(!good)) {
            return Some(!good);
        }
        called.iter().all(|known| hint(known) == Some(good)).then_some(good)
    };
    // Doing several things twice is not like doing them once: what one reads, another may change.
    let is_one_thing =
        called.len() == 1 || called.iter().all(|known| known.read_only == Some(true));
    Annotations {
        read_only: said.read_only.or_else(|| all(|known| known.read_only, true)),
        destructive: said.destructive.or_else(|| all(|known| known.destructive, false)),
        idempotent: said
            .idempotent
            .or_else(|| all(|known| known.idempotent, true).filter(|good| is_one_thing || !good)),
        open_world: said.open_world.or_else(|| all(|known| known.open_world, false)),
    }
}
