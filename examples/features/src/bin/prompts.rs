//! Prompts: what a person picks from a menu, with arguments, suggestions and defaults.
//! `haft prompt --command target/debug/prompts release_notes commits='a1 Faster start'`

use haft::{Completing, Completion, Content, Message};

const AUDIENCES: [&str; 4] = ["customers", "colleagues", "developers", "the press"];

/// Writes release notes from a list of commits.
#[haft::prompt(title = "Release notes")]
fn release_notes(
    /// What `git log --oneline` printed.
    commits: String,
    /// Who reads them.
    #[haft(complete = audiences, default = "customers")]
    audience: String,
    /// The most points that there may be.
    points: Option<u8>,
) -> String {
    let most = points.map_or(String::new(), |points| format!(" in at most {points} points"));
    format!("Write release notes for {audience}{most}. What nobody notices is left out.\n{commits}")
}

async fn audiences(typing: Completing) -> Completion {
    typing.among(AUDIENCES)
}

/// Begins a review of a change that asks before it judges.
#[haft::prompt(title = "Review")]
fn review(
    /// What `git diff` printed.
    diff: String,
) -> Result<Vec<Message>, &'static str> {
    if diff.trim().is_empty() {
        return Err("there is nothing to review: `git diff` is empty");
    }
    Ok(vec![
        Message::user(Content::text(format!("Review this change:\n{diff}"))),
        Message::assistant(Content::text("Before I do: what should it achieve?")),
    ])
}

fn main() -> haft::Result<()> {
    haft::server("prompts", "1.0.0").prompt(release_notes::prompt()).prompt(review::prompt()).run()
}
