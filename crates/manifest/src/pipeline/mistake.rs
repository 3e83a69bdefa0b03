//! Everything that can be wrong with a pipeline: one variant for each mistake, its sentence, and
//! what to do about it. Wrapped and drawn by `problem`.

/// A mistake in a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the words of the sentences below")]
pub enum Mistake {
    /// A value that the called tool refuses.
    BadArgument { tool: String, reason: String },
    /// A name for a value.
    BadName { key: &'static str, name: String },
    /// Pipelines that call each other.
    Circle { names: Vec<String> },
    /// A required argument of the called tool that may not be there.
    MayBeNothing { name: String, why: &'static str, tool: String, argument: String },
    /// A required argument of the called tool.
    MissingArgument { tool: String, argument: String, known: Vec<String> },
    /// A value of another type than the called tool takes.
    Mismatch { tool: String, argument: String, wanted: String, found: String, help: &'static str },
    /// A name that is given already.
    NameTaken { name: String, line: usize },
    /// Something else than an expression.
    NoExpression { key: &'static str },
    /// Something else than a list.
    NoList { found: String },
    /// A part that a value does not have.
    NoPart { value: String, part: String, is: String, nearest: Option<String>, known: Vec<String> },
    /// A value that is made later.
    NotYet { name: String, line: usize },
    /// A value of steps that are not always, or not only once, done.
    OnlyWithin { name: String, within: &'static str, line: usize },
    /// Pipelines in pipelines in pipelines.
    PipelinesTooDeep { limit: usize },
    /// Steps in steps in steps.
    StepsTooDeep { limit: usize },
    /// An argument that the called tool does not take.
    UnknownArgument { tool: String, argument: String, nearest: Option<String>, known: Vec<String> },
    /// A tool that nobody has.
    UnknownTool { name: String, nearest: Option<String>, known: Vec<String> },
    /// A value that nobody makes.
    UnknownValue { name: String, nearest: Option<String>, known: Vec<String> },
}

impl Mistake {
    /// One line: what is wrong.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::BadArgument { tool, reason } => format!("`{tool}` cannot be called so: {reason}"),
            Self::BadName { key, name } => format!("`{key}`: {name:?} is no name for a value here"),
            Self::Circle { names } => match &**names {
                [name, _] => format!("`{name}` calls itself"),
                names => format!("pipelines call each other in a circle: {}", names.join(" → ")),
            },
            Self::MayBeNothing { name, why, tool, argument } => {
                format!("`{name}` may be nothing ({why}), and `{tool}` needs `{argument}`")
            }
            Self::MissingArgument { tool, argument, .. } => format!("`{tool}` needs `{argument}`"),
            Self::Mismatch { tool, argument, wanted, found, .. } => {
                format!("`{argument}` of `{tool}` must be {wanted}, and this is {found}")
            }
            Self::NameTaken { name, line } => {
                format!("line {line} gives the name `{name}` already")
            }
            Self::NoExpression { key } => format!("`{key}` must be {{{{ expression }}}}"),
            Self::NoList { found } => format!("`each` needs a list, and this is {found}"),
            Self::NoPart { value, part, is, .. } => {
                format!("`{value}` has no part `{part}`: it is {is}")
            }
            Self::NotYet { name, line } => {
                format!("`{name}` is not there yet: line {line} makes it")
            }
            Self::OnlyWithin { name, within, line } => {
                format!("`{name}` is there only within the {within} of line {line}")
            }
            Self::PipelinesTooDeep { limit } => {
                format!("pipelines call pipelines more than {limit} deep")
            }
            Self::StepsTooDeep { limit } => format!("steps nest deeper than {limit}"),
            Self::UnknownArgument { tool, argument, .. } => {
                format!("`{tool}` takes no argument `{argument}`")
            }
            Self::UnknownTool { name, .. } => format!("there is no tool `{name}`"),
            Self::UnknownValue { name, .. } => format!("there is no value `{name}`"),
        }
    }

    /// One line: what to do, where that is not plain from the message.
    pub(crate) fn help(&self) -> Option<String> {
        let fixed = match self {
            Self::BadName { .. } => {
                "use letters, digits and `_`; `errors` and the words of templates are taken"
            }
            Self::Circle { .. } => "let one of them call something else",
            Self::MayBeNothing { name, .. } => {
                let otherwise = format!("{{{{ {name} | default(…) }}}}");
                return Some(format!("say what else: {otherwise}; or when: {{{{ {name} }}}}"));
            }
            Self::Mismatch { help, .. } if !help.is_empty() => help,
            Self::NameTaken { .. } => "choose another name",
            Self::NoExpression { key: "each" } => {
                "write it like \"{{ weather.days }}\", or name the items: [a, b]"
            }
            Self::NoExpression { .. } => "write it like \"{{ count > 3 }}\"",
            Self::NotYet { .. } => "move that step before this one",
            Self::OnlyWithin { within: "`parallel`", .. } => {
                "steps that run at the same time do not see each other; move one of them out"
            }
            Self::OnlyWithin { .. } => "give that step a name by `as`, and use what it makes",
            Self::PipelinesTooDeep { .. } | Self::StepsTooDeep { .. } => {
                "make a tool of some of the steps"
            }
            Self::MissingArgument { known, .. } => {
                return Some(format!("name it in `with`; it takes {}", known.join(", ")));
            }
            Self::NoPart { nearest, known, .. } if !known.is_empty() => {
                return Some(suggest(nearest.as_deref(), known, "parts"));
            }
            Self::UnknownArgument { nearest, known, .. } => {
                return Some(suggest(nearest.as_deref(), known, "arguments"));
            }
            Self::UnknownTool { nearest, known, .. } => {
                return Some(suggest(nearest.as_deref(), known, "tools"));
            }
            Self::UnknownValue { nearest, known, .. } => {
                return Some(suggest(nearest.as_deref(), known, "values"));
            }
            _ => return None,
        };
        Some(fixed.to_owned())
    }
}

/// The most names that are listed.
const NAMES_SHOWN: usize = 12;

fn suggest(nearest: Option<&str>, known: &[String], noun: &str) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!("did you mean `{nearest}`?"),
        (None, []) => format!("there are no {noun} here"),
        (None, known) if known.len() > NAMES_SHOWN => {
            format!("known {noun} are {}, …", known[..NAMES_SHOWN].join(", "))
        }
        (None, known) => format!("known {noun} are {}", known.join(", ")),
    }
}
