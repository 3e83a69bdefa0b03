//! Times as people read them, the same in lines, pages and verdicts.

/// A time of so many nanoseconds, in three digits or four: `12.3 µs`.
///
/// ```
/// assert_eq!(haft_bench::shown_time(12_345.0), "12.3 µs");
/// ```
#[must_use]
pub fn shown_time(nanos: f64) -> String {
    match nanos {
        _ if nanos >= 1e9 => format!("{:.2} s", nanos / 1e9),
        _ if nanos >= 1e7 => format!("{:.1} ms", nanos / 1e6),
        _ if nanos >= 1e6 => format!("{:.2} ms", nanos / 1e6),
        _ if nanos >= 1e4 => format!("{:.1} µs", nanos / 1e3),
        _ if nanos >= 1e3 => format!("{:.2} µs", nanos / 1e3),
        _ => format!("{nanos:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::shown_time;

    #[test]
    fn a_time_is_read_at_a_glance() {
        assert_eq!(shown_time(850.0), "850 ns");
        assert_eq!(shown_time(1_234.0), "1.23 µs");
        assert_eq!(shown_time(12_345.0), "12.3 µs");
        assert_eq!(shown_time(1_500_000.0), "1.50 ms");
        assert_eq!(shown_time(2_500_000_000.0), "2.50 s");
    }
}
