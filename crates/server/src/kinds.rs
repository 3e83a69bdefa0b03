//! Which kinds of things a server has, by which it says what it offers. Asked by `registry` and
//! `dispatch`.

use crate::part::Part;
use crate::prompt::Prompt;
use crate::resource::{RegisteredTemplate, Resource};
use crate::tasks::TaskUse;
use crate::tool::Registered;

/// Which kinds of things there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinds {
    pub(crate) completions: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) tasks: bool,
    /// Whether any resource is a user interface, or may become one.
    pub(crate) ui: bool,
}

impl Kinds {
    pub(crate) fn of<'t>(
        mut tools: impl Iterator<Item = &'t Registered>,
        resources: &Part<Resource>,
        templates: &Part<RegisteredTemplate>,
        prompts: &Part<Prompt>,
    ) -> Self {
        let of_prompts = prompts.iter().any(|prompt| !prompt.completers.is_empty());
        let of_templates = templates.iter().any(|family| !family.built.completers.is_empty());
        Self {
            completions: of_prompts || of_templates,
            prompts: !prompts.is_empty(),
            resources: !resources.is_empty() || !templates.is_empty(),
            tasks: tools.any(|tool| tool.task_use != TaskUse::Never),
            ui: resources.iter().any(|resource| resource.uri().starts_with("ui://"))
                || templates.iter().any(|family| family.built.uri_template().starts_with("ui://")),
        }
    }
}
