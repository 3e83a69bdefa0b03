//! Documents of several files: what is read of them, and what is not.

use crate::faults_in_openapi::KEYS;
use crate::fixture::{Desk, ask, text};
use crate::openapi::{desk, echo};
use crate::origin::{Origin, Reply};
use serde_json::{Value, json};

/// The names of the tools, and the warnings about them.
fn made(desk: &Desk) -> (Vec<String>, Vec<String>) {
    let manifest = desk.manifest();
    let warnings = manifest.warnings().into_iter();
    let warnings = warnings.map(|note| format!("{}: {}", note.name, note.message)).collect();
    let server = manifest.server().expect("it can be served");
    (server.tool_names().iter().map(|name| name.to_string()).collect(), warnings)
}

/// A document that is in a directory of its own, `apis`, with the operation `ask`, whose one
/// parameter has this schema.
fn with_schema(reference: &str, keys: &str) -> Desk {
    let keys: String = keys.lines().map(|line| format!("    {line}\n")).collect();
    let desk = Desk::with(&format!(
        "server: {{ name: desk }}\nupstreams:\n  api:\n    openapi: apis/api.yaml\n    \
         {KEYS}\n{keys}"
    ));
    let document = format!(
        "openapi: 3.0.0\npaths:\n  /fine: {{ get: {{ operationId: fine }} }}\n  /a: {{ get: {{ \
         operationId: ask, parameters: [{{ name: q, in: query, schema: {{ $ref: '{reference}' }} \
         }}] }} }}\ncomponents: {{ schemas: {{ Here: {{ type: boolean }} }} }}\n"
    );
    desk.write("apis/api.yaml", document);
    desk
}

#[tokio::test]
async fn what_is_in_the_directory_or_below_is_a_part_of_the_document() {
    for (reference, file, content, expected) in [
        ("pet.yaml", "apis/pet.yaml", "type: string", json!({"type": "string"})),
        (
            "./pet.yaml#/a/b",
            "apis/pet.yaml",
            "a: { b: { type: integer } }",
            json!({"type": "integer"}),
        ),
        (
            "s/p.json#/a~1b",
            "apis/s/p.json",
            r#"{"a/b": {"type": "number"}}"#,
            json!({"type": "number"}),
        ),
        ("s/a%20b.yaml", "apis/s/a b.yaml", "type: string", json!({"type": "string"})),
        ("s/../pet.yaml", "apis/pet.yaml", "type: string", json!({"type": "string"})),
        (
            "pet.yaml#/a",
            "apis/pet.yaml",
            "a: { $ref: '#/b' }\nb: { $ref: 'api.yaml#/components/schemas/Here' }",
            json!({"type": "boolean"}),
        ),
        // Back to where it came from, and to itself.
        (
            "s/p.yaml",
            "apis/s/p.yaml",
            "$ref: '../api.yaml#/components/schemas/Here'",
            json!({"type": "boolean"}),
        ),
    ] {
        let desk = with_schema(reference, "");
        desk.write("apis/s/other.yaml", "{}");
        desk.write(file, content);
        let served = desk.serve();
        let listed = ask(&served, "tools/list", json!({})).await;
        let found = &listed["tools"][1]["inputSchema"]["properties"]["q"];
        assert_eq!(*found, expected, "{reference}: {listed}");
    }
}

#[tokio::test]
async fn paths_parameters_and_bodies_of_other_files_are_sent() {
    let origin = echo().await;
    let keys = format!("base_url: {}\nallow_private: [127.0.0.1]", origin.url("/v1"));
    let desk = desk("openapi: 3.0.0\npaths: { '/a/{id}': { $ref: 'paths/a.yaml' } }", &keys);
    desk.write(
        "paths/a.yaml",
        "put:
  operationId: ask
  parameters: [{ $ref: '../parts.yaml#/id' }]
  requestBody: { $ref: '../parts.yaml#/body' }",
    );
    desk.write(
        "parts.yaml",
        "id: { name: id, in: path, required: true, schema: { type: string } }
body: { required: true, content: { application/json: { schema: { $ref: '#/Pet' } } } }
Pet: { type: object, properties: { name: { type: string }, child: { $ref: '#/Pet' } } }",
    );
    let server = desk.serve();
    let arguments = json!({"id": "7", "name": "n", "child": {"name": "c"}});
    assert_eq!(text(&server, "api_ask", arguments).await, "ok");
    let seen = origin.only();
    let body: Value = serde_json::from_slice(&seen.body).expect("JSON");
    assert_eq!(seen.target, "/v1/a/7");
    assert_eq!(body, json!({"name": "n", "child": {"name": "c"}}));
}

#[tokio::test]
async fn parts_of_swagger_2_0_in_other_files_are_converted_too() {
    let origin = echo().await;
    let keys = format!("base_url: {}\nallow_private: [127.0.0.1]", origin.url("/v1"));
    let desk = desk("swagger: '2.0'\npaths: { /a: { $ref: 'paths.yaml#/a' } }", &keys);
    desk.write(
        "paths.yaml",
        "a: { post: { operationId: ask, parameters: [{ $ref: 'parts.yaml#/body' }] } }",
    );
    desk.write(
        "parts.yaml",
        "body: { name: b, in: body, required: true, schema: { $ref: '#/Pet' } }
Pet: { type: object, properties: { name: { type: string, x-nullable: true } } }",
    );
    let server = desk.serve();
    assert_eq!(text(&server, "api_ask", json!({"name": null})).await, "ok");
    assert_eq!(origin.only().text(), r#"{"name":null}"#);
}

const OUT: &str = "leads out of the directory of the document, where nothing is read from; allow \
                   it with `references: anywhere`";
const WEB: &str = "leads to the web, where nothing is fetched from; allow it with `references: \
                   web`, or bundle the document into one file";

#[test]
fn what_is_elsewhere_is_read_only_where_that_is_allowed() {
    for (reference, keys, expected) in [
        ("../out.yaml", "", Some(OUT)),
        ("../nothing.yaml", "", Some(OUT)),
        ("s/../../out.yaml", "", Some(OUT)),
        ("link.yaml", "", Some(OUT)),
        ("/etc/passwd", "", Some(OUT)),
        ("../out.yaml", "references: web", Some(OUT)),
        ("../out.yaml", "references: anywhere", None),
        ("link.yaml", "references: anywhere", None),
        ("https://a.example/b.json", "", Some(WEB)),
        (
            "http://127.0.0.1:9/b.json",
            "references: web",
            Some("leads to a file that cannot be read"),
        ),
        ("gone.yaml", "", Some("leads to a file that cannot be read: No such file")),
        ("bad.yaml", "", Some("leads to a file that cannot be read: ")),
        ("pipe", "", Some("leads to a file that cannot be read: it is no file")),
        ("file:///etc/passwd", "", Some("leads to a file that cannot be read")),
    ] {
        let desk = with_schema(reference, keys);
        desk.write("out.yaml", "type: string");
        desk.write("apis/bad.yaml", "a: [");
        desk.write("apis/s/x.yaml", "");
        std::os::unix::fs::symlink(desk.file("out.yaml"), desk.file("apis/link.yaml"))
            .expect("ours");
        let made_pipe = std::process::Command::new("mkfifo").arg(desk.file("apis/pipe")).status();
        assert!(made_pipe.expect("every machine has mkfifo").success());
        let (names, warnings) = made(&desk);
        match expected {
            None => assert_eq!(names, ["api_fine", "api_ask"], "{reference}: {warnings:?}"),
            Some(why) => {
                assert_eq!(names, ["api_fine"], "{reference}");
                let is_told = |warning: &String| {
                    warning.starts_with("GET /a: it is left out: `$ref: ") && warning.contains(why)
                };
                assert!(warnings.iter().any(is_told), "{reference}: {warnings:?}");
                let is_secret = |warning: &String| warning.contains("root:");
                assert!(!warnings.iter().any(is_secret), "{warnings:?}");
            }
        }
    }
}

#[test]
fn files_that_lead_to_files_have_an_end() {
    let desk = with_schema("s0.yaml", "");
    for at in 0..20 {
        desk.write(&format!("apis/s{at}.yaml"), format!("$ref: 's{}.yaml'", at + 1));
    }
    let (names, warnings) = made(&desk);
    assert_eq!(names, ["api_fine"]);
    let why = "leads through more than 16 files in a row";
    assert!(warnings.iter().any(|warning| warning.contains(why)), "{warnings:?}");

    let desk = with_schema("all.yaml", "");
    let mut all = "type: object\nproperties:\n".to_owned();
    for at in 0..1001 {
        all += &format!("  p{at}: {{ $ref: 'f/{at}.yaml' }}\n");
        desk.write(&format!("apis/f/{at}.yaml"), "type: string");
    }
    desk.write("apis/all.yaml", all);
    let why = "leads to one of more than 1000 files";
    assert!(made(&desk).1.iter().any(|warning| warning.contains(why)));

    let desk = with_schema("big.yaml", "");
    let big = std::fs::File::create(desk.file("apis/big.yaml")).expect("it is ours");
    big.set_len(64 * 1024 * 1024 + 1).expect("it has holes");
    let why = "leads to files of more than 67108864 bytes together";
    assert!(made(&desk).1.iter().any(|warning| warning.contains(why)));
}

#[tokio::test]
async fn a_document_of_the_web_refers_to_the_web_where_that_is_allowed() {
    for (keys, expected) in [("", 1), ("references: web", 2)] {
        let origin = Origin::serve(|seen| match &*seen.target {
            "/apis/api.json" => Reply::json(json!({
                "openapi": "3.1.0", "servers": [{"url": "/v2"}],
                "paths": {
                    "/fine": {"get": {"operationId": "fine"}},
                    "/a": {"$ref": "paths/a.json"},
                }
            })),
            "/apis/paths/a.json" => Reply::json(json!({"get": {"operationId": "ask"}})),
            _ => Reply::status(404),
        })
        .await;
        let yaml = format!(
            "server: {{ name: d }}\nupstreams:\n  api: {{ openapi: '{}', allow_private: true, \
             {keys}              }}\n",
            origin.url("/apis/api.json")
        );
        let desk = Desk::with(&yaml);
        let (names, _) = tokio::task::spawn_blocking(move || made(&desk)).await.expect("it ends");
        assert_eq!(names.len(), expected, "{keys}: {names:?}");
        assert_eq!(origin.seen().len(), expected, "{keys}");
    }
}
