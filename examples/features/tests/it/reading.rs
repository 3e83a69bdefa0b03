//! Examples of what clients read and list: resources, prompts, pages, and what changes.

use crate::server::{Client, ERAS, Era};
use serde_json::{Value, json};

fn complete(client: &mut Client, reference: Value, argument: &str, typed: &str) -> Value {
    let argument = json!({ "name": argument, "value": typed });
    let params = json!({ "ref": reference, "argument": argument });
    client.ask("completion/complete", params)["completion"]["values"].take()
}

#[test]
fn resources_are_listed_read_and_suggested() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_resources_and_templates"), era);
        let all = client.ask("resources/list", json!({}))["resources"][0].take();
        assert_eq!((&all["uri"], &all["title"]), (&json!("recipes://all"), &json!("All recipes")));
        let annotations = json!({ "audience": ["user", "assistant"], "priority": 0.9 });
        assert_eq!(all["annotations"], annotations);
        let one = client.ask("resources/templates/list", json!({}))["resourceTemplates"][0].take();
        assert_eq!(one["uriTemplate"], "recipes://by-name/{name}");
        assert_eq!(one["icons"][0]["src"], "https://recipes.example/book.svg");
        assert_eq!(one["_meta"], json!({ "example.recipes/licence": "CC0-1.0" }));

        let list = client.ask("resources/read", json!({ "uri": "recipes://all" }));
        assert_eq!(list["contents"][0]["text"], "bread\nbroth\npancakes");
        let broth = client.ask("resources/read", json!({ "uri": "recipes://by-name/broth" }));
        assert_eq!(broth["contents"][0]["mimeType"], "text/markdown");
        let missing = json!({ "uri": "recipes://by-name/soup" });
        assert!(client.answer("resources/read", missing)["error"].is_object());
        let family = json!({ "type": "ref/resource", "uri": "recipes://by-name/{name}" });
        assert_eq!(complete(&mut client, family, "name", "B"), json!(["bread", "broth"]));
    }
}

#[test]
fn prompts_are_written_from_their_arguments() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_prompts"), era);
        let get = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
        let asked = get("release_notes", json!({ "commits": "a1 fix", "points": "3" }));
        let notes = client.ask("prompts/get", asked);
        let text = notes["messages"][0]["content"]["text"].as_str().expect("a text");
        assert!(
            text.starts_with("Write release notes for customers in at most 3 points."),
            "{text}"
        );
        assert!(text.ends_with("a1 fix"), "{text}");
        let review = client.ask("prompts/get", get("review", json!({ "diff": "+1" })));
        assert_eq!(review["messages"][1]["role"], "assistant");
        let nothing = client.answer("prompts/get", get("review", json!({ "diff": " " })));
        assert!(nothing["error"]["message"].as_str().expect("why").contains("nothing to review"));
        let prompt = json!({ "type": "ref/prompt", "name": "release_notes" });
        let suggested = complete(&mut client, prompt, "audience", "c");
        assert_eq!(suggested, json!(["customers", "colleagues"]));
    }
}

#[test]
fn apps_show_a_page_with_what_the_tool_answers() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_apps"), era);
        let tool = client.ask("tools/list", json!({}))["tools"][0].take();
        assert_eq!(tool["_meta"]["ui"]["resourceUri"], "ui://sales/chart");
        let page = client.ask("resources/read", json!({ "uri": "ui://sales/chart" }));
        let page = &page["contents"][0];
        assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(page["_meta"]["ui"]["prefersBorder"], true);
        assert!(page["text"].as_str().expect("a page").contains("ui/notifications/tool-result"));
        let sales = client.call("sales", json!({ "months": 2 }));
        let months = json!([{"month": "January", "sold": 120}, {"month": "February", "sold": 95}]);
        assert_eq!(sales["structuredContent"]["months"], months);
    }
}

#[test]
fn apps_draw_their_chart_as_text_for_who_shows_no_page() {
    let shows = |types: Value| json!({"extensions": {"io.modelcontextprotocol/ui": types}});
    let page = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
    let cases = [
        (json!({}), true),
        (shows(json!({"mimeTypes": ["image/png"]})), true),
        (shows(page), false),
        (shows(json!({})), false),
    ];
    for era in ERAS {
        for (capabilities, draws) in &cases {
            let program = env!("CARGO_BIN_EXE_apps");
            let nobody = |method: &str, _: &Value| panic!("nobody answers {method}");
            let mut client = Client::capable(program, era, capabilities.clone(), nobody);
            let sales = client.call("sales", json!({ "months": 1 }));
            let chart = &sales["structuredContent"]["chart"];
            let expected = if *draws { json!("January  ############ 120\n") } else { Value::Null };
            assert_eq!(*chart, expected, "{capabilities}");
        }
    }
}

#[test]
fn subscriptions_tell_what_has_changed() {
    for era in ERAS {
        let mut client = Client::start(env!("CARGO_BIN_EXE_subscriptions"), era);
        if era == Era::Modern {
            let wishes = json!({
                "toolsListChanged": true,
                "resourceSubscriptions": ["shopping://list"],
            });
            client.send("subscriptions/listen", json!({ "notifications": wishes }));
            client.wait_for("notifications/subscriptions/acknowledged");
        } else {
            client.ask("resources/subscribe", json!({ "uri": "shopping://list" }));
        }
        client.call("add_item", json!({ "item": "tea" }));
        let changed = client.wait_for("notifications/resources/updated");
        assert_eq!(changed["uri"], "shopping://list");
        let list = client.ask("resources/read", json!({ "uri": "shopping://list" }));
        assert_eq!(list["contents"][0]["text"], "tea");

        assert_eq!(client.tools(), ["add_item", "go_shopping"]);
        client.call("go_shopping", json!({}));
        client.wait_for("notifications/tools/list_changed");
        assert_eq!(client.tools(), ["add_item", "go_shopping", "cross_out"]);
        assert_eq!(client.text("cross_out", json!({ "item": "tea" })), "That was all.");
        client.wait_for("notifications/tools/list_changed");
        assert_eq!(client.tools(), ["add_item", "go_shopping"]);
    }
}
