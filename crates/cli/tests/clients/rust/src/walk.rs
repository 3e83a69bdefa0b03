//! The steps. `main` takes them with a connected client; a step that fails stops no other.

use std::fmt::Debug;

use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CallToolResult, ClientRequest, CompleteRequestParams,
    GetPromptRequestParams, LoggingLevel, PingRequest, ReadResourceRequestParams, Reference,
    RequestMetaObject, ResourceContents, ServerNotification, ServerResult, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::answers::Heard;
use crate::{STEP_LIMIT, Session};

const WATCHED: &str = "test://watched-resource";

pub(crate) struct Walk<'a> {
    pub(crate) session: &'a Session,
    pub(crate) modern: bool,
    pub(crate) heard: Receiver<Heard>,
}

/// Why a step came to nothing.
enum Stop {
    /// The client has no way to do it.
    Unable(&'static str),
    Wrong(String),
}

type Step = Result<Value, Stop>;

/// Whatever the client complains of.
impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// Prints what came of a step.
async fn step(name: &str, run: impl Future<Output = Step>) {
    let line = match timeout(STEP_LIMIT, run).await {
        Ok(Ok(detail)) => json!({"step": name, "ok": true, "detail": detail}),
        Ok(Err(Stop::Unable(reason))) => json!({"step": name, "skipped": reason}),
        Ok(Err(Stop::Wrong(said))) => json!({"step": name, "ok": false, "detail": said}),
        Err(_) => {
            json!({"step": name, "ok": false, "detail": format!("nothing in {STEP_LIMIT:?}")})
        }
    };
    println!("{line}");
}

fn check(holds: bool, otherwise: impl Debug) -> Result<(), Stop> {
    if holds { Ok(()) } else { Err(Stop::Wrong(format!("{otherwise:?}"))) }
}

impl Walk<'_> {
    pub(crate) async fn list_and_call(&self, calls: &[(String, Map<String, Value>)]) {
        step("list_tools", async {
            let tools = self.session.list_all_tools().await?;
            Ok(tools.iter().map(|tool| tool.name.as_ref()).collect())
        })
        .await;
        for (name, arguments) in calls {
            let params = CallToolRequestParams::new(name.clone()).with_arguments(arguments.clone());
            let called = async { Ok(json!(self.session.call_tool(params).await?)) };
            step("call_tool", called).await;
        }
    }

    pub(crate) async fn steps(&mut self) {
        step("list_tools", self.list_tools()).await;
        let simple = "This is a simple text response for testing.";
        step("call_tool", self.says("test_simple_text", json!({}), simple)).await;
        step("tool_error", self.tool_error()).await;
        step("list_resources", self.list_resources()).await;
        let text = "This is the content of the static text resource.";
        step("read_resource", self.reads("test://static-text", text)).await;
        step("list_templates", self.list_templates()).await;
        step("read_template", self.reads("test://template/123/data", "Data for ID: 123")).await;
        step("list_prompts", self.list_prompts()).await;
        step("get_prompt", self.get_prompt()).await;
        step("complete", self.complete()).await;
        step("progress", self.progress()).await;
        step("log", self.log()).await;
        step("elicit", self.elicit()).await;
        step("sample", self.sample()).await;
        step("roots", self.says("test_roots", json!({}), "roots: 2")).await;
        step("resource_updated", self.resource_updated()).await;
        step("list_changed", self.list_changed()).await;
        step("cancel", self.cancel()).await;
        step("ping", self.ping()).await;
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, Stop> {
        let arguments = serde_json::from_value(arguments)?;
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        Ok(self.session.call_tool(params).await?)
    }

    async fn says(&self, tool: &'static str, arguments: Value, part: &str) -> Step {
        let result = self.call(tool, arguments).await?;
        let text = result.content.first().and_then(|block| block.as_text());
        let text = text.map(|text| text.text.clone()).unwrap_or_default();
        check(result.is_error != Some(true) && text.contains(part), &result)?;
        Ok(text.into())
    }

    async fn list_tools(&self) -> Step {
        let tools = self.session.list_tools(None).await?.tools;
        check(tools.iter().any(|tool| tool.name == "test_simple_text"), &tools)?;
        Ok(tools.len().into())
    }

    async fn tool_error(&self) -> Step {
        let result = self.call("test_error_handling", json!({})).await?;
        check(result.is_error == Some(true), &result)?;
        Ok(Value::Null)
    }

    async fn list_resources(&self) -> Step {
        let resources = self.session.list_resources(None).await?.resources;
        let found = resources.iter().any(|resource| resource.uri == "test://static-text");
        check(found, &resources)?;
        Ok(resources.len().into())
    }

    async fn reads(&self, uri: &str, part: &str) -> Step {
        let params = ReadResourceRequestParams::new(uri);
        let contents = self.session.read_resource(params).await?.contents;
        let [ResourceContents::TextResourceContents { text, .. }] = &contents[..] else {
            return Err(Stop::Wrong(format!("{contents:?}")));
        };
        check(text.contains(part), text)?;
        Ok(Value::Null)
    }

    async fn list_templates(&self) -> Step {
        let templates = self.session.list_resource_templates(None).await?.resource_templates;
        let wanted = "test://template/{id}/data";
        check(templates.iter().any(|template| template.uri_template == wanted), &templates)?;
        Ok(templates.len().into())
    }

    async fn list_prompts(&self) -> Step {
        let prompts = self.session.list_prompts(None).await?.prompts;
        let wanted = "test_prompt_with_arguments";
        check(prompts.iter().any(|prompt| prompt.name == wanted), &prompts)?;
        Ok(prompts.len().into())
    }

    async fn get_prompt(&self) -> Step {
        let mut params = GetPromptRequestParams::new("test_prompt_with_arguments");
        params.arguments = serde_json::from_value(json!({"arg1": "ein", "arg2": "zwei"}))?;
        let messages = self.session.get_prompt(params).await?.messages;
        let text = messages[0].content.as_text().map(|text| text.text.as_str());
        check(text == Some("Prompt with arguments: arg1='ein', arg2='zwei'"), &messages)?;
        Ok(Value::Null)
    }

    async fn complete(&self) -> Step {
        let argument: ArgumentInfo =
            serde_json::from_value(json!({"name": "arg1", "value": "test"}))?;
        let prompt = Reference::for_prompt("test_prompt_with_arguments");
        let params = CompleteRequestParams::new(prompt, argument);
        let values = self.session.complete(params).await?.completion.values;
        check(values == ["test", "testing", "tested"], &values)?;
        Ok(values.into())
    }

    /// Takes what the handlers heard, until there is enough of it.
    async fn hear(&mut self, count: usize) -> Vec<Heard> {
        let mut all = Vec::new();
        while all.len() < count
            && let Some(one) = self.heard.recv().await
        {
            all.push(one);
        }
        all
    }

    /// The client sends a token with every request, unasked.
    async fn progress(&mut self) -> Step {
        self.call("test_tool_with_progress", json!({})).await?;
        let seen = self.hear(3).await;
        check(seen == [0., 50., 100.].map(Heard::Progress), &seen)?;
        Ok(json!([0, 50, 100]))
    }

    async fn log(&mut self) -> Step {
        let mut params = CallToolRequestParams::new("test_tool_with_logging");
        if self.modern {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(LoggingLevel::Debug);
            params.meta = Some(meta);
        } else {
            self.session.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await?;
        }
        self.session.call_tool(params).await?;
        let seen = self.hear(3).await;
        let all = ["Tool execution started", "Tool processing data", "Tool execution completed"];
        check(seen == all.map(|said| Heard::Log(said.into())), &seen)?;
        Ok(seen.len().into())
    }

    async fn elicit(&self) -> Step {
        if self.modern {
            return self
                .says("test_input_required_result_elicitation", json!({}), "Hello, Alice!")
                .await;
        }
        self.says("test_elicitation", json!({"message": "Who?"}), "action=accept").await
    }

    async fn sample(&self) -> Step {
        if self.modern {
            return self.says("test_input_required_result_sampling", json!({}), "Paris").await;
        }
        self.says("test_sampling", json!({"prompt": "Where?"}), "LLM response: Paris").await
    }

    /// What a subscription of the modern era brings, the handlers do not hear.
    async fn listened(
        &self,
        filter: SubscriptionFilter,
        tool: &'static str,
    ) -> Result<Option<ServerNotification>, Stop> {
        let mut subscription = self.session.listen(filter).await?;
        self.call(tool, json!({})).await?;
        let first = subscription.next().await?;
        subscription.cancel().await?;
        Ok(first)
    }

    async fn resource_updated(&mut self) -> Step {
        if self.modern {
            let filter = SubscriptionFilter::builder().resource_subscriptions([WATCHED]).build();
            let first = self.listened(filter, "test_update_watched").await?;
            let Some(ServerNotification::ResourceUpdatedNotification(updated)) = &first else {
                return Err(Stop::Wrong(format!("{first:?}")));
            };
            check(updated.params.uri == WATCHED, &first)?;
            return Ok(Value::Null);
        }
        self.session.subscribe(SubscribeRequestParams::new(WATCHED)).await?;
        self.call("test_update_watched", json!({})).await?;
        let seen = self.hear(1).await;
        check(seen == [Heard::Updated(WATCHED.to_owned())], &seen)?;
        self.session.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await?;
        Ok(Value::Null)
    }

    async fn list_changed(&mut self) -> Step {
        if self.modern {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let first = self.listened(filter, "test_trigger_tool_change").await?;
            let changed = matches!(first, Some(ServerNotification::ToolListChangedNotification(_)));
            check(changed, &first)?;
            return Ok(Value::Null);
        }
        self.call("test_trigger_tool_change", json!({})).await?;
        let seen = self.hear(1).await;
        check(seen == [Heard::ToolsChanged], &seen)?;
        Ok(Value::Null)
    }

    /// Dropping a call cancels it.
    async fn cancel(&self) -> Step {
        tokio::select! {
            slow = self.call("test_slow", json!({"seconds": 60})) => {
                slow?;
                return Err(Stop::Wrong("the slow tool was quick".to_owned()));
            }
            begun = self.running(1) => begun?,
        }
        // The server is told, and stops.
        self.running(0).await?;
        Ok(Value::Null)
    }

    /// Asks until that many slow calls run.
    async fn running(&self, count: usize) -> Result<(), Stop> {
        let wanted = format!("slow calls: {count}");
        loop {
            let result = self.call("test_slow_running", json!({})).await?;
            let text = result.content[0].as_text().map(|text| text.text.as_str());
            if text == Some(&wanted) {
                return Ok(());
            }
        }
    }

    async fn ping(&self) -> Step {
        if self.modern {
            return Err(Stop::Unable("2026-07-28 has no ping"));
        }
        let request = ClientRequest::PingRequest(PingRequest::default());
        let result = self.session.send_request(request).await?;
        check(matches!(result, ServerResult::EmptyResult(_)), &result)?;
        Ok(Value::Null)
    }
}
