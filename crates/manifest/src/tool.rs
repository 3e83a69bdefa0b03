//! One tool, from as typed to as run: which keys go together, what they may be, and every template
//! compiled. Called by `meant` for each tool in turn; runs nothing.

use crate::around::{self, Around};
use crate::fault::Wrong;
use crate::fill::Surroundings;
use crate::input::{Input, check_schema};
use crate::kind::{self, Kind};
use crate::output;
use crate::place::{Place, Placed};
use crate::problem::Problem;
use crate::shown;
use crate::tags;
use crate::template::Compiler;
use crate::tree::Tree;
use crate::written::Scalar;
use crate::written::tool::{self as written, Parse};
use haft_proto::spec::Meta;
use haft_proto::spec::icon::Icon;
use haft_proto::spec::tool::{Annotations, is_valid_name};
use haft_server::schema::Prepared;

/// A tool, checked.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: Placed<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<Placed<String>>,
    pub(crate) annotations: Annotations,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) input: Input,
    pub(crate) output_schema: Option<Prepared>,
    pub(crate) around: Around,
    /// Arguments that it does not have are left out; `None` as the server says.
    pub(crate) leaves_out_extra: Option<bool>,
    pub(crate) kind: Kind,
}

/// What lines of output fit.
const LINES_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}}},"#,
    r#""required":["lines"],"additionalProperties":false}"#
);

/// Checks a tool. `tree` is the same tool in the file.
pub(crate) fn check(
    tool: written::Tool,
    tree: &Tree,
    defaults: &Around,
    surroundings: &Surroundings<'_>,
    compiler: &mut Compiler<'_>,
) -> Result<Tool, Wrong> {
    if !is_valid_name(&tool.name.value) {
        let problem = Problem::BadToolName { name: tool.name.value };
        return Err(Wrong::new(tool.name.place, problem));
    }
    check_keys(&tool, tree)?;
    let parse = parse_of(&tool);
    let filled = |text: &Placed<String>| {
        surroundings.fill(text).map(|filled| Placed::new(text.place, filled.value))
    };
    for key in ["input", "input_schema", "output_schema"] {
        tree.get(key).map_or(Ok(()), |schema| surroundings.refuse(key, schema))?;
    }
    let input = match (tree.get("input"), tree.get("input_schema")) {
        (Some(short), _) => Input::short(short)?,
        (None, Some(long)) => Input::long(long)?,
        (None, None) => Input::none(tool.name.place),
    };
    let input = if tool.foreign.has_aliases { input.with_aliases() } else { input };
    let output_schema = match tree.get("output_schema") {
        Some(schema) => Some(check_schema("output_schema", schema)?.1),
        None if parse == Parse::Lines => Some(Prepared::deferred(LINES_SCHEMA)),
        None => None,
    };
    let mut around = defaults.of_tool(&tool, surroundings)?;
    if tool.state.is_some() {
        // What was kept a moment ago must be seen now.
        around = around.without_inherited_cache(&tool);
    }
    let title = tool.title.as_ref().map(filled).transpose()?.map(|title| title.value);
    let description = tool.description.as_ref().map(filled).transpose()?;
    let (icons, meta) =
        (shown::icons(&tool.icons, surroundings)?, shown::meta(tree, surroundings)?);
    let written::Annotations { read_only, destructive, idempotent, open_world } = tool.annotations;
    let name = tool.name.clone();
    let repeats = around::repeats(&tool);
    let kind = Kind::check(tool, tree, &input, surroundings, compiler)?;
    let unsaid = kind.annotations();
    let annotations = Annotations {
        read_only: read_only.or(unsaid.read_only),
        destructive: destructive.or(unsaid.destructive),
        idempotent: idempotent.or(unsaid.idempotent),
        open_world: open_world.or(unsaid.open_world),
    };
    around::check_use(repeats, annotations)?;
    let output_schema = output_schema.or_else(|| kind.output_schema().map(Prepared::deferred));
    Ok(Tool {
        leaves_out_extra: None,
        name,
        title,
        description,
        annotations,
        icons,
        meta,
        input,
        output_schema,
        around,
        kind,
    })
}

/// Which keys exclude or need each other.
fn check_keys(tool: &written::Tool, tree: &Tree) -> Result<(), Wrong> {
    let place_of = |key: &str| tree.entry(key).map(|entry| entry.key_place);
    kind::check_keys(tool, tree)?;
    if let (Some(place), Some(_)) = (place_of("input_schema"), place_of("input")) {
        let problem = Problem::TwoOfOne { key: "input_schema", other: "input" };
        return Err(Wrong::new(place, problem));
    }
    match place_of("output_schema") {
        Some(place)
            if tool.pipeline.is_none() && !matches!(parse_of(tool), Parse::Auto | Parse::Json) =>
        {
            let (key, other) = ("output_schema", "output: json".to_owned());
            Err(Wrong::new(place, Problem::KeyBelongsTo { key, owners: "tools", other }))
        }
        _ => Ok(()),
    }
}

/// A text that is the same for all calls.
pub(crate) fn fixed_text(
    text: &Placed<String>,
    key: &'static str,
    reason: &'static str,
    surroundings: &Surroundings<'_>,
) -> Result<Placed<String>, Wrong> {
    if tags::has_any(&text.value) {
        return Err(Wrong::new(text.place, Problem::FixedText { key, reason }));
    }
    Ok(Placed::new(text.place, surroundings.fill(text)?.value))
}

fn parse_of(tool: &written::Tool) -> Parse {
    let default = if tool.http.is_some() { Parse::Auto } else { Parse::Text };
    output::parse_of(tool.output.as_ref().map(|output| &output.value), default)
}

pub(crate) fn out_of_range(key: &'static str, allowed: &str, place: Place) -> Wrong {
    Wrong::new(place, Problem::OutOfRange { key, allowed: allowed.to_owned() })
}

pub(crate) fn typed(scalar: &Placed<Scalar>) -> Placed<String> {
    Placed::new(scalar.place, scalar.value.0.clone())
}
