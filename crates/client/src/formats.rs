//! The four formats that a text of a form may have to be in (Elicitation, "Requested Schema").
//! Asked by `form`; a server looks more closely.

/// What a text must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `2026-07-28`
    Date,
    /// `2026-07-28T12:30:00Z`
    DateTime,
    /// `ada@example.com`
    Email,
    /// `https://example.com/`
    Uri,
}

impl Format {
    /// The format of that name; others are not known, and anything is in them.
    pub(crate) fn find(name: &str) -> Option<Self> {
        match name {
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            _ => None,
        }
    }

    /// What to write, in words.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Date => "a date like 2026-07-28",
            Self::DateTime => "a time like 2026-07-28T12:30:00Z",
            Self::Email => "an address like ada@example.com",
            Self::Uri => "an address like https://example.com/",
        }
    }

    /// Whether a text is in it.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Date => is_date(text),
            Self::DateTime => match text.split_once(['T', 't', ' ']) {
                Some((date, time)) => is_date(date) && is_time(time),
                None => false,
            },
            Self::Email => {
                let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
                let parts = text.rsplit_once('@');
                is_plain && parts.is_some_and(|(who, host)| !who.is_empty() && !host.is_empty())
            }
            Self::Uri => {
                let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
                let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
                let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
                is_plain
                    && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                    && scheme.bytes().all(is_scheme)
            }
        }
    }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-').map(digits);
    let (Some(Some((4, year))), Some(Some((2, month))), Some(Some((2, day))), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `12:30:00`, maybe with a fraction, and an offset (RFC 3339).
fn is_time(text: &str) -> bool {
    let (clock, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, None),
        None => match text.rfind(['+', '-']) {
            Some(sign) => (&text[..sign], Some(&text[sign + 1..])),
            None => return false,
        },
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    // A leap second is the sixty-first.
    is_clock(clock, &[23, 59, 60])
        && digits(fraction).is_some()
        && offset.is_none_or(|offset| is_clock(offset, &[23, 59]))
}

fn is_clock(text: &str, greatest: &[u32]) -> bool {
    let parts: Vec<_> = text.split(':').map(digits).collect();
    parts.len() == greatest.len()
        && parts
            .iter()
            .zip(greatest)
            .all(|(part, greatest)| matches!(part, Some((2, number)) if number <= greatest))
}

/// How many digits a text is, and the number that they are.
fn digits(text: &str) -> Option<(usize, u32)> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (1..=9).contains(&text.len());
    if is_number { Some((text.len(), text.parse().ok()?)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.fits(text), "{format:?} {text}");
        }
        for text in bad {
            assert!(!format.fits(text), "{format:?} {text}");
        }
    }

    #[test]
    fn each_format_takes_its_own() {
        check(
            Format::Date,
            &["2026-07-28", "2024-02-29", "2000-02-29"],
            &["", "2026-02-29", "1900-02-29", "26-07-28", "2026-13-01", "2026-07-28-", "2026-7-8"],
        );
        check(
            Format::DateTime,
            &["2026-07-28T12:30:00Z", "2026-07-28t12:30:00.25+02:00", "2016-12-31 23:59:60Z"],
            &["2026-07-28", "2026-07-28T12:30Z", "2026-07-28T12:30:00", "2026-07-28T24:00:00Z"],
        );
        check(Format::Email, &["ada@example.com", "a@b@c"], &["ada", "@x", "x@", "a da@x"]);
        check(Format::Uri, &["https://x/", "urn:a"], &["x", "//x", "1a:b", "https://ü/", ":x"]);
    }
}
