//! A gateway between clients and servers of either era: what a server asks reaches the client, in
//! as many rounds as it takes; what it says meanwhile too; and what a client takes back is taken
//! back. The server is the fixture of the official suite.

mod by_hand;
mod others;
mod tasks;
mod watching;

use crate::desk::Desk;
use crate::foreign::fixture;
use crate::foreign_servers::{Listening, listening_fixture};
use crate::gateway::{DEADLINE, Served, serve, signal};
use haft_client::{
    Answerer, Answering, Asker, CallResult, Client, ClientError, Consent, Declined, Elicited, Form,
    Notice, Offers, Options, Root, SampleRequest, Target, Visit, connect, text_message,
};
use haft_proto::version::Era;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Answers everything.
#[derive(Debug, Default)]
struct Person {
    cannot: Offers,
    /// What was shown.
    asked: Mutex<Vec<String>>,
}

impl Answerer for Person {
    fn offers(&self) -> Offers {
        Offers {
            forms: !self.cannot.forms,
            visits: true,
            sampling: !self.cannot.sampling,
            sampling_tools: true,
            roots: true,
        }
    }

    fn fill<'a>(&'a self, _: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
        self.asked.lock().expect("free").push(form.message.clone());
        let values = json!({
            "name": "Ada", "color": "blue", "ok": true, "confirm": true, "context": "rain",
            "username": "ada", "email": "ada@example.com", "yes": true,
        });
        let known = form.fields.iter().map(|field| field.name.clone());
        let values: Map<String, Value> =
            known.filter_map(|name| Some((name.clone(), values.get(&name)?.clone()))).collect();
        Box::pin(std::future::ready(Elicited::Accepted(values)))
    }

    fn visit<'a>(&'a self, _: &'a Asker, _: &'a Visit) -> Answering<'a, Consent> {
        Box::pin(std::future::ready(Consent::Accepted))
    }

    fn sample<'a>(
        &'a self,
        _: &'a Asker,
        _: &'a SampleRequest,
    ) -> Answering<'a, Result<Box<RawValue>, Declined>> {
        Box::pin(std::future::ready(Ok(text_message("m", "Paris"))))
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        let root = Root { uri: "file:///work".to_owned(), name: None };
        Box::pin(std::future::ready(Ok(vec![root])))
    }
}

/// A gateway in front of the fixture.
struct Gate {
    served: Served,
    /// What it said to the fixture over pipes, line by line.
    heard: PathBuf,
    era: Era,
    _desk: Desk,
    _behind: Option<Listening>,
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

fn word(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}

/// A file whose upstream is the fixture, which is spoken with in that era over pipes.
fn piped(era: Era) -> (Desk, PathBuf) {
    let desk = Desk::with("");
    let heard = desk.path("heard");
    let fixture = fixture::words().remove(0);
    // What is sent is written down first, so that whoever has an answer finds the question.
    let (fixture, pipe) = (fixture.display().to_string(), desk.path("pipe"));
    let script = format!(
        "pipe={pipe:?}$$; mkfifo $pipe; {fixture:?} --stdio < $pipe & exec tee $pipe >> {heard:?}"
    );
    let file = format!(
        "server: {{ name: gate, state_keys: [correct horse battery staple] }}\n\
         upstreams:\n  it: {{ command: [sh, -c, {script:?}], era: {}, prefix: \"\" }}\n",
        word(era)
    );
    fs::write(&desk.file, file).expect("a file of ours");
    (desk, heard)
}

impl Gate {
    fn piped(era: Era) -> Self {
        let (desk, heard) = piped(era);
        Self { served: serve(desk.file()), heard, era, _desk: desk, _behind: None }
    }

    fn http(era: Era) -> Self {
        let behind = listening_fixture();
        let desk = Desk::with(&format!(
            "server: {{ name: gate }}\n\
             upstreams:\n  it: {{ url: {:?}, era: {}, prefix: \"\" }}\n",
            behind.url,
            word(era)
        ));
        let heard = desk.path("heard");
        Self { served: serve(desk.file()), heard, era, _desk: desk, _behind: Some(behind) }
    }

    /// Messages of that method that the fixture was sent.
    fn sent(&self, method: &str) -> Vec<Value> {
        // It is not there before something was heard.
        let heard = fs::read_to_string(&self.heard).unwrap_or_default();
        let messages = heard.lines().filter_map(|line| serde_json::from_str(line).ok());
        messages.filter(|message: &Value| message["method"] == method).collect()
    }

    async fn client(&self, era: Era) -> (Client, Arc<Person>) {
        let person = Arc::<Person>::default();
        (self.client_of(era, Arc::clone(&person) as _).await, person)
    }

    async fn client_of(&self, era: Era, person: Arc<dyn Answerer>) -> Client {
        let options = Options {
            era: Some(era),
            answerer: Some(person),
            tasks: true,
            timeout: DEADLINE,
            ..Options::default()
        };
        let target = Target::Url(self.served.url.clone());
        connect(&target, &options).await.expect("it listens")
    }
}

/// Runs a check with each pair of eras, over each wire to the server.
fn everywhere(check: impl AsyncFn(&Gate, Era)) {
    for upstream in ERAS {
        for gate in [Gate::piped(upstream), Gate::http(upstream)] {
            for downstream in ERAS {
                run(check(&gate, downstream));
            }
        }
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let limited = async { tokio::time::timeout(DEADLINE * 3, work).await.expect("in time") };
    runtime.expect("a runtime").block_on(limited)
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).expect("JSON")
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<String, ClientError> {
    let called = client.call_tool(tool, &raw(&arguments), &mut |_| {}).await?;
    Ok(text(&called))
}

fn text(called: &CallResult) -> String {
    let result: Value = serde_json::from_str(called.raw.get()).expect("JSON");
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_a_server_asks_is_answered_by_the_client_whatever_era_either_speaks() {
    everywhere(async |gate, era| {
        let (client, _) = gate.client(era).await;
        let prefix = "test_input_required_result_";
        for (tool, expected) in [
            ("elicitation", "Hello, Ada!"),
            ("sampling", "The model says: Paris"),
            ("list_roots", "1 roots: file:///work"),
            ("multiple_inputs", "Paris Ada, you have 1 roots."),
            ("multi_round", "Ada likes blue."),
            ("request_state", "state-ok: confirmed"),
        ] {
            let said = call(&client, &format!("{prefix}{tool}"), json!({})).await;
            let said =
                said.unwrap_or_else(|error| panic!("{tool} {:?} {era:?}: {error}", gate.era));
            assert_eq!(said, expected, "{tool} {:?} {era:?}", gate.era);
        }
        let prompt = format!("{prefix}prompt");
        let got = client.get_prompt(&prompt, &[], &mut |_| {}).await;
        let got = got.expect("a prompt").raw.get().to_owned();
        assert!(got.contains("Prompt with context: rain"), "{got}");
        client.close().await;
    });
}

#[test]
fn a_question_is_put_once_and_what_was_done_before_it_is_not_done_again() {
    let gate = Gate::piped(Era::Legacy);
    run(async {
        let (client, person) = gate.client(Era::Modern).await;
        let said = call(&client, "test_input_required_result_multi_round", json!({})).await;
        assert_eq!(said.expect("an answer"), "Ada likes blue.");
        let asked = person.asked.lock().expect("free").clone();
        assert_eq!(asked, ["Step 1: What is your name?", "Step 2: What is your favorite color?"]);
        assert_eq!(gate.sent("tools/call").len(), 1, "the call waited for both answers");
        client.close().await;
    });
}

#[test]
fn a_client_that_cannot_answer_is_told_what_it_would_need() {
    everywhere(async |gate, era| {
        let cannot = Offers { sampling: true, ..Offers::default() };
        let person = Person { cannot, ..Person::default() };
        let client = gate.client_of(era, Arc::new(person)).await;
        let silent = Options { era: Some(era), ..Options::default() };
        let silent = connect(&Target::Url(gate.served.url.clone()), &silent).await;
        for client in [client, silent.expect("it listens")] {
            let arguments = raw(&json!({"prompt": "x"}));
            let called = client.call_tool("test_sampling", &arguments, &mut |_| {}).await;
            match (era, called) {
                (Era::Modern, Err(ClientError::Refused { error, .. })) => {
                    assert_eq!(error.code, -32021, "{error} {:?}", gate.era);
                    let data = error.data.expect("data").get().to_owned();
                    assert_eq!(data, r#"{"requiredCapabilities":{"sampling":{}}}"#);
                }
                (Era::Legacy, Ok(called)) => {
                    assert!(called.is_error, "{called:?}");
                    let said = text(&called);
                    assert!(said.contains("sampling"), "{said}");
                }
                (_, Err(ClientError::Refused { error, .. })) => {
                    let said = format!("{error:?}");
                    assert!(said.contains("sampling"), "{said}");
                }
                (_, other) => panic!("{other:?} {:?} {era:?}", gate.era),
            }
            client.close().await;
        }
    });
}

#[test]
fn over_pipes_a_question_that_may_be_anybodys_is_nobodys() {
    let gate = Gate::piped(Era::Legacy);
    run(async {
        let (one, _) = gate.client(Era::Legacy).await;
        let (other, _) = gate.client(Era::Modern).await;
        let slow = raw(&json!({"seconds": 600}));
        let (began, mut begun) = tokio::sync::mpsc::channel(64);
        let mut told = |notice| _ = began.try_send(matches!(notice, Notice::Progress { .. }));
        let running = one.call_tool("test_slow", &slow, &mut told);
        let asking = async {
            begun.recv().await.expect("it has begun");
            let said = call(&other, "test_input_required_result_elicitation", json!({})).await;
            let said = said.expect("an answer");
            assert!(said.contains("2 run over this connection"), "{said}");
        };
        tokio::select! {
            ended = running => panic!("{ended:?}"),
            () = asking => {}
        }
        // The other one is taken back by then, or soon.
        let since = Instant::now();
        while call(&other, "test_input_required_result_elicitation", json!({}))
            .await
            .ok()
            .as_deref()
            != Some("Hello, Ada!")
        {
            assert!(since.elapsed() < DEADLINE);
        }
    });
}

#[test]
fn progress_and_cancellation_cross() {
    everywhere(async |gate, era| {
        let (client, _) = gate.client(era).await;
        let mut told = Vec::new();
        let mut listener = |notice| {
            if let Notice::Progress { progress, .. } = notice {
                told.push(progress);
            }
        };
        let none = raw(&json!({}));
        let called = client.call_tool("test_tool_with_progress", &none, &mut listener).await;
        called.expect("an answer");
        assert_eq!(told, [0.0, 50.0, 100.0], "{:?} {era:?}", gate.era);
        let slow = raw(&json!({"seconds": 600}));
        {
            let (began, mut begun) = tokio::sync::mpsc::channel(64);
            let mut told = |_| _ = began.try_send(());
            let running = client.call_tool("test_slow", &slow, &mut told);
            tokio::select! {
                ended = running => panic!("{ended:?}"),
                begun = begun.recv() => begun.expect("it has begun"),
            }
        }
        let since = Instant::now();
        while call(&client, "test_slow_running", json!({})).await.expect("a count")
            != "slow calls: 0"
        {
            assert!(since.elapsed() < DEADLINE, "{:?} {era:?}", gate.era);
        }
        client.close().await;
    });
}

#[test]
fn a_server_logs_for_the_client_that_wants_it() {
    everywhere(async |gate, era| {
        let level = Some("info".to_owned());
        let options = Options { era: Some(era), log_level: level, ..Options::default() };
        let target = Target::Url(gate.served.url.clone());
        let client = connect(&target, &options).await.expect("it listens");
        client.set_log_level("info").await.expect("it logs");
        let mut said = Vec::new();
        let mut listener = |notice| {
            if let Notice::Log { data, .. } = notice {
                said.push(data.get().to_owned());
            }
        };
        let none = raw(&json!({}));
        let called = client.call_tool("test_tool_with_logging", &none, &mut listener).await;
        called.expect("an answer");
        assert_eq!(said.len(), 3, "{said:?} {:?} {era:?}", gate.era);
    });
}

/// Kills the server behind a gateway.
fn kill(gate: &Gate) {
    let all = below(&gate.served.child.0.id().to_string());
    let is_it = |process: &&String| {
        let name = fs::read_to_string(format!("/proc/{process}/comm"));
        name.is_ok_and(|name| name.starts_with("haft-conform"))
    };
    signal(all.iter().find(is_it).expect("it runs"), "-KILL");
}

fn below(process: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut all: Vec<String> = children.iter().flat_map(|child| below(child)).collect();
    all.extend(children);
    all
}
