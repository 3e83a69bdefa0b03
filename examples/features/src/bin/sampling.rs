//! Asking the client's model, which may use a tool before it answers. The server needs no key of
//! any provider. `npx @modelcontextprotocol/inspector target/debug/sampling` lets you be the model.

use haft::{Context, Role, Sample, SampleMessage, ToolUse};
use serde::Deserialize;
use std::error::Error;

/// The price of something in the shop, in cents.
#[haft::tool(read_only)]
fn price_of(item: String) -> Result<u32, String> {
    match &*item {
        "coffee" => Ok(320),
        "tea" => Ok(280),
        "scone" => Ok(450),
        _ => Err(format!("we have no {item}; only coffee, tea and scone")),
    }
}

/// Answers a customer's question about the shop.
#[haft::tool(read_only)]
async fn answer_customer(question: String, context: &Context) -> Result<String, Box<dyn Error>> {
    let mut talk = Sample::text(question, 500);
    talk.system_prompt = Some("You stand behind the counter. Look prices up.".to_owned());
    // Not every client lets its model use tools.
    if context.client().sampling_tools {
        talk.tools.push(price_of::tool().definition()?);
    }
    for round in 1..=5 {
        let said = context.sample(&format!("answer {round}"), talk.clone()).await?;
        let uses = said.tool_uses();
        if uses.is_empty() {
            return Ok(said.text());
        }
        let content = uses.iter().map(|used| match look_up(used) {
            Ok(cents) => used.result(&cents.to_string(), false),
            Err(problem) => used.result(&problem, true),
        });
        let told = SampleMessage { role: Role::User, content: content.collect() };
        talk.messages.extend([said.into_message(), told]);
    }
    Err("the model looks things up and never answers".into())
}

fn look_up(used: &ToolUse) -> Result<u32, String> {
    #[derive(Deserialize)]
    struct Wanted {
        item: String,
    }
    if used.name != "price_of" {
        return Err(format!("there is no tool {}", used.name));
    }
    let wanted: Wanted = serde_json::from_str(used.input.get()).map_err(|e| e.to_string())?;
    price_of(wanted.item)
}

fn main() -> haft::Result<()> {
    haft::server("sampling", "1.0.0").tool(answer_customer::tool()).run()
}
