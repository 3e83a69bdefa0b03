//! Resources: one at an address, and a family with a variable, its suggestions, annotations, an
//! icon and `_meta`.
//! `haft read --command target/debug/resources_and_templates recipes://by-name/broth`

use haft::{Annotations, Completing, Completion, Icon, Role};
use serde_json::json;
use serde_json::value::to_raw_value;

const RECIPES: [(&str, &str); 3] = [
    ("bread", "# Bread\n\nFlour, water, salt, yeast. Wait. Bake for 40 minutes.\n"),
    ("broth", "# Broth\n\nBones, onion, carrot. Simmer for 4 hours.\n"),
    ("pancakes", "# Pancakes\n\nFlour, milk, eggs. Fry.\n"),
];

/// What there is to cook.
#[haft::resource("recipes://all", mime = "text/plain", title = "All recipes")]
fn all_recipes() -> String {
    RECIPES.map(|(name, _)| name).join("\n")
}

/// One recipe.
#[haft::resource("recipes://by-name/{name}", mime = "text/markdown")]
fn recipe(#[haft(complete = names)] name: String) -> Option<&'static str> {
    // `None` is "not found".
    RECIPES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What a client suggests while somebody types.
async fn names(typing: Completing) -> Completion {
    typing.among(RECIPES.map(|(name, _)| name))
}

fn main() -> haft::Result<()> {
    let for_both = vec![Role::User, Role::Assistant];
    let important =
        Annotations { audience: for_both, priority: Some(0.9), ..Annotations::default() };
    let book = Icon {
        src: "https://recipes.example/book.svg".to_owned(),
        mime_type: Some("image/svg+xml".to_owned()),
        ..Icon::default()
    };
    let licence = to_raw_value(&json!({ "example.recipes/licence": "CC0-1.0" }));
    haft::server("resources_and_templates", "1.0.0")
        .resource(all_recipes::resource().annotations(important))
        .resource(recipe::resource().icon(book).meta(licence.expect("values become JSON")))
        .run()
}
