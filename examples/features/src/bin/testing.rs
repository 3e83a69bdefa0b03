//! Tests without a process: a client in the same one, and a file that keeps what clients see of the
//! tools. `cargo test -p haft-examples --bin testing`

/// The day of the week of a date of our calendar.
#[haft::tool(read_only, idempotent)]
fn weekday(
    year: i32,
    #[haft(range(1..=12))] month: i32,
    #[haft(range(1..=31))] day: i32,
) -> &'static str {
    const NAMES: [&str; 7] =
        ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    const MONTHS: [i32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    // January and February belong to the year before, where the leap day is the last.
    let year = if month < 3 { year.saturating_sub(1) } else { year };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = year.rem_euclid(7) + leaps.rem_euclid(7) + MONTHS[(month - 1) as usize] + day;
    NAMES[days.rem_euclid(7) as usize]
}

fn server() -> haft::ServerBuilder {
    haft::server("testing", "1.0.0").tool(weekday::tool())
}

fn main() -> haft::Result<()> {
    server().run()
}

#[cfg(test)]
mod tests {
    use super::server;
    use haft::testing::{assert_tools, client};
    use serde_json::json;

    #[tokio::test]
    async fn known_days_are_right_in_both_eras() {
        let modern = client(server());
        for client in [modern.legacy(), modern] {
            let moon = json!({"year": 1969, "month": 7, "day": 20});
            assert_eq!(client.call("weekday", moon).await.text(), "Sunday");
            let leap = json!({"year": 2000, "month": 2, "day": 29});
            assert_eq!(client.call("weekday", leap).await.text(), "Tuesday");
        }
    }

    #[tokio::test]
    async fn a_month_too_many_is_refused_before_the_function_runs() {
        let date = json!({"year": 1, "month": 13, "day": 1});
        let answer = client(server()).call("weekday", date).await;
        assert!(answer.failure().contains("`month` must be at most 12"));
    }

    /// `UPDATE_GOLDEN=1 cargo test` writes the file.
    #[tokio::test]
    async fn the_tools_are_as_they_were() {
        assert_tools!(server(), "tests/tools.json");
    }
}
