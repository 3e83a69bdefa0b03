//! The rows of the README: what each is of and how far haft means to get. `reach` finds their
//! figures; nothing is computed here.

use super::super::aim::Aim;
use super::super::gateway::Figure;

/// A row.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) from: From,
    pub(super) aim: Aim,
    /// What `cargo xtask bench` is told to measure it again.
    pub(super) words: &'static str,
}

/// Where its figures are.
pub(super) enum From {
    /// In these scenarios against one other, whose name is told.
    Beside(&'static str, &'static [&'static str], &'static str, &'static str),
    /// In these against whichever peer has the most answers a second.
    FastestPeer(&'static [&'static str], &'static str),
    /// A figure of these scenarios of a gateway, against each of these others that is in them.
    Gateway(&'static [&'static str], &'static [&'static str], Figure),
    /// The value of a figure of memory.
    Memory(&'static str),
    /// The memory after its calls beside that before any of them.
    AtRest(&'static str),
    /// The most that the codec allocates.
    Allocations,
}

const PLAIN: &[&str] = &["nginx", "haproxy"];
const ONE: &[&str] = &["legacy-echo-1", "modern-echo-1"];
const MANY: &[&str] = &["legacy-echo-32", "modern-echo-32"];

const DECODED: &[&str] = &["legacy_request", "modern_request", "notification", "response", "error"];
const FRAMED: &[&str] = &[
    "read_request_200",
    "write_request_200",
    "read_request_4k",
    "write_request_4k",
    "read_response",
    "write_response",
    "read_credit",
    "write_credit",
];
const CALLED: &[&str] = &["legacy", "modern"];
const LOADED: &[&str] = &["http-echo-32", "http-64k-1", "http-64k-32"];
const ALL_LOADED: &[&str] =
    &["http-echo-32", "http-64k-1", "http-64k-32", "http-tools-32", "modern-echo-32"];

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "decoding a message",
        from: From::Beside("codec", DECODED, "dom_twice", "serde_json through a DOM, twice"),
        aim: Aim::AtLeast(5.0),
        words: "codec dom_twice",
    },
    Row {
        what: "the same",
        from: From::Beside("codec", DECODED, "serde_once", "serde_json in one pass"),
        aim: Aim::AtLeast(1.5),
        words: "codec serde_once",
    },
    Row {
        what: "the same, allocations",
        from: From::Allocations,
        aim: Aim::AtMost(0.0),
        words: "codec dom_twice",
    },
    Row {
        what: "a typed call, message bytes in → bytes out",
        from: From::Beside("dispatch", CALLED, "registry", "pforge's registry alone"),
        aim: Aim::AtLeast(1.0),
        words: "dispatch registry",
    },
    Row {
        what: "the same",
        from: From::Beside(
            "dispatch",
            CALLED,
            "pmcp",
            "the message of 2025-11-25 through pforge and pmcp",
        ),
        aim: Aim::AtLeast(30.0),
        words: "dispatch pmcp",
    },
    Row {
        what: "messages of a link, read and written",
        from: From::Beside("frames", FRAMED, "prost", "prost on fresh buffers"),
        aim: Aim::AtLeast(2.0),
        words: "frames prost",
    },
    Row {
        what: "validating arguments, from their text",
        from: From::Beside("schemas", &["check"], "value", "jsonschema on a parsed value"),
        aim: Aim::AtLeast(5.0),
        words: "schemas check value",
    },
    Row {
        what: "HTTP, echo, 1 and 32 connections",
        from: From::Beside(
            "limits",
            &["http-echo-1", "http-echo-32"],
            "hyper",
            "a constant on hyper",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits http-echo hyper",
    },
    Row {
        what: "HTTP, tools/list of 130",
        from: From::Beside(
            "limits",
            &["http-tools-1", "http-tools-32"],
            "hyper",
            "a constant on hyper",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits http-tools hyper",
    },
    Row {
        what: "HTTP, the modern era",
        from: From::Beside(
            "limits",
            &["modern-echo-1", "modern-echo-32"],
            "haft-legacy",
            "our legacy era",
        ),
        aim: Aim::AtLeast(0.9),
        words: "limits modern-echo haft-legacy",
    },
    Row {
        what: "stdio, one at a time",
        from: From::Beside("limits", &["stdio-echo-1"], "pipe", "a constant on a pipe"),
        aim: Aim::AtLeast(0.85),
        words: "limits stdio-echo-1 pipe",
    },
    Row {
        what: "stdio, 64 in flight",
        from: From::Beside("limits", &["stdio-echo-64"], "pipe", "a constant on a pipe"),
        aim: Aim::AtLeast(0.4),
        words: "limits stdio-echo-64 pipe",
    },
    Row {
        what: "time from nothing to the first answer",
        from: From::Beside("limits", &["cold-echo"], "pipe", "a constant on a pipe"),
        aim: Aim::AtMost(3.0),
        words: "limits cold-echo pipe",
    },
    Row {
        what: "HTTP, echo, 1 connection",
        from: From::FastestPeer(&["http-echo-1"], "per_second"),
        aim: Aim::AtLeast(2.0),
        words: "peers http-echo-1",
    },
    Row {
        what: "HTTP, tools/list of 130, 1 connection",
        from: From::FastestPeer(&["http-tools-1"], "per_second"),
        aim: Aim::AtLeast(2.0),
        words: "peers http-tools-1",
    },
    Row {
        what: "HTTP, the modern era, 1 connection",
        from: From::FastestPeer(&["modern-echo-1"], "per_second"),
        aim: Aim::AtLeast(2.0),
        words: "peers modern-echo-1",
    },
    Row {
        what: "HTTP, echo, 32 connections, and 64 KiB",
        from: From::FastestPeer(LOADED, "per_second"),
        aim: Aim::AtLeast(3.5),
        words: "peers http",
    },
    Row {
        what: "HTTP, tools/list of 130, 32 connections",
        from: From::FastestPeer(&["http-tools-32"], "per_second"),
        aim: Aim::AtLeast(3.5),
        words: "peers http-tools-32",
    },
    Row {
        what: "HTTP, the modern era, 32 connections",
        from: From::FastestPeer(&["modern-echo-32"], "per_second"),
        aim: Aim::AtLeast(3.5),
        words: "peers modern-echo-32",
    },
    Row {
        what: "HTTP, 32 connections, and 64 KiB, P99",
        from: From::FastestPeer(ALL_LOADED, "p99"),
        aim: Aim::AtMost(1.0),
        words: "peers",
    },
    Row {
        what: "stdio, 64 in flight",
        from: From::FastestPeer(&["stdio-echo-64"], "per_second"),
        aim: Aim::AtLeast(40.0),
        words: "peers stdio-echo-64",
    },
    Row {
        what: "heap at rest in process, before the first call, bytes",
        from: From::Memory("heap-at-rest"),
        aim: Aim::AtMost(524_288.0),
        words: "memory heap-at-rest",
    },
    Row {
        what: "heap of a tool beyond its definition before the first call, bytes",
        from: From::Memory("heap-per-tool"),
        aim: Aim::AtMost(256.0),
        words: "memory heap-per-tool",
    },
    Row {
        what: "resident memory after 1 000 000 calls more, legacy era",
        from: From::Memory("calls-legacy"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-legacy",
    },
    Row {
        what: "the same",
        from: From::AtRest("calls-legacy"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-legacy",
    },
    Row {
        what: "resident memory after 1 000 000 calls more, modern era",
        from: From::Memory("calls-modern"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-modern",
    },
    Row {
        what: "the same",
        from: From::AtRest("calls-modern"),
        aim: Aim::AtMost(1.05),
        words: "memory calls-modern",
    },
    Row {
        what: "a gateway: P50 added to a call, 1 connection",
        from: From::Gateway(ONE, PLAIN, Figure::AddedP50),
        aim: Aim::AtMost(1.5),
        words: "gateway echo-1",
    },
    Row {
        what: "a gateway: P99 added to a call, 1 connection",
        from: From::Gateway(ONE, PLAIN, Figure::AddedP99),
        aim: Aim::AtMost(1.5),
        words: "gateway echo-1",
    },
    Row {
        what: "a gateway: calls a second of its processor time, 32 connections",
        from: From::Gateway(MANY, PLAIN, Figure::PerCore),
        aim: Aim::AtLeast(0.6),
        words: "gateway echo-32",
    },
    Row {
        what: "a gateway: P50 added to a call, 1 connection",
        from: From::Gateway(ONE, &["mcp-proxy"], Figure::AddedP50),
        aim: Aim::AtMost(0.333),
        words: "gateway echo-1 mcp-proxy",
    },
    Row {
        what: "a gateway: P99 added to a call, 1 connection",
        from: From::Gateway(ONE, &["mcp-proxy"], Figure::AddedP99),
        aim: Aim::AtMost(0.333),
        words: "gateway echo-1 mcp-proxy",
    },
    Row {
        what: "a gateway: calls a second of its processor time, 32 connections",
        from: From::Gateway(MANY, &["mcp-proxy"], Figure::PerCore),
        aim: Aim::AtLeast(3.0),
        words: "gateway echo-32 mcp-proxy",
    },
    Row {
        what: "a gateway: P50 added to a call, 1 connection",
        from: From::Gateway(ONE, &["agentgateway"], Figure::AddedP50),
        aim: Aim::AtMost(0.1),
        words: "gateway echo-1 agentgateway",
    },
    Row {
        what: "a gateway: processor time of a call, 32 connections",
        from: From::Gateway(MANY, &["agentgateway"], Figure::Cpu),
        aim: Aim::AtMost(0.1),
        words: "gateway echo-32 agentgateway",
    },
    Row {
        what: "a gateway: processor time of a megabyte of a result",
        from: From::Gateway(&["long-result"], PLAIN, Figure::CpuPerMegabyte),
        aim: Aim::AtMost(2.0),
        words: "gateway long-result",
    },
    Row {
        what: "a gateway: processor time of tools/list, 1 000 tools of 40 upstreams",
        from: From::Gateway(&["list-1000"], &["own-tools"], Figure::Cpu),
        aim: Aim::AtMost(1.1),
        words: "gateway list-1000",
    },
    Row {
        what: "a gateway: memory of an idle legacy session, bytes",
        from: From::Gateway(&["idle-sessions"], &["alone"], Figure::SessionBytes),
        aim: Aim::AtMost(4096.0),
        words: "gateway idle-sessions",
    },
];
