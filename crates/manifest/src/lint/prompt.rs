//! What is odd about a prompt.

use super::{NAME_LENGTH, Notes, feed};
use crate::prompt::{Prompt, Said};

/// Judges a prompt.
pub(super) fn judge(prompt: &Prompt, notes: &mut Notes) {
    let name = &prompt.name;
    if name.value.len() > NAME_LENGTH {
        let message = format!("some clients refuse names of more than {NAME_LENGTH} characters");
        notes.add(name.place, message);
    }
    notes.description(name.place, prompt.description.as_ref(), "nobody can tell what it is for");
    let said = |said: &Said| match said {
        Said::Text(template) => Some(template.clone()),
        Said::Feed(_) | Said::Image(..) | Said::Resource(_) => None,
    };
    let feeds = || {
        prompt.messages.iter().filter_map(|message| match &message.said {
            Said::Feed(feed) => Some(&**feed),
            Said::Image(..) | Said::Resource(_) | Said::Text(_) => None,
        })
    };
    let templates: Vec<_> =
        prompt.messages.iter().filter_map(|message| said(&message.said)).collect();
    for argument in &prompt.arguments {
        let name = &argument.spec.name;
        let is_read = templates.iter().any(|template| template.variables.contains(name));
        if !is_read && !feeds().any(|feed| feed.reads(name)) {
            notes.add(argument.place, format!("no message reads the argument `{name}`"));
        }
    }
    for template in &templates {
        notes.spelling(template);
    }
    let known: Vec<_> = prompt.arguments.iter().map(feed::argument).collect();
    for feed in feeds() {
        feed::judge(feed, &known, notes);
    }
    let completes = prompt.arguments.iter().filter_map(|argument| argument.complete.as_ref());
    for complete in completes {
        feed::judge_complete(complete, &known, notes);
    }
    for message in &prompt.messages {
        match &message.said {
            Said::Image(stored, _) if !stored.path.value.is_file() => {
                notes.add(stored.path.place, "this file does not exist");
            }
            Said::Feed(_) | Said::Image(..) | Said::Resource(_) | Said::Text(_) => {}
        }
    }
}
