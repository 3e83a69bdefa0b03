//! Weights. This module says itself which tools it has; `main` takes them all.

const GRAMS: f64 = 28.349_523_125;

/// How many grams so many ounces are.
#[haft::tool(read_only, idempotent)]
fn ounces_to_grams(ounces: f64) -> f64 {
    ounces * GRAMS
}

/// How many ounces so many grams are.
#[haft::tool(read_only, idempotent)]
fn grams_to_ounces(grams: f64) -> f64 {
    grams / GRAMS
}

/// All of them.
pub(crate) fn tools() -> impl IntoIterator<Item = haft::Tool> {
    haft::tools![ounces_to_grams, grams_to_ounces]
}
