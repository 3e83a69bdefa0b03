//! Examples that ask their client: the answer is used, whichever era the question travels in.

use crate::server::{Client, ERAS, Era, text};
use serde_json::{Value, json};

#[test]
fn elicitation_books_what_was_filled_in_and_agreed_to() {
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    let answer = |method: &str, params: &Value| {
        assert_eq!(method, "elicitation/create");
        if params["mode"] == "url" {
            assert_eq!(params["url"], "https://restaurant.example/deposit/1");
            return json!({ "action": "accept" });
        }
        assert_eq!(params["requestedSchema"]["required"], json!(["guests", "outside"]));
        json!({ "action": "accept", "content": { "guests": 8, "outside": true } })
    };
    for era in ERAS {
        let program = env!("CARGO_BIN_EXE_elicitation");
        let mut client = Client::capable(program, era, capabilities.clone(), answer);
        let booked = client.text("book_table", json!({ "name": "Ada" }));
        assert_eq!(booked, "Booking 1: 8 guests outside, for Ada.");
    }
}

#[test]
fn elicitation_books_nothing_for_who_declines_or_cannot_be_asked() {
    let program = env!("CARGO_BIN_EXE_elicitation");
    for era in ERAS {
        let can = json!({ "elicitation": {} });
        let mut client = Client::capable(program, era, can, |_, _| json!({"action": "decline"}));
        assert_eq!(client.text("book_table", json!({ "name": "Ada" })), "Nothing is booked.");
        let arguments = json!({ "name": "book_table", "arguments": { "name": "Ada" } });
        let refused = Client::start(program, era).answer("tools/call", arguments);
        match era {
            Era::Legacy => {
                assert!(text(&refused["result"]).contains("cannot do this"), "{refused}");
            }
            Era::Modern => assert_eq!(refused["error"]["code"], -32021, "{refused}"),
        }
    }
}

#[test]
fn sampling_looks_a_price_up_for_the_model() {
    let answer = |method: &str, params: &Value| {
        assert_eq!(method, "sampling/createMessage");
        assert_eq!(params["tools"][0]["name"], "price_of");
        let messages = params["messages"].as_array().expect("a conversation");
        let content = match messages.len() {
            1 => json!([
                {"type": "tool_use", "id": "a", "name": "price_of", "input": {"item": "tea"}},
                {"type": "tool_use", "id": "b", "name": "price_of", "input": {"item": "gold"}},
            ]),
            _ => {
                assert_eq!(messages[1]["content"][0]["type"], "tool_use");
                let told = &messages[2]["content"];
                assert_eq!(told[0]["toolUseId"], "a");
                assert_eq!(
                    (&told[0]["isError"], &told[1]["isError"]),
                    (&json!(false), &json!(true))
                );
                let cents = told[0]["content"][0]["text"].as_str().expect("a text");
                json!({"type": "text", "text": format!("Tea is {cents} cents.")})
            }
        };
        json!({"role": "assistant", "model": "test", "content": content})
    };
    for era in ERAS {
        let program = env!("CARGO_BIN_EXE_sampling");
        let can = json!({ "sampling": { "tools": {} } });
        let mut client = Client::capable(program, era, can, answer);
        let said = client.text("answer_customer", json!({ "question": "How much is tea?" }));
        assert_eq!(said, "Tea is 280 cents.");
    }
}

#[test]
fn roots_searches_where_the_client_says_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("my project/src"), folder.path().join("other"));
    for path in [&inside, &outside] {
        std::fs::create_dir_all(path).expect("a folder");
        std::fs::write(path.join("notes.txt"), "").expect("a file");
    }
    let root = format!("file://{}/my%20project", folder.path().display());
    for era in ERAS {
        let roots = json!({ "roots": [{ "uri": root }, { "uri": "https://elsewhere.example" }] });
        let answer = move |method: &str, _: &Value| {
            assert_eq!(method, "roots/list");
            roots.clone()
        };
        let program = env!("CARGO_BIN_EXE_roots");
        let mut client = Client::capable(program, era, json!({ "roots": {} }), answer);
        let found = client.text("find_file", json!({ "name": "notes.txt" }));
        assert_eq!(found, inside.join("notes.txt").display().to_string());
        assert_eq!(client.text("find_file", json!({ "name": "x" })), "no x in 2 projects");
    }
}
