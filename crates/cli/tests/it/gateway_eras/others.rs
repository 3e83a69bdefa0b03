//! Servers that others wrote, which ask back, behind a gateway.

use super::{ERAS, Person, call, run};
use crate::foreign_servers::{asking, everything, listening_asking};
use crate::gateway::{gate, serve};
use haft_client::{Client, Options, Target, connect};
use haft_proto::version::Era;
use serde_json::{Value, json};
use std::sync::Arc;

fn argv(command: &str) -> String {
    json!(shlex::split(command).expect("quotes are closed")).to_string()
}

async fn client(url: &str, era: Era) -> Client {
    let person = Arc::<Person>::default();
    let options = Options { era: Some(era), answerer: Some(person), ..Options::default() };
    connect(&Target::Url(url.to_owned()), &options).await.expect("it listens")
}

#[test]
fn what_others_ask_reaches_clients_of_either_era() {
    let (modern, legacy) = (listening_asking("http"), listening_asking("http sessions"));
    let desk = gate(&format!(
        "  all: {{ command: {} }}\n\
         \x20 old: {{ command: {argv}, era: legacy }}\n\
         \x20 new: {{ command: {argv}, era: modern }}\n\
         \x20 oldhttp: {{ url: {:?}, era: legacy }}\n\
         \x20 newhttp: {{ url: {:?}, era: modern }}\n",
        argv(&everything()),
        legacy.url,
        modern.url,
        argv = argv(&asking("stdio")),
    ));
    let gate = serve(desk.file());
    run(async {
        for era in ERAS {
            let client = client(&gate.url, era).await;
            let asked = json!({"prompt": "x", "maxTokens": 10});
            let said = call(&client, "all_trigger-sampling-request", asked).await;
            let said = said.expect("an answer");
            assert!(said.contains("Paris"), "{said} {era:?}");
            let said = call(&client, "all_trigger-elicitation-request", json!({})).await;
            let said = said.expect("an answer");
            assert!(said.contains("provided the requested information"), "{said} {era:?}");
            for server in ["old", "new", "oldhttp", "newhttp"] {
                for (tool, expected) in [
                    ("think", r#"/model/content/text "Paris""#),
                    ("where", r#"/roots/roots/0/uri "file:///work""#),
                    ("pay", r#"/page/action "accept""#),
                    ("agree", r#"/it/action "accept""#),
                ] {
                    let said = call(&client, &format!("{server}_{tool}"), json!({})).await;
                    let said = said.unwrap_or_else(|error| panic!("{server} {tool}: {error}"));
                    let heard: Value = serde_json::from_str(&said).unwrap_or_default();
                    let (place, word) = expected.split_once(' ').expect("two");
                    let found = heard.pointer(place).map(Value::to_string);
                    assert_eq!(found.as_deref(), Some(word), "{server} {tool} {era:?}: {said}");
                }
                let said = call(&client, &format!("{server}_steps"), json!({})).await;
                assert_eq!(said.ok().as_deref(), Some("two steps"), "{server} {era:?}");
            }
            if era == Era::Modern {
                // It has no such error as the server's, and is asked to go there.
                for tool in ["old_visit", "oldhttp_visit"] {
                    let said = call(&client, tool, json!({})).await;
                    assert_eq!(said.expect("an answer"), "you were there", "{tool}");
                }
            }
            client.close().await;
        }
    });
}
