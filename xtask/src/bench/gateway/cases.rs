//! What a gateway is asked, beside whom, and how far haft means to get: the table of `bench
//! gateway`. The other modules go through it; nothing is run here.

use super::super::aim::Aim;

/// How many bytes a long result has.
pub(super) const LONG_BYTES: usize = 1_000_000;
/// How many upstreams and tools a long list is of.
pub(super) const UPSTREAMS: usize = 40;
pub(super) const TOOLS: usize = 1000;

/// What is asked of a gateway.
#[derive(Debug)]
pub(in super::super) struct Scenario {
    pub(in super::super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) era: &'static str,
    pub(super) kind: Kind,
    /// Beside whom.
    pub(in super::super) beside: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A short call at a time.
    One,
    /// Many at once.
    Many,
    /// A long result at a time.
    Long,
    /// The tools of many upstreams.
    List,
    /// What sessions hold that do nothing.
    Sessions,
}

/// What is told of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Figure {
    /// The latency through a gateway less that of the upstream itself.
    AddedP50,
    AddedP99,
    P50,
    /// The processor time of the gateway alone.
    Cpu,
    CpuPerMegabyte,
    /// How many calls its processor time is enough for.
    PerCore,
    PerSecond,
    SessionBytes,
}

pub(super) const NGINX: &str = "nginx";
pub(super) const HAPROXY: &str = "haproxy";
pub(super) const MCP_PROXY: &str = "mcp-proxy";
/// What was measured of agentgateway 1.4 elsewhere, and is no process here.
pub(super) const AGENTGATEWAY: &str = "agentgateway";
/// haft with the same tools of its own.
pub(super) const OWN_TOOLS: &str = "own-tools";
pub(super) const ALONE: &str = "alone";

const PLAIN: &[&str] = &[NGINX, HAPROXY];
/// mcp-proxy speaks the legacy era alone.
const LEGACY: &[&str] = &[NGINX, HAPROXY, MCP_PROXY, AGENTGATEWAY];
const MODERN: &[&str] = &[NGINX, HAPROXY, AGENTGATEWAY];

const fn scenario(
    name: &'static str,
    title: &'static str,
    era: &'static str,
    kind: Kind,
    beside: &'static [&'static str],
) -> Scenario {
    Scenario { name, title, era, kind, beside }
}

/// In the order of the table.
pub(in super::super) const SCENARIOS: &[Scenario] = &[
    scenario("legacy-echo-1", "echo, 1 connection", "legacy", Kind::One, LEGACY),
    scenario("modern-echo-1", "echo, modern era, 1 connection", "modern", Kind::One, MODERN),
    scenario("legacy-echo-32", "echo, 32 connections", "legacy", Kind::Many, LEGACY),
    scenario("modern-echo-32", "echo, modern era, 32 connections", "modern", Kind::Many, MODERN),
    scenario("long-result", "a result of 1 MB, 1 connection", "legacy", Kind::Long, PLAIN),
    scenario(
        "list-1000",
        "tools/list of 1 000 tools of 40 upstreams",
        "legacy",
        Kind::List,
        &[OWN_TOOLS],
    ),
    scenario("idle-sessions", "idle legacy sessions", "legacy", Kind::Sessions, &[ALONE]),
];

type Aims = &'static [(Figure, Option<Aim>)];

impl Scenario {
    /// What is told of it, and how far haft means to get there.
    pub(in super::super) fn figures(&self, against: &str) -> Aims {
        const THIRD: Option<Aim> = Some(Aim::AtMost(0.333));
        const NEAR: Option<Aim> = Some(Aim::AtMost(1.5));
        const TENTH: Option<Aim> = Some(Aim::AtMost(0.1));
        match (self.kind, against) {
            (Kind::One, AGENTGATEWAY) => &[(Figure::AddedP50, TENTH)],
            (Kind::One, MCP_PROXY) => &[(Figure::AddedP50, THIRD), (Figure::AddedP99, THIRD)],
            (Kind::One, _) => &[(Figure::AddedP50, NEAR), (Figure::AddedP99, NEAR)],
            (Kind::Many, AGENTGATEWAY) => &[(Figure::Cpu, TENTH)],
            (Kind::Many, MCP_PROXY) => {
                &[(Figure::PerCore, Some(Aim::AtLeast(3.0))), (Figure::PerSecond, None)]
            }
            (Kind::Many, _) => {
                &[(Figure::PerCore, Some(Aim::AtLeast(0.6))), (Figure::PerSecond, None)]
            }
            (Kind::Long, _) => &[(Figure::CpuPerMegabyte, Some(Aim::AtMost(2.0)))],
            (Kind::List, _) => &[(Figure::Cpu, Some(Aim::AtMost(1.1))), (Figure::P50, None)],
            (Kind::Sessions, _) => &[(Figure::SessionBytes, Some(Aim::AtMost(4096.0)))],
        }
    }

    /// What `haft bench` asks a gateway that puts this before the names of tools.
    pub(super) fn words(&self, prefix: &str) -> Vec<String> {
        let mut words = match self.kind {
            Kind::One | Kind::Many => {
                vec![format!("{prefix}echo"), "--input-json".into(), r#"{"text":"xxxxx"}"#.into()]
            }
            Kind::Long => vec![format!("{prefix}long")],
            Kind::List | Kind::Sessions => Vec::new(),
        };
        if self.kind == Kind::Many {
            words.extend(["--connections", "32"].map(str::to_owned));
        }
        words.extend(["--era", self.era].map(str::to_owned));
        words
    }
}

impl Figure {
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::AddedP50 => "added_p50_us",
            Self::AddedP99 => "added_p99_us",
            Self::P50 => "p50_us",
            Self::Cpu => "cpu_us",
            Self::CpuPerMegabyte => "cpu_us_per_megabyte",
            Self::PerCore => "per_core",
            Self::PerSecond => "per_second",
            Self::SessionBytes => "bytes",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::AddedP50 => "P50 added, µs",
            Self::AddedP99 => "P99 added, µs",
            Self::P50 => "P50, µs",
            Self::Cpu => "its processor time for each, µs",
            Self::CpuPerMegabyte => "its processor time for each MB, µs",
            Self::PerCore => "calls a second of its processor time",
            Self::PerSecond => "calls a second",
            Self::SessionBytes => "bytes for each",
        }
    }

    /// What is known of agentgateway.
    pub(super) const fn of_agentgateway(self) -> Option<f64> {
        match self {
            Self::AddedP50 => Some(240.0),
            Self::Cpu => Some(120.0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AGENTGATEWAY, SCENARIOS};

    #[test]
    fn every_case_has_a_name_and_figures_of_its_own() {
        for scenario in SCENARIOS {
            let same = SCENARIOS.iter().filter(|it| it.name == scenario.name).count();
            assert_eq!(same, 1, "a case of {} would take another's place", scenario.name);
            for against in scenario.beside {
                let figures = scenario.figures(against);
                let aimed = figures.iter().filter(|(_, aim)| aim.is_some()).count();
                assert!(aimed > 0, "{} {against} has no aim", scenario.name);
                for (figure, _) in figures {
                    let is_known = *against != AGENTGATEWAY || figure.of_agentgateway().is_some();
                    assert!(is_known, "{} of agentgateway", figure.name());
                }
            }
        }
    }
}
