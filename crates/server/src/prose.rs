//! What a doc comment says to a model. Used for descriptions of tools, arguments and types; knows
//! no Rust.

/// The text of a doc comment up to its first heading, which begins what is meant for programmers.
/// The lines of a paragraph become one; lists, tables and code keep theirs.
///
/// ```
/// let comment = " Adds two\n numbers.\n\n - no overflow\n - no floats\n\n # Panics\n Never.";
/// let told = haft_server::prose::described(comment);
/// assert_eq!(told, "Adds two numbers.\n\n- no overflow\n- no floats");
/// ```
#[must_use]
pub fn described(comment: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in unindented(comment) {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && is_heading(line) {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    joined(&kept)
}

/// The text with the lines of each paragraph on one line.
pub(crate) fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    let mut follows_text = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let is_text = !is_code && !is_fence && is_paragraph(line);
        if !out.is_empty() {
            out.push(if follows_text && is_text { ' ' } else { '\n' });
        }
        out.push_str(if is_text { line.trim() } else { line.trim_end() });
        is_code ^= is_fence;
        // A line goes on after an item of a list, too.
        follows_text = !is_code && !is_fence && !line.trim().is_empty() && !is_row(line);
    }
    out.trim().to_owned()
}

/// The lines without the space that stands behind `///`.
fn unindented(comment: &str) -> impl Iterator<Item = &str> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let written = comment.lines().filter(|line| !line.trim().is_empty());
    let least = written.map(indent).min().unwrap_or_default();
    comment.lines().map(move |line| line.get(least..).unwrap_or_default())
}

fn is_heading(line: &str) -> bool {
    let marks = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&marks) && line.get(marks..).is_some_and(|rest| rest.starts_with(' '))
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// Whether a line may be joined to the one before it.
fn is_paragraph(line: &str) -> bool {
    let text = line.trim_start();
    let is_bullet = ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark));
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = digits.len() < text.len() && digits.starts_with(". ");
    !text.is_empty() && !is_bullet && !is_number && !is_row(line) && !text.starts_with('>')
}

#[cfg(test)]
mod tests {
    use super::{described, joined};

    #[track_caller]
    fn check(comment: &str, expected: &str) {
        assert_eq!(described(comment), expected);
    }

    #[test]
    fn the_lines_of_a_paragraph_become_one() {
        check(" Counts the\n words of\n a text.", "Counts the words of a text.");
        check(" One.\n\n Two,\n three.", "One.\n\nTwo, three.");
        check("", "");
    }

    #[test]
    fn what_begins_with_a_heading_is_for_programmers() {
        check(" Adds.\n\n # Errors\n None.", "Adds.");
        check(" # Errors\n None.", "");
        check(" #hashtags stay", "#hashtags stay");
    }

    #[test]
    fn lists_tables_and_code_keep_their_lines() {
        check(" Takes:\n - a\n   and more\n - b\n 1. c", "Takes:\n- a and more\n- b\n1. c");
        check(
            " ```\n # not a heading\n   x\n ```\n after\n it",
            "```\n# not a heading\n  x\n```\nafter it",
        );
        check(" | a | b |\n | - | - |\n text", "| a | b |\n| - | - |\ntext");
    }

    #[test]
    fn text_without_the_space_of_a_comment_is_joined_all_the_same() {
        assert_eq!(joined("one\ntwo"), "one two");
    }
}
