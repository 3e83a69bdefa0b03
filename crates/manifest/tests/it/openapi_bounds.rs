//! Documents that describe APIs and want to hurt: without end, without measure, or after secrets.

use crate::faults_in_openapi::{schema, with_paths};

#[tokio::test]
async fn long_names_that_begin_alike_are_told_apart() {
    let long = "x".repeat(100);
    let node = |name: &str| {
        format!(
            "    {long}{name}: {{ type: object, properties: {{ next: {{ $ref: \
             '#/components/schemas/{long}{name}' }} }} }}\n"
        )
    };
    let query = |name: &str| {
        format!(
            "{{ name: {name}, in: query, schema: {{ $ref: '#/components/schemas/{long}{name}' }} }}"
        )
    };
    let document = with_paths(&format!(
        "  /a: {{ get: {{ parameters: [{}, {}, {}] }} }}\ncomponents:\n  schemas:\n{}{}{}",
        query("a"),
        query("b"),
        query("c"),
        node("a"),
        node("b"),
        node("c")
    ));
    let schema = schema(&document).await;
    let short = &long[..50];
    let names: Vec<_> = schema["$defs"].as_object().expect("it has some").keys().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in [short.to_owned(), format!("{short}.2"), format!("{short}.3")] {
        assert!(names.contains(&&name), "{names:?}");
    }
}
