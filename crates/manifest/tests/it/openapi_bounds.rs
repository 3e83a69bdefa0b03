//! Documents that describe APIs and want to hurt: without end, without measure, or after secrets.

use crate::faults_in_openapi::{KEYS, made, refused, schema, with_paths};
use crate::fixture::{Desk, text};
use crate::openapi::desk;
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};
use std::fmt::Write;

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

#[tokio::test]
async fn a_schema_that_says_itself_again_in_other_words_is_referred_to() {
    let again = |version: &str, member: &str| {
        let members: String = (0..3).map(|at| format!("        m{at}: {member}\n")).collect();
        format!(
            "openapi: {version}\npaths:\n  /a: {{ get: {{ parameters: [{{ name: q, in: query, \
             schema: {{ $ref: '#/components/schemas/N' }} }}] }} }}\ncomponents:\n  schemas:\n    \
             N:\n      type: object\n      properties:\n{members}"
        )
    };
    let node = json!({"$ref": "#/$defs/N"});
    let words = json!({"description": "One.", "anyOf": [node]});
    let null = json!({"anyOf": [node, {"type": "null"}]});
    for (version, member, expected) in [
        ("3.0.3", "{ allOf: [{ $ref: '#/components/schemas/N' }] }", &node),
        ("3.0.3", "{ nullable: true, allOf: [{ $ref: '#/components/schemas/N' }] }", &null),
        ("3.1.0", "{ $ref: '#/components/schemas/N', description: One. }", &words),
        ("3.1.0", "{ description: One., allOf: [{ $ref: '#/components/schemas/N' }] }", &words),
    ] {
        let schema = schema(&again(version, member)).await;
        assert_eq!(schema["properties"]["q"], node, "{schema}");
        assert_eq!(schema["$defs"]["N"]["properties"]["m2"], *expected, "{schema}");
        haft_server::schema::Schema::compile(&schema.to_string()).expect("it is a schema");
    }
}

/// Each of these is a schema in its place, and doubles what is below it.
#[test]
fn schemas_that_double_in_their_place_are_cut() {
    for member in [
        "allOf: [{ $ref: '#/components/schemas/CNEXT' }, { type: object }]",
        "minProperties: 1, allOf: [{ $ref: '#/components/schemas/CNEXT' }]",
    ] {
        let mut schemas = String::new();
        for at in 0..30 {
            // The last lead to the first again.
            let member = member.replace("NEXT", &((at + 1) % 30).to_string());
            _ = writeln!(
                schemas,
                "    C{at}: {{ properties: {{ a: {{ {member} }}, b: {{ {member} }}, c: {{ {member} \
                 }} }} }}"
            );
        }
        let document = with_paths(&format!(
            "  /a: {{ get: {{ parameters: [{{ name: q, in: query, schema: {{ $ref: \
             '#/components/schemas/C0' }} }}] }} }}
  /b: {{ get: {{ parameters: [{{ name: q, in: query, schema: {{ {} }} }}] }} }}
components:
  schemas:
{schemas}",
            member.replace("NEXT", "0")
        ));
        let (names, warnings) = made(&document, KEYS);
        assert_eq!(names, ["api_get_a", "api_get_b"]);
        for name in names {
            let cut = format!("{name}: its schema is too long; parts of it allow anything");
            assert!(warnings.contains(&cut), "{warnings:?}");
        }
    }
}

/// What is tame by itself may be too much in the place of what refers to it.
#[tokio::test]
async fn schemas_that_follow_each_other_are_checked_together() {
    let wrapped = |inner: &str| {
        let (open, close) = ("{ not: ".repeat(14), " }".repeat(14));
        format!("{open}{inner}{close}")
    };
    let to = |name: &str| wrapped(&format!("{{ $ref: '#/components/schemas/{name}' }}"));
    let document = with_paths(&format!(
        "  /a: {{ get: {{ parameters: [{{ name: q, in: query, schema: {{ $ref: \
         '#/components/schemas/A' }} }}] }} }}
components:
  schemas:
    A: {}
    B: {}
    C: {}
",
        to("B"),
        to("C"),
        wrapped("{ type: string }")
    ));
    let schema = schema(&document).await;
    haft_server::schema::Schema::compile(&schema.to_string()).expect("it is a schema");
}

#[test]
fn the_variables_of_a_server_do_not_stand_for_each_other() {
    let mut variables = String::new();
    for at in 0..40 {
        let next = format!("{{v{}}}", at + 1);
        _ = writeln!(variables, "    v{at}: {{ default: '{next}{next}' }}");
    }
    let server = |url: &str, variables: &str| {
        format!(
            "openapi: 3.0.0\npaths: {{ /a: {{ get: {{}} }} }}\nservers:\n- url: '{url}'\n  \
             variables:\n{variables}"
        )
    };
    let why = refused(&server("https://a.example/{v0}", &variables), "");
    assert!(why.ends_with("it has a variable without a default"), "{why}");
    let long = format!("    v: {{ default: '{}' }}\n", "x".repeat(1000));
    let why = refused(&server(&format!("https://a.example/{}", "{v}".repeat(20)), &long), "");
    assert!(why.ends_with("it is too long with its variables"), "{why}");
    let plain = "    host: { default: a.example }\n    v: { default: v2 }\n";
    let (names, _) = made(&server("https://{host}/{v}", plain), "");
    assert_eq!(names, ["api_get_a"]);
}

#[tokio::test]
async fn a_document_from_another_server_does_not_choose_who_is_told_secrets() {
    let other = Origin::serve(|_| {
        Reply::json(json!({"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}}}}))
    })
    .await;
    let there = other.url("/api.json");
    let origin = Origin::serve(move |_| Reply::redirect(302, there.clone())).await;
    let named = origin.url("/api.json");
    for (keys, is_refused) in [
        ("", false),
        ("auth: { bearer: secret-token }", true),
        ("headers: { x-key: secret-token }", true),
        ("auth: { bearer: secret-token }, base_url: 'https://a.example'", false),
    ] {
        let yaml = format!(
            "server: {{ name: d }}\nupstreams:\n  pets: {{ openapi: '{named}', \
             allow_private: true, {keys} }}\n"
        );
        let load = move || {
            let desk = Desk::with(&yaml);
            haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).map_err(|it| it.to_string())
        };
        let found = tokio::task::spawn_blocking(load).await.expect("it ends");
        assert_eq!(found.is_err(), is_refused, "{keys}: {found:?}");
        if let Err(why) = found {
            assert!(why.contains("the document is from another server, `127.0.0.1`"), "{why}");
            assert!(why.contains("give it a `base_url`"), "{why}");
        }
    }
}

#[tokio::test]
async fn a_client_secret_is_not_sent_where_a_document_from_elsewhere_says() {
    let document = |token_url: &str| {
        json!({
            "openapi": "3.1.0", "servers": [{"url": "https://a.example/v1"}],
            "paths": {"/a": {"get": {"operationId": "a"}}},
            "components": {"securitySchemes": {"login": {
                "type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": token_url}},
            }}},
        })
    };
    for (token_url, typed, from_file, from_address) in [
        ("/token", "", true, true),
        ("https://a.example/token", "", true, true),
        ("https://login.example/token", "", true, false),
        ("http://login.example/token", "", false, false),
        ("http://login.example/token", ", token_url: 'https://l.example/t'", true, true),
        ("http://127.0.0.1:1/token", "", true, false),
    ] {
        let document = document(token_url);
        let served = document.clone();
        let origin = Origin::serve(move |_| Reply::json(served.clone())).await;
        for (named, expected) in [("api.json", from_file), (&*origin.url("/"), from_address)] {
            let desk = Desk::with(&format!(
                "server: {{ name: d }}\nupstreams:\n  api:\n    openapi: '{named}'\n    \
                 allow_private: [127.0.0.1]\n    security: {{ login: {{ client_id: me, \
                 client_secret: s3cret{typed} }} }}\n"
            ));
            desk.write("api.json", document.to_string());
            let load = move || {
                haft_manifest::load(&desk.file("haft.yaml"))
                    .map(|_| ())
                    .map_err(|it| it.to_string())
            };
            let found = tokio::task::spawn_blocking(load).await.expect("it ends");
            assert_eq!(found.is_ok(), expected, "{named} {token_url}: {found:?}");
            if let Err(why) = found {
                assert!(why.contains("needs a `token_url`, as that of the document"), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_part_type_with_a_line_end_is_not_used() {
    let document = |kind: &str| {
        let file = json!({"type": "string", "format": "binary"});
        json!({"openapi": "3.0.0", "paths": {"/a": {"post": {"operationId": "a", "requestBody": {
            "required": true, "content": {"multipart/form-data": {
                "encoding": {"file": {"contentType": kind}},
                "schema": {"type": "object", "properties": {"file": file}},
            }},
        }}}}})
    };
    for (kind, is_used) in [("image/png", true), ("image/png\r\nx-evil: 1", false)] {
        let origin = Origin::serve(|_| Reply::text("ok")).await;
        let keys = format!("base_url: {}\nallow_private: [127.0.0.1]", origin.url("/"));
        let server = desk(&document(kind).to_string(), &keys).serve();
        assert_eq!(text(&server, "api_a", json!({"file": "AQI="})).await, "ok");
        let seen = origin.only();
        assert_eq!(seen.text().contains("image/png"), is_used, "{}", seen.text());
        assert!(!seen.text().contains("x-evil"), "{}", seen.text());
    }
}

#[test]
fn an_operation_of_too_many_parameters_is_left_out() {
    let parameters = |count: usize| {
        let one = |at| json!({"in": "query", "name": format!("p{at}")});
        Value::from((0..count).map(one).collect::<Vec<_>>())
    };
    let path = format!("/{}", "{x}".repeat(1001));
    let document = json!({"openapi": "3.0.0", "paths": {
        "/a": {"get": {"operationId": "a", "parameters": parameters(1000)}},
        "/b": {"get": {"operationId": "b", "parameters": parameters(1001)}},
        path: {"get": {"operationId": "c"}},
    }});
    let (names, warnings) = made(&document.to_string(), KEYS);
    assert_eq!(names, ["api_a"]);
    for (at, reason) in ["it has more than 1000", "its path has more than 1000"].iter().enumerate()
    {
        assert!(warnings[at].contains(&format!("{reason} parameters")), "{warnings:?}");
    }
}

/// Each name is looked for once; with a look at every member for each, this takes minutes.
#[test]
fn as_many_names_are_required_as_there_are_members() {
    let names: Vec<_> = (0..20_000).map(|at| format!("n{at}")).collect();
    let members: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({}))).collect();
    let document = json!({"openapi": "3.0.0", "paths": {"/a": {"post": {
        "operationId": "a",
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"type": "object", "properties": members, "required": names},
        }}},
    }}}});
    let begun = std::time::Instant::now();
    assert_eq!(made(&document.to_string(), KEYS).0, ["api_a"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Names that become the same ones, which are counted.
#[tokio::test]
async fn arguments_that_want_one_name_are_numbered() {
    let one = |at: usize| json!({"in": "query", "name": format!("a{}", "%".repeat(at + 1))});
    let parameters: Vec<_> = (0..4).map(one).collect();
    let document =
        json!({"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": parameters}}}});
    let schema = schema(&document.to_string()).await;
    let names: Vec<_> = schema["properties"].as_object().expect("some").keys().collect();
    assert_eq!(names, ["a", "a_query", "a_query_2", "a_query_3"]);
}
