//! Tools that ask whoever calls them.

use crate::fixture::{Gate, Nothing};
use haft_server::{AskError, Context, Elicited, ServerBuilder, Tool, handler};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// Adds them.
pub(crate) fn asking_tools(builder: ServerBuilder, gate: &Arc<Gate>) -> ServerBuilder {
    let giving_up = Arc::clone(gate);
    builder
        .tool(Tool::new(
            "ask",
            handler::future(|Nothing {}, context| async move { ask(&context).await }),
        ))
        .tool(Tool::new(
            "visit",
            handler::future(|Nothing {}, context| async move {
                let visit = context.elicit_url("login", "Log in", "https://x.example/").await?;
                context.elicitation_done("another");
                context.elicitation_done("login");
                context.elicitation_done("login");
                Ok::<_, AskError>(visit.action())
            }),
        ))
        .tool(Tool::new(
            "roots",
            handler::future(|Nothing {}, context| async move {
                context.roots("where").await.map(|roots| format!("{} roots", roots.len()))
            }),
        ))
        .tool(Tool::new(
            "three_questions",
            handler::future(|Nothing {}, context| async move {
                let three = [ask(&context), ask(&context), ask(&context)];
                let three = futures_util::future::join_all(three).await;
                let three =
                    three.into_iter().map(|one| one.unwrap_or_else(|error| error.to_string()));
                three.collect::<Vec<_>>().join("; ")
            }),
        ))
        .tool(Tool::new(
            "give_up",
            handler::future(move |Nothing {}, context| {
                let gate = Arc::clone(&giving_up);
                async move {
                    tokio::select! {
                        _ = ask(&context) => "answered",
                        () = gate.open.notified() => "gave up",
                    }
                }
            }),
        ))
}

/// Adds tools that say something, wait for the gate, and go on.
pub(crate) fn waiting_tools(builder: ServerBuilder, gate: &Arc<Gate>) -> ServerBuilder {
    let (stepping, leaving) = (Arc::clone(gate), Arc::clone(gate));
    builder
        .tool(Tool::new(
            "steps",
            handler::future(move |Nothing {}, context| {
                let gate = Arc::clone(&stepping);
                async move {
                    for step in 1..=3 {
                        context.progress(f64::from(step), None, None);
                        gate.open.notified().await;
                    }
                    gate.ended.notify_one();
                    "done"
                }
            }),
        ))
        .tool(Tool::new(
            "leave",
            handler::future(move |Nothing {}, context| {
                let gate = Arc::clone(&leaving);
                async move {
                    context.disconnect(Duration::from_millis(70));
                    gate.open.notified().await;
                    context.progress(1.0, None, None);
                    let name = ask(&context).await;
                    name.map(|name| format!("{name} came back"))
                }
            }),
        ))
}

/// Asks for a name.
async fn ask(context: &Context) -> Result<String, AskError> {
    #[derive(Deserialize)]
    struct Form {
        name: String,
    }
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    Ok(match context.elicit::<Form>("name", "Who are you?", schema).await? {
        Elicited::Accepted(form) => form.name,
        other => other.action().to_owned(),
    })
}
