//! Changes: a resource that clients subscribe to, and a tool that is there only while it makes
//! sense. `npx @modelcontextprotocol/inspector target/debug/subscriptions`

use haft::{BuildError, Context, State};
use std::sync::{Mutex, PoisonError};

const LIST: &str = "shopping://list";

/// What is to be bought.
#[derive(Default)]
struct Shopping(Mutex<Vec<String>>);

impl Shopping {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<String>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is to be bought, an item a line.
#[haft::resource("shopping://list", mime = "text/plain")]
fn list(shopping: State<Shopping>) -> String {
    shopping.change(|items| items.join("\n"))
}

/// Writes something on the shopping list.
#[haft::tool]
fn add_item(item: String, shopping: State<Shopping>, context: &Context) {
    shopping.change(|items| items.push(item));
    // Whoever subscribed is told; many changes in a row are one notification.
    context.server().resource_updated(LIST);
}

/// Begins to shop: from now on items can be crossed out.
#[haft::tool]
fn go_shopping(context: &Context) -> Result<(), BuildError> {
    let server = context.server();
    if server.tool_names().iter().any(|name| name == "cross_out") {
        return Ok(());
    }
    // Clients are told that the list of tools has changed.
    server.add_tool(cross_out::tool())
}

/// Crosses out what has been bought. The last item ends the shopping.
#[haft::tool(idempotent)]
fn cross_out(item: String, shopping: State<Shopping>, context: &Context) -> &'static str {
    let is_done = shopping.change(|items| {
        items.retain(|known| *known != item);
        items.is_empty()
    });
    context.server().resource_updated(LIST);
    if is_done {
        context.server().remove_tool("cross_out");
    }
    if is_done { "That was all." } else { "There is more." }
}

fn main() -> haft::Result<()> {
    haft::server("subscriptions", "1.0.0")
        .state(Shopping::default())
        .resource(list::resource())
        .tools(haft::tools![add_item, go_shopping])
        .run()
}
