//! What is asked of the servers, how hard, and how far haft means to get: the table of Reach. The
//! other modules go through it; nothing is run here.

use serde_json::Value;

use super::aim::Aim;
use super::server::{Group, LEGACY, Server};

/// What one server is asked while haft is asked the same in turns.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) wire: Wire,
    pub(super) ask: Ask,
    /// The era of haft; the other server's too, unless it is haft in its legacy era.
    pub(super) era: &'static str,
    /// What `haft bench` is told besides.
    pub(super) load: &'static [&'static str],
    /// How many times as fast as any peer haft is to be.
    reach_peers: Option<f64>,
    /// How near to its limit: of a rate this share of it, of a cold start so many times its time.
    reach_limit: Option<f64>,
    /// Whether it is about which threads answer, and nothing else is measured in it: server and
    /// load may then use every processor.
    pub(super) is_of_threads: bool,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Http,
    Stdio,
    /// From nothing to the first answer, over stdio.
    Cold,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// A text of so many bytes, which comes back.
    Echo(usize),
    /// All tools, of which there are so many.
    List(usize),
}

const SHORT: usize = 5;
/// How much of an echo is looked for in an answer, in bytes.
const EXPECTED_MAX: usize = 64;
const LONG: usize = 64 * 1024;
const TOOLS: usize = 130;

const BASE: Scenario = Scenario {
    name: "",
    title: "",
    wire: Wire::Http,
    ask: Ask::Echo(SHORT),
    era: "legacy",
    load: &[],
    reach_peers: None,
    reach_limit: None,
    is_of_threads: false,
};
const THREADS: Scenario = Scenario { is_of_threads: true, ..BASE };
const C32: &[&str] = &["--connections", "32"];
/// More threads than this make no load on this many connections.
const THREADS_MAX: usize = 32;

/// In the order of the tables.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "http-echo-1",
        title: "HTTP, echo, 1 connection",
        reach_peers: Some(2.0),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "http-echo-32",
        title: "HTTP, echo, 32 connections",
        load: C32,
        reach_peers: Some(3.5),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "http-tools-1",
        title: "HTTP, tools/list of 130, 1 connection",
        ask: Ask::List(TOOLS),
        reach_peers: Some(2.0),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "http-tools-32",
        title: "HTTP, tools/list of 130, 32 connections",
        ask: Ask::List(TOOLS),
        load: C32,
        reach_peers: Some(3.5),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "http-64k-1",
        title: "HTTP, echo of 64 KiB, 1 connection",
        ask: Ask::Echo(LONG),
        reach_peers: Some(3.5),
        ..BASE
    },
    Scenario {
        name: "http-64k-32",
        title: "HTTP, echo of 64 KiB, 32 connections",
        ask: Ask::Echo(LONG),
        load: C32,
        reach_peers: Some(3.5),
        ..BASE
    },
    Scenario {
        name: "modern-echo-1",
        title: "HTTP, echo, modern era, 1 connection",
        era: "modern",
        reach_peers: Some(2.0),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "modern-echo-32",
        title: "HTTP, echo, modern era, 32 connections",
        era: "modern",
        load: C32,
        reach_peers: Some(3.5),
        reach_limit: Some(0.9),
        ..BASE
    },
    Scenario {
        name: "stdio-echo-1",
        title: "stdio, echo, one at a time",
        wire: Wire::Stdio,
        reach_limit: Some(0.85),
        ..BASE
    },
    Scenario {
        name: "stdio-echo-64",
        title: "stdio, echo, 64 in flight",
        wire: Wire::Stdio,
        load: &["--in-flight", "64"],
        reach_peers: Some(40.0),
        reach_limit: Some(0.4),
        ..BASE
    },
    Scenario {
        name: "cold-echo",
        title: "stdio, from nothing to the first echo",
        wire: Wire::Cold,
        reach_limit: Some(3.0),
        ..BASE
    },
    Scenario {
        name: "cold-tools",
        title: "stdio, from nothing to the first tools/list of 130",
        wire: Wire::Cold,
        ask: Ask::List(TOOLS),
        ..BASE
    },
    Scenario { name: "threads-echo-1", title: "HTTP, echo, 1 connection", ..THREADS },
    Scenario { name: "threads-echo-32", title: "HTTP, echo, 32 connections", load: C32, ..THREADS },
    Scenario {
        name: "threads-echo-256",
        title: "HTTP, echo, 256 connections",
        load: &["--connections", "256"],
        ..THREADS
    },
];

impl Scenario {
    /// The one of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Whether beginnings are timed, and not answers counted.
    pub(super) fn is_cold(&self) -> bool {
        self.wire == Wire::Cold
    }

    /// The aim that a case was measured with.
    pub(super) fn aim(&self, case: &Value) -> Option<Aim> {
        let aim = case["aim"].as_f64()?;
        Some(if self.is_cold() { Aim::AtMost(aim) } else { Aim::AtLeast(aim) })
    }

    /// Whether a server can be measured in it.
    pub(super) fn suits(&self, server: &Server, group: Group) -> bool {
        let is_modern = self.era == "modern";
        let can = match self.wire {
            Wire::Http => server.speaks_http(),
            Wire::Stdio | Wire::Cold => server.speaks_stdio(),
        };
        match group {
            Group::Runtime => can && self.is_of_threads,
            Group::Limit | Group::Peer if self.is_of_threads => false,
            Group::Limit => can && is_modern == (server.name == LEGACY),
            Group::Peer => can && (!is_modern || server.is_modern),
        }
    }

    /// How far haft means to get beside a server.
    pub(super) fn reach(&self, server: &Server, group: Group) -> Option<f64> {
        match group {
            Group::Peer => self.reach_peers,
            // What can be done without any HTTP stack is told, and not aimed at.
            Group::Limit => self.reach_limit.filter(|_| server.name != "epoll"),
            // It is there to choose by.
            Group::Runtime => None,
        }
    }

    /// How many threads make the load where it shares so many processors with the server: half as
    /// many, so that it can take no more than half of the machine from what it measures, and of
    /// one connection one.
    pub(super) fn load_threads(&self, processors: usize) -> Option<usize> {
        let most = if self.load.is_empty() { 1 } else { THREADS_MAX };
        self.is_of_threads.then(|| (processors / 2).clamp(1, most))
    }

    /// The tools that servers are told to make, instead of two.
    pub(super) const fn tools(&self) -> Option<usize> {
        match self.ask {
            Ask::Echo(_) => None,
            Ask::List(count) => Some(count),
        }
    }
}

impl Ask {
    /// What `haft bench` is told of it, behind its target.
    pub(super) fn words(self) -> Vec<String> {
        match self {
            Self::List(_) => self.expected(),
            Self::Echo(length) if length > SHORT => {
                let payload = format!("text={length}B");
                let words = ["echo", "--input-json", "{}", "--payload", &payload];
                [words.map(str::to_owned).to_vec(), self.expected()].concat()
            }
            Self::Echo(length) => {
                let json = format!(r#"{{"text":"{}"}}"#, "x".repeat(length));
                let words = ["echo", "--input-json", &json];
                [words.map(str::to_owned).to_vec(), self.expected()].concat()
            }
        }
    }

    /// What each answer has in it: the last tool, or what was said, of a long text its beginning,
    /// as the command is told to readers.
    fn expected(self) -> Vec<String> {
        let expected = match self {
            Self::List(count) => format!("\"search_{}\"", count.saturating_sub(1)),
            Self::Echo(length) => "x".repeat(length.min(EXPECTED_MAX)),
        };
        vec!["--expect".to_owned(), expected]
    }

    /// The same as a message.
    pub(super) fn message(self, id: u64) -> String {
        let (method, params) = match self {
            Self::List(_) => ("tools/list", "{}".to_owned()),
            Self::Echo(length) => {
                let text = "x".repeat(length);
                let params = format!(r#"{{"name":"echo","arguments":{{"text":"{text}"}}}}"#);
                ("tools/call", params)
            }
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::{Group, LIMITS, PEERS, Server};
    use super::{Ask, SCENARIOS};

    fn named(servers: &'static [Server], name: &str) -> &'static Server {
        servers.iter().find(|server| server.name == name).expect("a server")
    }

    #[test]
    fn each_scenario_has_a_limit_and_a_peer_or_is_of_threads_alone() {
        for scenario in SCENARIOS {
            for group in [Group::Limit, Group::Peer, Group::Runtime] {
                let is_measured = Server::all(group).iter().any(|it| scenario.suits(it, group));
                let is_its_own = scenario.is_of_threads == (group == Group::Runtime);
                assert_eq!(is_measured, is_its_own, "{} {}", scenario.name, group.name());
            }
        }
    }

    #[test]
    fn a_load_beside_its_server_takes_half_of_the_machine_at_most() {
        let of = |name: &str| SCENARIOS.iter().find(|it| it.name == name).expect("a scenario");
        let threads = |name: &str| [1, 2, 3, 8, 96].map(|all| of(name).load_threads(all));
        assert_eq!(threads("threads-echo-256"), [1, 1, 1, 4, 32].map(Some));
        assert_eq!(threads("threads-echo-1"), [Some(1); 5], "a connection is on one thread");
        assert_eq!(threads("http-echo-32"), [None; 5], "the load has a processor of its own");
    }

    #[test]
    fn nobody_is_measured_in_what_it_does_not_speak() {
        let of = |name: &str| SCENARIOS.iter().find(|it| it.name == name).expect("a scenario");
        let pforge = named(PEERS, "pforge");
        assert!(!of("http-echo-1").suits(pforge, Group::Peer));
        assert!(of("stdio-echo-64").suits(pforge, Group::Peer));
        let own = named(LIMITS, super::LEGACY);
        assert!(of("modern-echo-1").suits(own, Group::Limit));
        assert!(!of("http-echo-1").suits(own, Group::Limit));
        assert!(!of("modern-echo-1").suits(named(LIMITS, "epoll"), Group::Limit));
    }

    #[test]
    fn a_message_is_what_the_load_asks() {
        let echo = Ask::Echo(5).message(7);
        assert!(echo.contains(r#""id":7"#) && echo.contains(r#"{"text":"xxxxx"}"#), "{echo}");
        assert_eq!(Ask::Echo(5).words()[2], r#"{"text":"xxxxx"}"#);
        assert_eq!(Ask::Echo(65_536).words()[4], "text=65536B");
        assert!(Ask::List(130).message(7).contains("tools/list"));
    }

    #[test]
    fn an_answer_is_checked_to_be_one_to_what_was_asked() {
        for scenario in SCENARIOS {
            let words = scenario.ask.words();
            let at = words.iter().position(|word| word == "--expect");
            let expected = &words[at.unwrap_or_else(|| panic!("{}", scenario.name)) + 1];
            match scenario.ask {
                Ask::Echo(length) => assert_eq!(*expected, "x".repeat(length.min(64))),
                Ask::List(_) => assert_eq!(expected, "\"search_129\""),
            }
        }
    }
}
