//! Who is in front of an upstream: haft, nginx, HAProxy and mcp-proxy, each with the settings that
//! are best for it, and all of them in front of the same one. `gateway` asks them; nothing is asked
//! here, but for whether they are there.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::running::{Running, free_port};
use super::super::{build, server};
use super::cases::{HAPROXY, LONG_BYTES, MCP_PROXY, NGINX, TOOLS, UPSTREAMS};
use crate::failure::Failure;
use crate::{command, machine};

/// Where their files are made.
const FOLDER: &str = "target/peers/gateway";
const HAFT: &str = "target/release/haft";
const MCP_PROXY_ROOT: &str = "target/peers/mcp-proxy";
/// Which one others wrote in Rust is built: what 0.6 is at its latest.
const MCP_PROXY_VERSION: &str = "~0.6";

/// How each is set up; the names of ports and folders are filled in.
const UPSTREAM: &str = include_str!("../../../../benchmarks/gateways/upstream.yaml");
const HAFTS: &str = include_str!("../../../../benchmarks/gateways/haft.yaml");
const NGINXS: &str = include_str!("../../../../benchmarks/gateways/nginx.conf");
const HAPROXYS: &str = include_str!("../../../../benchmarks/gateways/haproxy.cfg");
const MCP_PROXYS: &str = include_str!("../../../../benchmarks/gateways/mcp-proxy.toml");

/// Somebody who listens.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) running: Running,
    pub(super) url: String,
    /// What comes before the names of tools.
    pub(super) prefix: &'static str,
    pub(super) version: Option<String>,
}

impl Side {
    fn ours(name: &'static str, running: Running) -> Self {
        let url = running.url();
        Self { name, running, url, prefix: "", version: None }
    }
}

/// Starts the upstream: a tool that gives a text back, and one that gives a long one.
pub(super) fn upstream(before: &[String]) -> Result<Side, Failure> {
    let text = UPSTREAM.replace("MEGABYTE", &"x".repeat(LONG_BYTES));
    Ok(Side::ours("direct", serve(before, &written("upstream.yaml", &text)?)?))
}

/// Starts haft in front of the upstream at a port.
pub(super) fn haft(before: &[String], upstream: u16) -> Result<Side, Failure> {
    Ok(Side::ours("haft", serve(before, &settings("haft.yaml", HAFTS, 0, upstream)?)?))
}

/// Starts haft in front of many upstreams, each a process, and one that has their tools itself.
pub(super) fn lists(before: &[String]) -> Result<[Side; 2], Failure> {
    let each = TOOLS / UPSTREAMS;
    let (mut many, mut own) = ("upstreams:\n".to_owned(), "tools:\n".to_owned());
    for upstream in 1..=UPSTREAMS {
        let names: Vec<String> = (1..=each).map(|tool| format!("tool_{tool:03}")).collect();
        let tools: String = names.iter().map(|name| echo(name)).collect();
        let named = format!("server: {{ name: u{upstream:02}, version: 1.0.0 }}\ntools:\n{tools}");
        let path = written(&format!("u{upstream:02}.yaml"), &named)?;
        many += &format!("  u{upstream:02}: {{ command: [{HAFT}, serve, {path}, --stdio] }}\n");
        own.extend(names.iter().map(|name| echo(&format!("u{upstream:02}_{name}"))));
    }
    let server = "server: { name: list, version: 1.0.0 }\n";
    // Where the files are is told from the folder of the file that names them.
    let many = many.replace(HAFT, &absolute(HAFT)?).replace(FOLDER, &absolute(FOLDER)?);
    let many = serve(before, &written("many.yaml", &format!("{server}{many}"))?)?;
    let own = serve(before, &written("own.yaml", &format!("{server}{own}"))?)?;
    Ok([Side::ours("haft", many), Side::ours("own-tools", own)])
}

/// Starts what others wrote in front of the upstream at a port, or says why it cannot.
pub(super) fn theirs(
    name: &'static str,
    before: &[String],
    upstream: u16,
) -> Result<Side, Failure> {
    let port = free_port()?;
    let side = |words: &[&str], prefix, version| -> Result<Side, Failure> {
        let words = words.iter().map(|word| (*word).to_owned());
        let words = before.iter().cloned().chain(words).collect();
        let running = Running::at(port, words, None)?;
        let url = running.url();
        Ok(Side { name, running, url, prefix, version })
    };
    match name {
        NGINX => {
            machine::provide_proxy("nginx")?;
            let path = settings("nginx.conf", NGINXS, port, upstream)?;
            // It takes paths from where it was installed, unless it is told another place.
            let words = ["nginx", "-e", "stderr", "-p", ".", "-c", &path];
            side(&words, "", version_of("nginx", "-v"))
        }
        HAPROXY => {
            machine::provide_proxy("haproxy")?;
            let path = settings("haproxy.cfg", HAPROXYS, port, upstream)?;
            side(&["haproxy", "-db", "-f", &path], "", version_of("haproxy", "-v"))
        }
        _ => {
            let program = install_mcp_proxy()?;
            let path = settings("mcp-proxy.toml", MCP_PROXYS, port, upstream)?;
            // It does not say it of itself; cargo does of what it installed.
            let record = fs::read_to_string(format!("{MCP_PROXY_ROOT}/.crates.toml"));
            let version = record.ok().and_then(|record| number(record.split_once(MCP_PROXY)?.1));
            let mut side = side(&[&program, "--config", &path], "far_", version)?;
            side.url = side.url.trim_end_matches("mcp").to_owned();
            Ok(side)
        }
    }
}

const SAFE: &str = "annotations: { readOnly: true, idempotent: true, openWorld: false }";

fn echo(name: &str) -> String {
    format!(
        "  - {{ name: {name}, description: Gives a text back., {SAFE}, input: {{ text: string }}, \
         text: \"{{{{ text }}}}\" }}\n"
    )
}

fn serve(before: &[String], path: &str) -> Result<Running, Failure> {
    let words = |port: u16| {
        let words = [HAFT, "serve", path, "--http", &port.to_string()].map(str::to_owned);
        [before, &words].concat()
    };
    Running::start(words, None)
}

/// A file of settings for a port and an upstream, written where it is read from.
fn settings(name: &str, text: &str, port: u16, upstream: u16) -> Result<String, Failure> {
    written(name, &filled(text, port, upstream, &absolute(FOLDER)?))
}

fn filled(text: &str, port: u16, upstream: u16, folder: &str) -> String {
    let ports = [("PORT", port.to_string()), ("UPSTREAM", upstream.to_string())];
    let fill = |text: String, (name, number): &(&str, String)| text.replace(name, number);
    ports.iter().fold(text.replace("FOLDER", folder), fill)
}

/// Builds it with the versions of packages that its author released it with, once.
fn install_mcp_proxy() -> Result<String, Failure> {
    let program = format!("{MCP_PROXY_ROOT}/bin/{MCP_PROXY}");
    if !command::works(&program, &["--help"]) {
        let mut cargo = build::plain_cargo();
        cargo.args(["install", MCP_PROXY, "--locked", "--version", MCP_PROXY_VERSION]);
        // Not in the folder of what is ours, whose packages it would build anew.
        cargo.env("CARGO_TARGET_DIR", "target/peers/rust");
        command::run(cargo.args(["--root", MCP_PROXY_ROOT]))?;
    }
    Ok(program)
}

/// The number in what a program says of itself; nginx says it as if it were an error.
fn version_of(program: &str, flag: &str) -> Option<String> {
    let said = Command::new(program).arg(flag).output().ok()?;
    let said = [said.stdout, said.stderr].concat();
    number(&String::from_utf8_lossy(&said))
}

fn number(said: &str) -> Option<String> {
    server::version(said, "").map(|number| {
        let is_plain = |letter: &char| letter.is_ascii_digit() || *letter == '.';
        number.chars().take_while(is_plain).collect()
    })
}

/// Writes a file of theirs, and says where it is.
fn written(name: &str, text: &str) -> Result<String, Failure> {
    fs::create_dir_all(FOLDER).map_err(|source| Failure::file(FOLDER, source))?;
    let path = format!("{FOLDER}/{name}");
    fs::write(&path, text).map_err(|source| Failure::file(&path, source))?;
    Ok(path)
}

fn absolute(path: &str) -> Result<String, Failure> {
    let found = std::path::absolute(Path::new(path));
    let found = found.map_err(|source| Failure::file(path, source))?;
    Ok(found.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::{HAFTS, HAPROXYS, MCP_PROXYS, NGINXS, filled, number};

    #[test]
    fn each_listens_at_its_port_in_front_of_the_upstream() {
        for (text, listens) in [
            (NGINXS, "listen 127.0.0.1:7301;"),
            (HAPROXYS, "bind 127.0.0.1:7301\n"),
            (MCP_PROXYS, "port = 7301\n"),
            (HAFTS, ""),
        ] {
            let text = filled(text, 7301, 7300, "/a/b");
            assert!(text.contains(listens) && text.contains("127.0.0.1:7300"), "{text}");
            let is_name = |name: &&str| text.contains(*name);
            assert_eq!(
                ["PORT", "UPSTREAM", "FOLDER"].iter().find(|it| is_name(it)),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn a_version_is_found_in_what_is_said_of_it() {
        for (said, expected) in [
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n", "2.6.12"),
            (" 0.6.0 (registry+https://a/b-1)\" = [\"mcp-proxy\"]\n", "0.6.0"),
        ] {
            assert_eq!(number(said).as_deref(), Some(expected));
        }
        assert_eq!(number("nobody"), None);
    }
}
