//! What is allowed in a manifest and yet probably not meant, or not safe. Called by `haft check`
//! through `Manifest::warnings`; changes nothing.

mod feed;
mod http;
mod pipeline;
mod program;
mod prompt;
mod resource;
pub(crate) mod upstream;

use crate::command::{Command, Program};
use crate::cost::Part;
use crate::fault::line_and_column;
use crate::http::Http;
use crate::input::{Argument, Input};
use crate::kind::Kind;
use crate::meant::Meant;
use crate::place::{Place, Placed};
use crate::template::Template;
use crate::tool::Tool;
use haft_proto::spec::tool::Annotations;
use haft_server::schema::Schema;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// A warning, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1 and in characters.
    pub column: usize,
    /// What it is about.
    pub part: Part,
    /// Its name; of a resource, its address.
    pub name: String,
    /// One line: what is odd and what to do.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.name, self.message)
    }
}

/// The most bytes of a description that nobody complains of.
const DESCRIPTION_BYTES: usize = 1024;
/// The longest name that all clients accept.
const NAME_LENGTH: usize = 64;

/// All warnings, in the order of the parts.
pub(crate) fn warnings(meant: &Meant, path: &Path, text: &str) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut keep = |part: Part, name: &str, mut notes: Notes| {
        notes.0.sort_by_key(|(place, _)| place.start);
        found.extend(notes.0.into_iter().map(|(place, message)| {
            let (line, column) = line_and_column(text, place);
            Warning { line, column, part, name: name.to_owned(), message }
        }));
    };
    for note in &meant.forge {
        keep(note.part, &note.name, Notes(vec![(note.place, note.message.clone())]));
    }
    for tool in &meant.tools {
        let mut notes = Notes(Vec::new());
        judge(tool, &mut notes);
        if let Kind::Pipeline(pipeline) = &tool.kind
            && pipeline.report.is_none()
        {
            pipeline::judge(tool, pipeline, &meant.tools, &mut notes);
        }
        keep(Part::Tool, &tool.name.value, notes);
    }
    for note in &meant.notes {
        keep(Part::Tool, &note.name, Notes(vec![(note.place, note.message.clone())]));
    }
    for (one, places) in meant.upstreams.iter().zip(&meant.places) {
        let mut notes = Notes(Vec::new());
        upstream::judge(one, places, &mut notes);
        keep(Part::Upstream, &one.name, notes);
    }
    for (index, one) in meant.resources.iter().enumerate() {
        let mut notes = Notes(Vec::new());
        resource::judge(one, &meant.resources[..index], (path, text), &mut notes);
        keep(Part::Resource, &one.uri.value, notes);
    }
    for one in &meant.prompts {
        let mut notes = Notes(Vec::new());
        prompt::judge(one, &mut notes);
        if one.is_page {
            // What is told stands in the manifest: there, at the directory.
            notes.0.iter_mut().for_each(|(place, _)| *place = one.name.place);
        }
        keep(Part::Prompt, &one.name.value, notes);
    }
    found
}

struct Notes(Vec<(Place, String)>);

impl Notes {
    fn add(&mut self, place: Place, message: impl Into<String>) {
        self.0.push((place, message.into()));
    }

    /// What models and people are told of it; `missing` is what they cannot tell without it.
    fn description(&mut self, of: Place, text: Option<&Placed<String>>, missing: &str) {
        match text {
            None => self.add(of, format!("{missing}; add a `description`")),
            Some(text) if text.value.len() > DESCRIPTION_BYTES => self.add(
                text.place,
                format!("every client pays for a description of {} bytes", text.value.len()),
            ),
            Some(_) => {}
        }
    }

    /// `${NAME}` in a template.
    fn spelling(&mut self, template: &Template) {
        if let Some(name) = shell_variable(&template.typed.value) {
            self.add(
                template.typed.place,
                format!("`${{{name}}}` stays as it is; write `${{env:{name}}}` for the variable"),
            );
        }
    }
}

fn judge(tool: &Tool, notes: &mut Notes) {
    let name = &tool.name;
    if name.value.len() > NAME_LENGTH {
        notes.add(
            name.place,
            format!("some clients refuse names of more than {NAME_LENGTH} characters"),
        );
    }
    notes.description(name.place, tool.description.as_ref(), "a model cannot tell what it does");
    if tool.input.arguments.iter().any(|argument| refers(&argument.schema)) {
        notes.add(tool.input.place, "some clients do not follow `$ref`; write the schema out");
    }
    let arguments = &as_read(&tool.input);
    match &tool.kind {
        Kind::Command(command) => {
            judge_use(arguments, &command.templates().collect::<Vec<_>>(), notes);
            judge_command(arguments, command, notes);
        }
        Kind::State(operation) => judge_use(arguments, &operation.templates(), notes),
        Kind::Http(http) => {
            http::judge_use(arguments, http, notes);
            judge_http(tool.annotations, http, notes);
        }
        // What its steps make is told, whoever reads it.
        Kind::Pipeline(pipeline) if pipeline.report.is_some() => {}
        Kind::Pipeline(pipeline) => judge_use(arguments, &pipeline.templates(), notes),
        Kind::Text(text) => judge_use(arguments, &[text], notes),
    }
    for (name, alias) in tool.input.aliases() {
        notes.0.iter_mut().for_each(|(_, message)| *message = message.replace(alias, name));
    }
}

/// The arguments, as templates call them.
fn as_read(input: &Input) -> Cow<'_, [Argument]> {
    if input.aliases().next().is_none() {
        return Cow::Borrowed(&input.arguments);
    }
    let pairs = input.arguments.iter().zip(&input.names);
    pairs.map(|(argument, name)| Argument { name: name.clone(), ..argument.clone() }).collect()
}

fn judge_command(known: &[Argument], command: &Command, notes: &mut Notes) {
    judge_program(command, notes);
    let shell = shell_code(&command.program, &command.arguments);
    if let Some(code) = shell.filter(|code| !code.variables.is_empty()) {
        notes.add(
            code.typed.place,
            format!(
                "a shell would run whatever a caller writes in `{0}`; hand it over as an argument \
                 of its own: [sh, -c, 'program \"$1\"', sh, \"{{{{ {0} }}}}\"]",
                code.variables[0]
            ),
        );
    }
    for (index, argument) in command.arguments.iter().enumerate() {
        judge_argument(known, &command.arguments[..index], argument, notes);
    }
}

fn judge_http(annotations: Annotations, http: &Http, notes: &mut Notes) {
    http::judge(annotations, http, notes);
    for template in http.templates() {
        notes.spelling(template);
    }
}

/// An argument that nobody reads misleads whoever sends it.
fn judge_use(known: &[Argument], templates: &[&Template], notes: &mut Notes) {
    for argument in known {
        let reads = |template: &&Template| template.variables.contains(&argument.name);
        if !templates.iter().any(reads) {
            notes.add(argument.place, format!("nothing reads the argument `{}`", argument.name));
        }
    }
    for template in templates {
        notes.spelling(template);
    }
}

fn judge_program(command: &Command, notes: &mut Notes) {
    let Program { path, shown, place } = &command.program;
    let own_path = command.env.iter().find(|(name, _)| name == "PATH");
    let own_path = own_path.map(|(_, value)| value.fixed().unwrap_or_default().to_owned());
    if let Some(why) = program::fault(path, shown, own_path) {
        notes.add(*place, why);
    }
    if !command.cwd.value.is_dir() {
        notes.add(command.cwd.place, "this directory does not exist");
    }
}

fn judge_argument(known: &[Argument], before: &[Template], argument: &Template, notes: &mut Notes) {
    if argument.typed.place == Place::default() {
        // It is not in the file.
        return;
    }
    let previous = before.last().and_then(Template::fixed).unwrap_or_default();
    // `--format=%s` has its value already.
    let follows_option = previous.len() > 1
        && previous.starts_with('-')
        && previous != "--"
        && !previous.contains('=');
    let known = |name: &str| known.iter().find(|known| known.name == name);
    let may_be_absent = |name: &&String| {
        known(name).is_some_and(|known| !known.is_required && !known.has_default())
    };
    let is_left_out = argument.variables.iter().all(|name| may_be_absent(&name));
    // An element that begins with `-` is an option of its own, and no value of the one before.
    let is_its_value = follows_option && !is_option(&argument.typed.value);
    if let Some(name) = argument.variables.first().filter(|_| is_its_value && is_left_out) {
        let joint = if previous.starts_with("--") { "=" } else { "" };
        notes.add(
            argument.typed.place,
            format!(
                "`{previous}` stays behind when `{name}` is absent; write both as one argument: \
                 \"{previous}{joint}{{{{ {name} }}}}\""
            ),
        );
    }
    let is_guarded = before.iter().any(|before| before.fixed() == Some("--"));
    if is_guarded || follows_option {
        return;
    }
    if let Some(name) = argument.leading().filter(|name| known(name).is_none_or(may_be_option)) {
        let mut message = format!(
            "a value of `{name}` that begins with `-` would be an option; put `--` before it"
        );
        if known(name).is_none_or(|known| !known.schema.is_null()) {
            message.push_str(&format!(", or give `{name}` a `pattern`"));
        }
        notes.add(argument.typed.place, message);
    }
}

/// Whether the first letters that are typed, behind statements like `{% if all %}`, are an option.
fn is_option(typed: &str) -> bool {
    let mut rest = typed;
    while let Some((_, after)) = rest.strip_prefix("{%").and_then(|tag| tag.split_once("%}")) {
        rest = after;
    }
    rest.starts_with('-')
}

/// Whether a value that looks like an option fits the argument.
fn may_be_option(argument: &Argument) -> bool {
    const OPTIONS: [&str; 6] =
        [r#""-""#, r#""-f""#, r#""--help""#, r#"["-f"]"#, r#"["--help"]"#, "-1"];
    let Ok(schema) = Schema::compile(&argument.schema.to_string()) else { return true };
    OPTIONS.iter().any(|option| schema.check(option).is_ok())
}

/// The element that a shell or another interpreter takes for code.
fn shell_code<'a>(program: &Program, arguments: &'a [Template]) -> Option<&'a Template> {
    const INTERPRETERS: [(&str, &str); 14] = [
        ("ash", "-c"),
        ("bash", "-c"),
        ("dash", "-c"),
        ("fish", "-c"),
        ("ksh", "-c"),
        ("node", "-e"),
        ("perl", "-e"),
        ("php", "-r"),
        ("python", "-c"),
        ("python3", "-c"),
        ("ruby", "-e"),
        ("sh", "-c"),
        ("zsh", "-c"),
        ("pwsh", "-Command"),
    ];
    let name = program.path.file_name()?.to_str()?;
    let (_, option) = INTERPRETERS.iter().find(|(known, _)| *known == name)?;
    // `sh -ec CODE` is `sh -e -c CODE`.
    let letter = option.trim_start_matches('-');
    let is_option = |argument: &Template| {
        argument.fixed().is_some_and(|text| {
            let letters = text.strip_prefix('-').unwrap_or_default();
            text == *option || (letter.len() == 1 && letters.ends_with(letter))
        })
    };
    let at = arguments.iter().position(is_option)?;
    arguments.get(at + 1)
}

/// `${NAME}`, as other tools spell a variable of the environment.
fn shell_variable(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let inner = &rest[at + 2..];
        let end = inner.find('}')?;
        let name = &inner[..end];
        let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let is_name = !name.is_empty() && name.bytes().all(|byte| is_capital(byte) || byte == b'_');
        if is_name && !rest[..at].ends_with('$') {
            return Some(name);
        }
        rest = &inner[end..];
    }
    None
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| key == "$ref" || refers(value)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
