//! `haft agent` beside its tools and `haft serve --agents` where its callers are: who comes in,
//! what is offered, and what becomes of it when either is killed.

use crate::desk::Desk;
use crate::gateway::{DEADLINE, Served, called, city, signal, started, tools};
use crate::guard::Guard;
use crate::haft::{Ran, haft};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// A gateway of a file, and the port that agents come to.
pub(crate) struct Hub {
    pub(crate) served: Served,
    pub(crate) port: u16,
    desk: Desk,
}

impl Hub {
    /// With an upstream `plant` of these agents.
    pub(crate) fn of(agents: &str) -> Self {
        Self::seen(agents, &[])
    }

    /// The same, started with more arguments.
    pub(crate) fn seen(agents: &str, more: &[&str]) -> Self {
        Self::begin(
            Desk::with(&format!(
                "server: {{ name: gate }}\nupstreams: {{ plant: {{ agent: {agents} }} }}\n"
            )),
            0,
            more,
        )
    }

    fn again(desk: Desk, port: u16) -> Self {
        Self::begin(desk, port, &[])
    }

    fn begin(desk: Desk, port: u16, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(["serve", desk.file(), "--http", "127.0.0.1:0"]);
        command.args(["--agents", &format!("127.0.0.1:{port}"), "--state"]);
        command.arg(desk.path("gateway")).args(more);
        let served = started(command);
        let line = served.told(&["agents may come to"]);
        let port = line.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        Self { served, port, desk }
    }

    pub(crate) fn url(&self) -> &str {
        &self.served.url
    }

    fn ask(&self, verb: &str, name: &str) -> Ran {
        let state = self.desk.path("gateway");
        haft([verb, name, "--state", state.to_str().expect("text"), "--json"])
    }

    pub(crate) fn token(&self, name: &str) -> String {
        self.ask("invite", name).json()["token"].as_str().expect("a token").to_owned()
    }

    /// Waits until these tools are there.
    #[track_caller]
    pub(crate) fn has(&self, expected: &[&str]) {
        let since = Instant::now();
        loop {
            let there = tools(self.url(), "modern");
            if there == expected {
                return;
            }
            assert!(since.elapsed() < DEADLINE, "{there:?}, not {expected:?}");
        }
    }
}

/// An agent, and what it says.
pub(crate) struct Agent {
    child: Guard,
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    /// One of a file beside which it keeps who it is.
    pub(crate) fn of(desk: &Desk, port: u16, more: &[&str]) -> Self {
        Self::with(desk, port, more, "")
    }

    /// The same with a token that is in its environment.
    pub(crate) fn with(desk: &Desk, port: u16, more: &[&str], token: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.env("HAFT_JOIN", token).args([
            "agent",
            desk.file(),
            "--gateway",
            &format!("127.0.0.1:{port}"),
        ]);
        command.arg("--identity").arg(desk.path("identity.pem")).args(more);
        let mut child = Guard(command.stderr(Stdio::piped()).spawn().expect("it is built"));
        let lines = BufReader::new(child.0.stderr.take().expect("it is piped")).lines();
        let said = Arc::<Mutex<Vec<String>>>::default();
        let keep = Arc::clone(&said);
        thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| keep.lock().expect("free").push(line));
        });
        Self { child, said }
    }

    /// One that joins.
    pub(crate) fn joining(desk: &Desk, hub: &Hub, name: &str) -> Self {
        Self::of(desk, hub.port, &["--join", &hub.token(name)])
    }

    /// Waits until it says that.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        let since = Instant::now();
        while !self.said.lock().expect("free").iter().any(|line| line.contains(words)) {
            assert!(since.elapsed() < DEADLINE, "{words}: {:?}", self.said.lock());
            thread::yield_now();
        }
    }

    pub(crate) fn process(&self) -> String {
        self.child.0.id().to_string()
    }
}

pub(crate) const TOOLS: [&str; 3] = ["plant_whoami", "plant_echo", "plant_process"];

#[test]
fn what_an_agent_has_is_served_in_both_eras_and_a_token_is_of_use_once() {
    let hub = Hub::of("plant-7");
    let site = Desk::with(&city("plant"));
    assert_eq!(tools(hub.url(), "modern"), [""; 0]);
    let token = hub.token("plant-7");
    let agent = Agent::of(&site, hub.port, &["--join", &token]);
    agent.says("linked to 127.0.0.1:");
    hub.has(&TOOLS);
    for era in ["legacy", "modern"] {
        assert_eq!(tools(hub.url(), era), TOOLS);
        assert_eq!(called(hub.url(), era, "plant_whoami", &json!({})), "plant");
        let text = "é \" \\ \u{1f600}\n2";
        assert_eq!(called(hub.url(), era, "plant_echo", &json!({"text": text})), text);
        let read = haft(["read", hub.url(), "plant:about", "--era", era]);
        assert_eq!(read.printed().trim(), "about plant");
        let prompt = haft(["prompt", hub.url(), "plant_visit", "day=friday", "--era", era]);
        assert!(prompt.printed().contains("plant on friday"), "{prompt:?}");
    }
    // Whoever brings it again is not let in; the agent itself needs it no more.
    let other = Desk::with(&city("other"));
    let late = Agent::of(&other, hub.port, &["--join", &token]);
    late.says("the token is not known, or was used before: ask for a new one");
    signal(&agent.process(), "-TERM");
    hub.has(&[]);
    let _again = Agent::of(&site, hub.port, &["--join", &token]);
    hub.has(&TOOLS);
}

#[test]
fn an_agent_that_is_killed_and_started_again_is_the_same_one() {
    let hub = Hub::of("plant-7");
    let site = Desk::with(&city("plant"));
    let agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    signal(&agent.process(), "-KILL");
    let again = Agent::of(&site, hub.port, &[]);
    again.says("linked to 127.0.0.1:");
    assert_eq!(called(hub.url(), "modern", "plant_whoami", &json!({})), "plant");
}

#[test]
fn a_gateway_that_is_killed_and_started_again_is_found_again() {
    let hub = Hub::of("plant-7");
    let site = Desk::with(&city("plant"));
    let _agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    let Hub { served, port, desk } = hub;
    drop(served);
    let hub = Hub::again(desk, port);
    hub.has(&TOOLS);
    assert_eq!(called(hub.url(), "legacy", "plant_whoami", &json!({})), "plant");
}

#[test]
fn an_edit_beside_the_tools_is_seen_where_the_callers_are() {
    let hub = Hub::of("plant-7");
    let site = Desk::with(&city("plant"));
    let agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    std::fs::write(site.path("haft.yaml"), city("plant").replace("whoami", "name")).expect("ours");
    signal(&agent.process(), "-HUP");
    hub.has(&["plant_name", "plant_echo", "plant_process"]);
}

#[test]
fn an_agent_that_is_told_to_stop_answers_what_it_has_and_waits_for_nothing_else() {
    let hub = Hub::of("plant-7");
    let (site, marks) = (Desk::with(&city("plant")), Desk::with(""));
    let began = marks.path("began");
    let slow = format!("touch {}; sleep 3; echo done", began.display());
    let text = city("plant").replace("echo $PPID", &slow);
    std::fs::write(site.path("haft.yaml"), text).expect("ours");
    let mut agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    let url = hub.url().to_owned();
    let called = thread::spawn(move || called(&url, "modern", "plant_process", &json!({})));
    let since = Instant::now();
    while !began.exists() {
        assert!(since.elapsed() < DEADLINE, "it is begun");
    }
    signal(&agent.process(), "-TERM");
    assert_eq!(called.join().expect("no panic"), "done");
    assert!(agent.child.0.wait().expect("it ends").success());
    assert!(since.elapsed() < DEADLINE, "the gateway's listening does not keep it");
}

#[test]
fn of_a_group_those_answer_that_are_there() {
    let hub = Hub::of("[plant-7, plant-8]");
    let sites = [Desk::with(&city("seven")), Desk::with(&city("eight"))];
    let seven = Agent::joining(&sites[0], &hub, "plant-7");
    hub.has(&TOOLS);
    let eight = Agent::joining(&sites[1], &hub, "plant-8");
    eight.says("linked to 127.0.0.1:");
    signal(&seven.process(), "-TERM");
    let since = Instant::now();
    while called(hub.url(), "modern", "plant_whoami", &json!({})) != "eight" {
        assert!(since.elapsed() < DEADLINE, "seven still answers");
    }
    drop(eight);
}

#[test]
fn servers_behind_an_agent_are_offered_as_well() {
    let hub = Hub::of("plant-7");
    let inner = Desk::with(&city("inner"));
    let command = format!("{:?}, serve, {:?}, --stdio", env!("CARGO_BIN_EXE_haft"), inner.file());
    let site = Desk::with(&format!(
        "server: {{ name: site }}\nupstreams: {{ mill: {{ command: [{command}] }} }}\n"
    ));
    let _agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&["plant_mill_whoami", "plant_mill_echo", "plant_mill_process"]);
    assert_eq!(called(hub.url(), "legacy", "plant_mill_whoami", &json!({})), "inner");
}

#[test]
fn one_that_was_revoked_and_one_that_never_joined_are_told_what_to_do() {
    let hub = Hub::of("plant-7");
    let site = Desk::with(&city("plant"));
    let agent = Agent::joining(&site, &hub, "plant-7");
    hub.has(&TOOLS);
    assert_eq!(hub.ask("revoke", "plant-7").json(), json!({"agent": "plant-7", "revoked": true}));
    agent.says("its certificate was revoked: join again with a new token");
    hub.has(&[]);
    hub.served.told(&["the link from 127.0.0.1:", "its certificate was revoked"]);
    let gone = hub.ask("revoke", "plant-7");
    assert_eq!(gone.code, Some(5), "{gone:?}");
    let stranger = Desk::with(&city("stranger"));
    let agent = Agent::of(&stranger, hub.port, &[]);
    agent.says("error: this agent has not joined; give it a token with --join TOKEN");
    let bad = haft(["agent", site.file(), "--gateway", "127.0.0.1:1", "--join", "abc"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stderr.contains("this is no token to join with"), "{bad:?}");
}
