//! Two texts, line by line: what was taken out, what was put in, and a little around it. Used where
//! a golden file differs; bounded, as somebody has to read it.

/// How many lines are shown around a change.
const AROUND: usize = 3;
/// How many lines of each side are compared one with another; what differs beyond is told whole.
const COMPARED_MAX: usize = 2000;
/// How many lines are shown at most.
const SHOWN_MAX: usize = 200;

/// The changes that make `new` of `old`.
pub(super) fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&old, &new);
    let is_near = |index: usize| {
        let from = index.saturating_sub(AROUND);
        let near = changes.get(from..(index + AROUND + 1).min(changes.len())).unwrap_or_default();
        near.iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut shown = 0;
    let mut is_gap = false;
    for (index, (mark, line)) in changes.iter().enumerate() {
        if !is_near(index) {
            is_gap = true;
            continue;
        }
        if shown == SHOWN_MAX {
            out.push_str("  and more\n");
            break;
        }
        if std::mem::take(&mut is_gap) && shown > 0 {
            out.push_str("  …\n");
        }
        out.push_str(&format!("{mark} {line}\n"));
        shown += 1;
    }
    if changes.iter().all(|(mark, _)| *mark == ' ') {
        out.push_str("  only the line breaks\n");
    }
    out
}

/// Every line with ` `, `-` or `+`, by their longest common subsequence.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_core, old_end) = old_rest.split_at(old_rest.len() - after);
    let (new_core, _) = new_rest.split_at(new_rest.len() - after);
    let unchanged = |lines: &[&'a str]| lines.iter().map(|line| (' ', *line)).collect::<Vec<_>>();
    let mut all = unchanged(&old[..before]);
    if old_core.len().max(new_core.len()) > COMPARED_MAX {
        all.extend(old_core.iter().map(|line| ('-', *line)));
        all.extend(new_core.iter().map(|line| ('+', *line)));
    } else {
        compare(old_core, new_core, &mut all);
    }
    all.extend(unchanged(old_end));
    all
}

fn compare<'a>(old: &[&'a str], new: &[&'a str], all: &mut Vec<(char, &'a str)>) {
    // By row, then column: how many lines are common from there to the end.
    let width = new.len() + 1;
    let mut common = vec![0_u16; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            let at = row * width + column;
            common[at] = if old[row] == new[column] {
                common[at + width + 1] + 1
            } else {
                common[at + width].max(common[at + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        let at = row * width + column;
        if row < old.len() && column < new.len() && old[row] == new[column] {
            all.push((' ', old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == new.len() || row < old.len() && common[at + width] >= common[at + 1] {
            all.push(('-', old[row]));
            row += 1;
        } else {
            all.push(('+', new[column]));
            column += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_MAX, lines};

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[&str]) {
        assert_eq!(lines(old, new).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_change_is_shown_with_a_little_around_it() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            &["  2", "  3", "  4", "- 5", "+ five", "  6", "  7", "  8"],
        );
        check("a\n", "", &["- a"]);
        check("", "a\n", &["+ a"]);
        check("a", "a\n", &["  only the line breaks"]);
    }

    #[test]
    fn changes_far_apart_are_told_apart() {
        let old = "a\n1\n2\n3\n4\n5\n6\n7\n8\nb";
        let new = "A\n1\n2\n3\n4\n5\n6\n7\n8\nB";
        check(
            old,
            new,
            &["- a", "+ A", "  1", "  2", "  3", "  …", "  6", "  7", "  8", "- b", "+ B"],
        );
    }

    #[test]
    fn lines_that_stay_are_found_between_those_that_do_not() {
        check("a\nb\nc\nd", "b\nx\nd\ne", &["- a", "  b", "- c", "+ x", "  d", "+ e"]);
    }

    #[test]
    fn a_large_difference_is_told_in_part() {
        let many = |mark: &str| (0..5000).map(|line| format!("{mark}{line}\n")).collect::<String>();
        let told = lines(&many("a"), &many("b"));
        assert_eq!(told.lines().count(), SHOWN_MAX + 1);
        assert!(told.ends_with("  and more\n"));
    }
}
