//! Resources, prompts and completions: what they answer, and what is told of those that are not
//! there.

use crate::wire::{TestWire, ask, ask_on};
use haft_proto::encode::fields::Caching;
use haft_proto::error::{Mistake, Refusal};
use haft_proto::limits::Limits;
use haft_proto::service::Principal;
use haft_proto::spec::content::{Content, ResourceContents};
use haft_proto::spec::prompt::Message;
use haft_proto::version::Revision;
use haft_server::{BuildError, Completing, Prompt, Read, Resource, ResourceTemplate, Server};
use serde_json::{Value, json};

fn server() -> Server {
    let page = |read: Read| async move {
        let id = read.variables["id"].clone();
        (id != "none").then(|| format!("page {id}"))
    };
    let broken = |_: Read| async { Err::<String, _>("the disk is on fire") };
    let panics = |_: Read| async { panic!("a reader may panic") as String };
    let greet = |get: haft_server::Get| async move {
        let link = ResourceContents::text("app://motto", "Be kind.");
        vec![
            Message::user(Content::text(format!("Greet {}.", get.argument("name")))),
            Message::assistant(Content::Embedded(link)),
        ]
    };
    let names = |typing: Completing| async move { typing.among(["Ada", "Alan", "Bob"]) };
    Server::builder("s", "1")
        .resource(Resource::text("app://motto", "motto", "Be kind.").mime_type("text/plain"))
        .resource(Resource::bytes("app://dot", "dot", [0xff, 0]))
        .resource(Resource::new("app://broken", "broken", broken))
        .resource(Resource::new("app://panics", "panics", panics))
        .resource_template(ResourceTemplate::new("app://pages/{id}", "pages", page))
        .prompt(
            Prompt::new("greet", greet)
                .description("Greets.")
                .required("name", "Whom.")
                .optional("tone", "How.")
                .complete("name", names),
        )
        .build()
        .expect("right")
}

async fn result(method: &str, params: Value) -> Value {
    ask(&server(), Revision::LATEST, method, params).await["result"].clone()
}

async fn error(method: &str, params: Value) -> (i64, String) {
    let answer = ask(&server(), Revision::LATEST, method, params).await;
    let error = &answer["error"];
    let message = error["message"].as_str().expect("an error").to_owned();
    (error["code"].as_i64().expect("a code"), message)
}

#[tokio::test]
async fn a_resource_is_read_by_its_address_or_by_its_template() {
    let read = result("resources/read", json!({"uri": "app://motto"})).await;
    let expected = json!([{"uri": "app://motto", "mimeType": "text/plain", "text": "Be kind."}]);
    assert_eq!(read["contents"], expected);
    assert_eq!((&read["ttlMs"], &read["cacheScope"]), (&json!(60_000), &json!("public")));
    let read = result("resources/read", json!({"uri": "app://dot"})).await;
    assert_eq!(read["contents"][0]["blob"], "/wA=");
    let read = result("resources/read", json!({"uri": "app://pages/a%20b"})).await;
    assert_eq!(read["contents"][0]["text"], "page a b");
    assert_eq!(read["contents"][0]["uri"], "app://pages/a%20b");
}

#[tokio::test]
async fn a_variable_is_what_the_client_says_and_a_file_name_is_checked() {
    let both = |read: Read| async move {
        let name = read.file_name("name").unwrap_or("nothing");
        format!("{:?} {name}", read.variables["name"])
    };
    let files = ResourceTemplate::new("files://{name}", "files", both);
    let server = Server::builder("s", "1").resource_template(files).build().expect("right");
    for (uri, text) in [
        ("files://a.txt", r#""a.txt" a.txt"#),
        ("files://..a%20b", r#""..a b" ..a b"#),
        ("files://..%2F..%2Fetc%2Fpasswd", r#""../../etc/passwd" nothing"#),
        ("files://%2e%2E", r#"".." nothing"#),
        ("files://.", r#""." nothing"#),
        ("files://a%00b", r#""a\0b" nothing"#),
        ("files://a%5Cb", r#""a\\b" nothing"#),
        ("files://C%3Ab", r#""C:b" nothing"#),
    ] {
        let answer = ask(&server, Revision::LATEST, "resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["result"]["contents"][0]["text"], text, "{uri}");
    }
}

#[tokio::test]
async fn a_resource_that_is_not_there_is_told_as_its_era_tells_it() {
    for uri in ["app://nothing", "app://pages/none", "app://pages/a/b", "", "\0"] {
        for (revision, code) in [(Revision::V2025_06_18, -32002), (Revision::LATEST, -32602)] {
            let answer = ask(&server(), revision, "resources/read", json!({"uri": uri})).await;
            assert_eq!(answer["error"]["code"], code, "{uri:?} {answer}");
            assert_eq!(answer["error"]["data"]["uri"], uri);
        }
    }
    let (code, message) = error("resources/read", json!({"uri": "x".repeat(10_000)})).await;
    assert_eq!((code, message.contains("at most 8192 bytes")), (-32602, true));
}

#[tokio::test]
async fn a_resource_has_so_many_bytes_and_no_more() {
    let parts = |_: Read| async {
        vec![ResourceContents::text("a", "x".repeat(60)), ResourceContents::blob("b", vec![0; 41])]
    };
    let limits = Limits { resource_bytes: 100, ..Limits::default() };
    let built =
        Server::builder("s", "1").limits(limits).resource(Resource::new("a:101", "a", parts));
    let server = built.resource(Resource::text("a:100", "b", "x".repeat(100))).build();
    let server = server.expect("right");
    let read = async |uri: &str| {
        ask(&server, Revision::LATEST, "resources/read", json!({"uri": uri})).await
    };
    assert!(read("a:100").await.get("result").is_some());
    let error = read("a:101").await["error"].clone();
    let message = "Internal error: the resource has 101 bytes, and an answer at most 100: offer it \
                   in parts, or raise `Limits::resource_bytes`";
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!(message)));
}

#[tokio::test]
async fn a_reader_that_fails_or_panics_harms_nothing_else() {
    let failed = error("resources/read", json!({"uri": "app://broken"})).await;
    assert_eq!(failed, (-32603, "the disk is on fire".to_owned()));
    let (code, message) = error("resources/read", json!({"uri": "app://panics"})).await;
    assert_eq!((code, message.contains("the resource panicked")), (-32603, true));
}

#[tokio::test]
async fn lists_have_what_the_revision_has() {
    let server = server();
    let listed = ask(&server, Revision::LATEST, "resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(4));
    assert_eq!(listed["result"]["resources"][1]["size"], 2);
    let old = ask(&server, Revision::V2024_11_05, "resources/list", json!({})).await;
    assert_eq!(old["result"]["resources"][1].get("size"), None);
    let listed = ask(&server, Revision::LATEST, "resources/templates/list", json!({})).await;
    let expected = json!([{"uriTemplate": "app://pages/{id}", "name": "pages"}]);
    assert_eq!(listed["result"]["resourceTemplates"], expected);
    let listed = ask(&server, Revision::LATEST, "prompts/list", json!({})).await;
    let arguments = &listed["result"]["prompts"][0]["arguments"];
    assert_eq!(arguments[0], json!({"name": "name", "description": "Whom.", "required": true}));
}

#[tokio::test]
async fn a_prompt_becomes_messages_once_it_has_its_arguments() {
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let prompt = result("prompts/get", params).await;
    assert_eq!(prompt["description"], "Greets.");
    assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada.");
    assert_eq!(prompt["messages"][1]["content"]["resource"]["text"], "Be kind.");
    let (code, message) = error("prompts/get", json!({"name": "greet"})).await;
    assert_eq!((code, message.contains("needs the argument `name`")), (-32602, true));
    let (code, message) = error("prompts/get", json!({"name": "greed"})).await;
    assert_eq!((code, message.contains("did you mean \"greet\"")), (-32602, true));
    let params = json!({"name": "greet", "arguments": {"name": 1}});
    assert_eq!(error("prompts/get", params).await.0, -32602);
}

#[tokio::test]
async fn values_are_suggested_for_arguments_that_are_there() {
    let complete = |argument: &str, value: &str| {
        json!({"ref": {"type": "ref/prompt", "name": "greet"},
               "argument": {"name": argument, "value": value}})
    };
    let suggested = result("completion/complete", complete("name", "a")).await;
    assert_eq!(suggested["completion"]["values"], json!(["Ada", "Alan"]));
    let suggested = result("completion/complete", complete("tone", "a")).await;
    assert_eq!(suggested["completion"]["values"], json!([]));
    assert_eq!(error("completion/complete", complete("age", "1")).await.0, -32602);
    for broken in [json!({}), json!({"ref": {"type": "ref/other"}}), json!({"ref": 1})] {
        assert_eq!(error("completion/complete", broken).await.0, -32602);
    }
}

#[tokio::test]
async fn a_hundred_values_are_sent_at_most() {
    let many = |_: Completing| async { (0..250).map(|n| n.to_string()).collect() };
    let prompt = Prompt::new("p", |_| async { "hi" }).required("n", "A number.");
    let server = Server::builder("s", "1").prompt(prompt.complete("n", many)).build();
    let params = json!({"ref": {"type": "ref/prompt", "name": "p"},
                        "argument": {"name": "n", "value": ""}});
    let server = server.expect("right");
    let answer = ask(&server, Revision::LATEST, "completion/complete", params).await;
    let completion = &answer["result"]["completion"];
    assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
    assert_eq!(completion["hasMore"], true);
}

#[tokio::test]
async fn who_finds_nothing_or_fails_to_suggest_may_say_why() {
    let refusal = |mistake| Refusal::new(mistake, "out of paper");
    let family = ResourceTemplate::new("app://{a}", "a", move |_| async move {
        Err::<String, _>(refusal(Mistake::ResourceNotFound))
    });
    let family = family.try_complete("a", move |_| async move { Err(refusal(Mistake::Internal)) });
    let server = Server::builder("s", "1").resource_template(family).build().expect("right");
    let asked = [
        ("resources/read", json!({"uri": "app://x"}), -32602, "Resource not found: out of paper"),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "app://{a}"},
                   "argument": {"name": "a", "value": ""}}),
            -32603,
            "out of paper",
        ),
    ];
    for (method, params, code, message) in asked {
        let error = ask(&server, Revision::LATEST, method, params).await["error"].take();
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)));
    }
}

#[tokio::test]
async fn a_prompt_may_ask_its_client_too() {
    let ask_tone = |get: haft_server::Get| async move {
        let schema = r#"{"type":"object","properties":{"tone":{"type":"string"}}}"#;
        let tone = get.context.elicit::<Value>("tone", "How?", schema).await?;
        let tone = tone.accepted().unwrap_or_default();
        Ok::<_, haft_server::AskError>(format!("Speak like {}", tone["tone"]))
    };
    let server = Server::builder("s", "1").prompt(Prompt::new("p", ask_tone)).build();
    let server = server.expect("right");
    let wire = TestWire::to_client(json!({"elicitation": {}}));
    let mut params = json!({"name": "p"});
    let first = ask_on(&wire, &server, Revision::LATEST, "prompts/get", params.clone()).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({"tone": {"action": "accept", "content": {"tone": "a king"}}});
    let second = ask_on(&wire, &server, Revision::LATEST, "prompts/get", params).await;
    let text = &second["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Speak like \"a king\"");
}

#[tokio::test]
async fn what_comes_and_goes_is_listed_and_answered_at_once() {
    let server = server();
    server.add_resource(Resource::text("app://new", "new", "fresh")).expect("right");
    let params = json!({"uri": "app://new"});
    let read = ask(&server, Revision::LATEST, "resources/read", params.clone()).await;
    assert_eq!(read["result"]["contents"][0]["text"], "fresh");
    server.add_resource(Resource::text("app://new", "new", "fresher")).expect("right");
    let read = ask(&server, Revision::LATEST, "resources/read", params.clone()).await;
    assert_eq!(read["result"]["contents"][0]["text"], "fresher");
    assert!(server.remove_resource("app://new") && !server.remove_resource("app://new"));
    let read = ask(&server, Revision::LATEST, "resources/read", params).await;
    assert_eq!(read["error"]["code"], -32602);
    let bare = Server::builder("s", "1").build().expect("right");
    let added = bare.add_prompt(Prompt::new("p", |_| async { "hi" }));
    assert_eq!(added, Err(BuildError::NotOffered { kind: "prompts" }));
}

#[test]
fn what_cannot_be_registered_is_told_by_name() {
    let template = |text: &str| ResourceTemplate::new(text, "t", |_| async { "hi" });
    let fails = |builder: haft_server::ServerBuilder| {
        builder.build().err().expect("wrong on purpose").to_string()
    };
    let builder = || Server::builder("s", "1");
    assert!(fails(builder().resource(Resource::text("motto", "m", ""))).contains("scheme"));
    assert!(fails(builder().resource_template(template("app://{a}{b}"))).contains("side by side"));
    let twice = builder().resource(Resource::text("a:b", "m", ""));
    let twice = twice.resource(Resource::text("a:b", "n", ""));
    assert!(fails(twice).contains("two resources have the name `a:b`"));
    let typo = Prompt::new("p", |_| async { "hi" });
    let typo = typo.complete("lang", |typing| async move { typing.among(["de"]) });
    assert!(fails(builder().prompt(typo)).contains("no argument `lang`"));
}

#[tokio::test]
async fn a_page_shows_what_a_tool_answers_to_hosts_that_show_pages() {
    let may = haft_server::Ui {
        csp: haft_server::Csp {
            connect_domains: vec!["https://api.example".to_owned()],
            ..haft_server::Csp::default()
        },
        permissions: vec!["camera".to_owned()],
        prefers_border: Some(true),
    };
    let clock = haft_server::handler::function(|_: Value| "12:00");
    let server = Server::builder("s", "1")
        .resource(Resource::ui("ui://clock/face", "face", "<title>Clock</title>", &may))
        .tool(haft_server::Tool::new("clock", clock).ui("ui://clock/face"))
        .build()
        .expect("right");
    let hello = ask(&server, Revision::LATEST, "server/discover", json!({})).await;
    let extensions = &hello["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/ui": {}}));
    let listed = ask(&server, Revision::LATEST, "tools/list", json!({})).await;
    let expected = json!({"ui": {"resourceUri": "ui://clock/face"}});
    assert_eq!(listed["result"]["tools"][0]["_meta"], expected);
    let read =
        ask(&server, Revision::LATEST, "resources/read", json!({"uri": "ui://clock/face"})).await;
    let page = &read["result"]["contents"][0];
    assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
    let expected = json!({
        "csp": {"connectDomains": ["https://api.example"]},
        "permissions": {"camera": {}},
        "prefersBorder": true,
    });
    assert_eq!(page["_meta"]["ui"], expected);
}

#[tokio::test]
async fn what_somebody_reads_is_not_for_everybody_unless_the_resource_says_so() {
    let everybodys = Resource::text("app://open", "open", "1").caching(Caching::default());
    let mine = Resource::new("app://mine", "mine", |read: Read| async move {
        format!("{:?}", read.context.principal())
    });
    let built = Server::builder("s", "1").resource(everybodys).resource(mine);
    let server = built.build().expect("right");
    let wire = TestWire { principal: Principal::Named("ada".into()), ..TestWire::default() };
    for (uri, scope) in [("app://open", "public"), ("app://mine", "private")] {
        let params = json!({"uri": uri});
        let read = ask_on(&wire, &server, Revision::LATEST, "resources/read", params).await;
        assert_eq!(read["result"]["cacheScope"], scope, "{read}");
    }
}

#[tokio::test]
async fn an_error_repeats_little_of_what_it_is_about() {
    let long = format!("evil\n\u{7f}{}", "x".repeat(100_000));
    for params in [
        json!({"ref": {"type": long}, "argument": {"name": "a", "value": ""}}),
        json!({"ref": long, "argument": {"name": "a", "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": long}),
        json!({"ref": {"type": "ref/prompt", "name": long}, "argument": {"name": "", "value": ""}}),
    ] {
        let (code, message) = error("completion/complete", params).await;
        assert_eq!(code, -32602);
        assert!(message.len() < 700 && !message.contains(char::is_control), "{message:?}");
    }
}

#[tokio::test]
async fn completions_are_a_capability_since_there_is_such_a_capability() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let params = json!({"protocolVersion": revision.as_str(), "capabilities": {},
                            "clientInfo": {"name": "c", "version": "1"}});
        let answer = ask(&server(), revision, "initialize", params).await;
        let offered = &answer["result"]["capabilities"];
        let is_told = offered.get("completions").is_some();
        assert_eq!(is_told, revision == Revision::V2025_03_26, "{answer}");
    }
}
