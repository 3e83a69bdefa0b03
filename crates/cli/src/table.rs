//! Rows of cells become lines that fit a terminal. Drawn by `print`; it knows widths and styles,
//! not what the cells mean.

use crate::print::{STRONG, one_line};
use anstyle::Style;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A table with headings.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// What stands in a row, and how it looks if not as its column does.
type Cell = (String, Option<Style>);

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// What stands above it.
    pub(crate) heading: &'static str,
    /// How its cells look.
    pub(crate) style: Style,
    /// The most of the width that it may take, in per cent; the last column takes what is left.
    pub(crate) share_max: usize,
}

const GAP: usize = 2;
/// No column becomes narrower than this, however narrow the terminal is.
const WIDTH_MIN: usize = 8;

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column; a cell is one line, whatever it holds.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        self.styled_row(cells.into_iter().map(|cell| (cell, None)));
    }

    /// The same, with cells that may have a style of their own.
    pub(crate) fn styled_row(
        &mut self,
        cells: impl IntoIterator<Item = (impl AsRef<str>, Option<Style>)>,
    ) {
        let cell = |(cell, style): (_, _)| (one_line(AsRef::<str>::as_ref(&cell)), style);
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, with styles. Without a width nothing is cut.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        let headings = self.columns.iter().map(|column| column.heading);
        render_row(&mut out, headings.map(|heading| (heading, STRONG)), &widths);
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns);
            let cells = cells.map(|((cell, own), column)| (&**cell, own.unwrap_or(column.style)));
            render_row(&mut out, cells, &widths);
        }
        out
    }

    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let natural = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|(cell, _)| cell.width()).max().unwrap_or(0).max(column.heading.len())
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(natural).collect();
        let Some(total) = width else { return widths };
        let mut left = total.saturating_sub(GAP * self.columns.len().saturating_sub(1));
        let last = self.columns.len().saturating_sub(1);
        for (index, column) in self.columns.iter().enumerate() {
            let share = if index == last { left } else { total * column.share_max / 100 };
            widths[index] = widths[index].min(share.max(WIDTH_MIN));
            left = left.saturating_sub(widths[index]);
        }
        widths
    }
}

fn render_row<'a>(
    out: &mut String,
    cells: impl Iterator<Item = (&'a str, Style)>,
    widths: &[usize],
) {
    let mut pending_spaces = 0;
    for ((cell, style), &width) in cells.zip(widths) {
        let cell = cut(cell, width);
        if !cell.is_empty() {
            out.extend(std::iter::repeat_n(' ', pending_spaces));
            pending_spaces = 0;
            // Writing to a string cannot fail.
            _ = write!(out, "{style}{cell}{style:#}");
        }
        pending_spaces += width.saturating_sub(cell.width()) + GAP;
    }
    out.push('\n');
}

/// As much of a line as fits, with an ellipsis if that is not all.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= width
    };
    let head: String = text.chars().take_while(fits).collect();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let style = Style::new();
        let mut table = Table::new([
            Column { heading: "NAME", style, share_max: 40 },
            Column { heading: "WHAT", style, share_max: 100 },
        ]);
        table.row(["word_count", "Counts the words\nof a text."]);
        table.row(["日本語", ""]);
        table
    }

    fn plain(width: Option<usize>) -> Vec<String> {
        let text = anstream::adapter::strip_str(&table().render(width)).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn nothing_is_cut_where_there_is_no_width() {
        let expected = ["NAME        WHAT", "word_count  Counts the words of a text.", "日本語"];
        assert_eq!(plain(None), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [20, 25, 30, 80] {
            for line in plain(Some(width)) {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
        }
        assert_eq!(plain(Some(30))[1], "word_count  Counts the words…");
    }

    #[test]
    fn a_wide_character_is_cut_whole() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }
}
