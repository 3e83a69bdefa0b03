//! The servers that are measured: where each is, how it is started, and which version of a package
//! it is made of. The other modules go through this table; nothing is run here.

use std::fs;
use std::process::Command;

use crate::failure::Failure;

/// What haft is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// What parses nothing: the machine itself, or haft in its other era.
    Limit,
    /// What others wrote.
    Peer,
    /// haft itself, with other threads that answer.
    Runtime,
}

impl Group {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limits",
            Self::Peer => "peers",
            Self::Runtime => "runtimes",
        }
    }

    /// What of ours all of it is measured beside.
    pub(super) const fn ours(self) -> &'static Server {
        match self {
            Self::Limit | Self::Peer => &HAFT,
            Self::Runtime => &SHARED,
        }
    }
}

/// What makes a server of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kit {
    /// A package of this workspace.
    Ours(&'static str),
    Cargo,
    Go,
    Npm,
    Pip,
}

/// A server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) kit: Kit,
    /// The file that says which version of a package it is made of, and the package.
    made_of: Option<(&'static str, &'static str)>,
    /// Its program, and what comes before all else.
    program: &'static [&'static str],
    stdio: Option<&'static [&'static str]>,
    http: Option<&'static [&'static str]>,
    /// Whether it speaks the modern era.
    pub(super) is_modern: bool,
}

/// What stands for a port and a file of answers in the words of a command.
const PORT: &str = "PORT";
const ANSWERS: &str = "ANSWERS";

/// haft itself, which everything is measured beside.
pub(super) const HAFT: Server = Server {
    name: "haft",
    kit: Kit::Ours("haft-peer"),
    made_of: Some(("Cargo.toml", "\nversion =")),
    program: &["target/release/haft-peer"],
    stdio: Some(&["--stdio"]),
    http: Some(&["--http", PORT]),
    is_modern: true,
};

const BOTH: Option<&[&str]> = Some(&["http", PORT]);
const STDIO: Option<&[&str]> = Some(&["stdio"]);

/// What others wrote, fastest first.
pub(super) const PEERS: &[Server] = &[
    Server {
        name: "rmcp",
        kit: Kit::Cargo,
        made_of: Some(("benchmarks/peers/rmcp/Cargo.toml", "rmcp =")),
        program: &["target/peers/rust/release/haft-peer-rmcp"],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
    Server {
        name: "tower-mcp",
        kit: Kit::Cargo,
        made_of: Some(("benchmarks/peers/tower-mcp/Cargo.toml", "tower-mcp =")),
        program: &["target/peers/rust/release/haft-peer-tower-mcp"],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
    Server {
        name: "pforge",
        kit: Kit::Cargo,
        made_of: Some(("benchmarks/peers/pforge/Cargo.toml", "pforge-runtime =")),
        program: &["target/peers/rust/release/haft-peer-pforge"],
        stdio: STDIO,
        http: None,
        is_modern: false,
    },
    Server {
        name: "mcp-go",
        kit: Kit::Go,
        made_of: Some(("benchmarks/peers/mcp-go/go.mod", "mark3labs/mcp-go")),
        program: &["target/peers/mcp-go/haft-peer"],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
    Server {
        name: "go-sdk",
        kit: Kit::Go,
        made_of: Some(("benchmarks/peers/go-sdk/go.mod", "modelcontextprotocol/go-sdk")),
        program: &["target/peers/go-sdk/haft-peer"],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
    Server {
        name: "typescript",
        kit: Kit::Npm,
        made_of: Some(("benchmarks/peers/typescript/package.json", "@modelcontextprotocol/server")),
        program: &[
            "target/peers/typescript/node_modules/.bin/node",
            "target/peers/typescript/server.mjs",
        ],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
    Server {
        name: "fastmcp",
        kit: Kit::Pip,
        made_of: Some(("benchmarks/peers/fastmcp/requirements.txt", "fastmcp")),
        program: &["target/peers/fastmcp/venv/bin/python", "benchmarks/peers/fastmcp/server.py"],
        stdio: STDIO,
        http: BOTH,
        is_modern: true,
    },
];

/// haft in its legacy era, which its modern one is measured beside.
pub(super) const LEGACY: &str = "haft-legacy";

/// What parses nothing, and haft in its other era.
pub(super) const LIMITS: &[Server] = &[
    Server {
        name: "epoll",
        kit: Kit::Ours("haft-limits"),
        made_of: None,
        program: &["target/release/limit-epoll"],
        stdio: None,
        http: Some(&[PORT, ANSWERS]),
        is_modern: false,
    },
    Server {
        name: "hyper",
        kit: Kit::Ours("haft-limits"),
        made_of: Some(("Cargo.lock", "name = \"hyper\"")),
        program: &["target/release/limit-hyper"],
        stdio: None,
        http: Some(&[PORT, ANSWERS]),
        is_modern: false,
    },
    Server {
        name: "pipe",
        kit: Kit::Ours("haft-limits"),
        made_of: None,
        program: &["target/release/limit-pipe"],
        stdio: Some(&[ANSWERS]),
        http: None,
        is_modern: false,
    },
    Server { name: LEGACY, is_modern: true, stdio: None, ..HAFT },
];

/// `haft serve` as nobody has told it anything of threads.
pub(super) const SHARED: Server = Server {
    name: "shared",
    kit: Kit::Ours("haft-cli"),
    made_of: None,
    program: &["target/release/haft", "serve", "benchmarks/runtimes.yaml"],
    stdio: None,
    http: Some(&["--http", PORT]),
    is_modern: true,
};

/// The same, told how.
pub(super) const RUNTIMES: &[Server] = &[
    Server { name: "per-core", http: Some(&["--http", PORT, "--per-core"]), ..SHARED },
    Server { name: "pinned", http: Some(&["--http", PORT, "--per-core", "--pin"]), ..SHARED },
    Server {
        name: "reuse-port",
        http: Some(&["--http", PORT, "--per-core", "--reuse-port"]),
        ..SHARED
    },
    Server { name: "one-thread", http: Some(&["--http", PORT, "--threads", "1"]), ..SHARED },
];

impl Server {
    /// Those of a group.
    pub(super) const fn all(group: Group) -> &'static [Self] {
        match group {
            Group::Limit => LIMITS,
            Group::Peer => PEERS,
            Group::Runtime => RUNTIMES,
        }
    }

    pub(super) const fn speaks_http(&self) -> bool {
        self.http.is_some()
    }

    pub(super) const fn speaks_stdio(&self) -> bool {
        self.stdio.is_some()
    }

    /// How it is started over stdio; `answers` is what a constant server answers with.
    pub(super) fn over_stdio(&self, answers: &str) -> Vec<String> {
        self.words(self.stdio.unwrap_or_default(), "", answers)
    }

    /// How it is started over HTTP, at `/mcp`.
    pub(super) fn over_http(&self, port: u16, answers: &str) -> Vec<String> {
        self.words(self.http.unwrap_or_default(), &port.to_string(), answers)
    }

    /// What it is told behind its port.
    pub(super) fn told(&self) -> String {
        let words = self.http.unwrap_or_default().iter();
        words.skip_while(|word| **word != PORT).skip(1).copied().collect::<Vec<_>>().join(" ")
    }

    fn words(&self, rest: &[&str], port: &str, answers: &str) -> Vec<String> {
        let fill = |word: &&str| match *word {
            PORT => port.to_owned(),
            ANSWERS => answers.to_owned(),
            word => word.to_owned(),
        };
        self.program.iter().chain(rest).map(fill).collect()
    }

    /// The version of the package that it is made of, if there is one.
    pub(super) fn version(&self) -> Result<Option<String>, Failure> {
        let Some((path, package)) = self.made_of else { return Ok(None) };
        version_in(path, package).map(Some)
    }
}

/// The version of a package that a manifest or a lock file names.
pub(super) fn version_in(path: &str, package: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|source| Failure::file(path, source))?;
    let missing = || Failure::SuiteBroken(format!("{path} has no version of {package}"));
    version(&text, package).ok_or_else(missing)
}

/// The number that comes next after the first mention of a package.
pub(super) fn version(manifest: &str, package: &str) -> Option<String> {
    let (_, rest) = manifest.split_once(package)?;
    let begin = rest.find(|letter: char| letter.is_ascii_digit())?;
    let is_part = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    Some(rest[begin..].chars().take_while(is_part).collect())
}

/// A program with its arguments.
pub(super) fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("false", String::as_str));
    command.args(words);
    command
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Group, HAFT, LIMITS, PEERS, RUNTIMES, version};

    #[test]
    fn a_version_is_found_in_every_kind_of_manifest() {
        for (manifest, package) in [
            ("[dependencies]\nrmcp = { version = \"=3.9.0\", features = [] }", "rmcp ="),
            ("require github.com/a/rmcp v3.9.0", "a/rmcp"),
            ("\"name\": \"rmcp\",\n\"rmcp\": \"3.9.0\",", "\"rmcp\""),
            ("rmcp==3.9.0\n", "rmcp"),
            ("[[package]]\nname = \"rmcp\"\nversion = \"3.9.0\"\n", "name = \"rmcp\""),
        ] {
            assert_eq!(version(manifest, package).as_deref(), Some("3.9.0"), "{manifest}");
        }
        assert_eq!(version("rmcp = { path = \".\" }", "rmcp"), None);
    }

    #[test]
    fn every_manifest_of_the_table_has_a_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        for server in PEERS.iter().chain(LIMITS).chain([&HAFT]) {
            let Some((path, package)) = server.made_of else { continue };
            let text = fs::read_to_string(root.join(path)).expect("a manifest");
            let found = version(&text, package).unwrap_or_default();
            assert!(found.contains('.'), "{}: {found}", server.name);
        }
    }

    #[test]
    fn a_port_and_answers_are_filled_in() {
        let words = LIMITS[0].over_http(7300, "a.txt");
        assert_eq!(words, ["target/release/limit-epoll", "7300", "a.txt"]);
        assert_eq!(HAFT.over_http(7300, "").last().map(String::as_str), Some("7300"));
        assert_eq!(HAFT.over_stdio("").last().map(String::as_str), Some("--stdio"));
    }

    #[test]
    fn threads_differ_in_what_they_are_told_and_in_nothing_else() {
        let ours = Group::Runtime.ours();
        let plain = ours.over_http(7300, "");
        assert_eq!((ours.told().as_str(), plain.last().map(String::as_str)), ("", Some("7300")));
        for server in RUNTIMES {
            let words = server.over_http(7300, "");
            let told = words.strip_prefix(&plain[..]).expect("it begins as the default does");
            assert_eq!(told.join(" "), server.told());
            assert!(!told.is_empty(), "{}", server.name);
        }
    }
}
