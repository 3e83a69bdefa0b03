//! What source files say of constants: each with the lines of documentation above it, and its value
//! as people read it. Used for the pages on limits and exit codes.

use std::time::Duration;

/// A line of code with its documentation.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) doc: String,
    pub(super) line: String,
}

/// The documented lines of a source, and those right after one of them, of which it speaks too.
pub(super) fn items(source: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut doc = String::new();
    let mut is_open = false;
    for line in source.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            if !is_open {
                doc.clear();
            }
            is_open = true;
            doc.push_str(words);
        } else if line.is_empty() || line.starts_with('}') {
            doc.clear();
            is_open = false;
        } else if !doc.is_empty() && !line.starts_with('#') {
            items.push(Item { doc: doc.trim().to_owned(), line: line.to_owned() });
            is_open = false;
        }
    }
    items
}

/// What an expression is worth: numbers, products and shifts of them, and times made of them.
pub(super) fn shown(name: &str, expression: &str) -> String {
    let expression = expression.trim();
    for (call, unit_ms) in [("Duration::from_secs(", 1000), ("Duration::from_millis(", 1)] {
        if let Some(inner) = expression.strip_prefix(call) {
            let number = product(inner.trim_end_matches(')'));
            return time(Duration::from_millis(number * unit_ms));
        }
    }
    // How many times as much.
    if expression.contains('.') && expression.parse::<f64>().is_ok() {
        return expression.to_owned();
    }
    let number = product(expression);
    match name.to_lowercase().contains("bytes") || name.ends_with("_SIZE_MAX") {
        true => bytes(number),
        false => grouped(number),
    }
}

fn product(expression: &str) -> u64 {
    let factor = |text: &str| {
        let digits = text.trim().replace('_', "");
        digits.parse::<u64>().unwrap_or_else(|_| panic!("`{expression}` is no product of numbers"))
    };
    match expression.split_once("<<") {
        Some((number, shift)) => factor(number) << factor(shift),
        None => expression.split('*').map(factor).product(),
    }
}

fn bytes(number: u64) -> String {
    for (unit, name) in [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if number >= unit && number.is_multiple_of(unit) {
            return format!("{} {name}", number / unit);
        }
    }
    format!("{} bytes", grouped(number))
}

fn time(time: Duration) -> String {
    let ms = time.as_millis();
    for (unit, name) in [(86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s")] {
        if ms > unit && ms.is_multiple_of(unit) || ms == unit && unit < 86_400_000 {
            return format!("{} {name}", ms / unit);
        }
    }
    format!("{ms} ms")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn values_are_shown_as_people_read_them() {
    assert_eq!(shown("A_BYTES_MAX", "8 * 1024 * 1024"), "8 MiB");
    assert_eq!(shown("A_BYTES_MAX", "10_000_000"), "10,000,000 bytes");
    assert_eq!(shown("DEPTH_MAX", "128"), "128");
    assert_eq!(shown("TOLERANCE", "1.5"), "1.5");
    assert_eq!(shown("GRACE", "Duration::from_millis(250)"), "250 ms");
    assert_eq!(shown("IDLE", "Duration::from_secs(30 * 60)"), "30 min");
    assert_eq!(shown("TTL", "Duration::from_secs(24 * 60 * 60)"), "24 h");
}
