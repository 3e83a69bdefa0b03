//! Distances. `main` names each of these tools by its path.

const KILOMETRES: f64 = 1.609_344;

/// How many kilometres so many miles are.
#[haft::tool(read_only, idempotent)]
pub(crate) fn miles_to_kilometres(miles: f64) -> f64 {
    miles * KILOMETRES
}

/// How many miles so many kilometres are.
#[haft::tool(read_only, idempotent)]
pub(crate) fn kilometres_to_miles(kilometres: f64) -> f64 {
    kilometres / KILOMETRES
}
