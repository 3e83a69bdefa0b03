//! The edges that the crate graph must not have. `tidy` and `test` call it; it never looks at
//! licences or advisories, which are `deny.toml`'s business.

use crate::command;
use crate::failure::Failure;

/// An edge that must not exist, direct or through others.
struct Forbidden {
    package: &'static str,
    /// Which edges count, in the words of `cargo tree --edges`.
    edges: &'static str,
    dependency: &'static str,
    reason: &'static str,
}

const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        package: "haft-proto",
        edges: "normal,build,dev",
        dependency: "tokio",
        reason: "the protocol takes bytes and returns values; whoever waits is in transport",
    },
    Forbidden {
        package: "haft-proto",
        edges: "normal,build,dev",
        dependency: "haft-stages",
        reason: "the protocol reads no clock; who times a request is around it",
    },
    Forbidden {
        package: "haft-transport",
        edges: "normal",
        dependency: "haft-server",
        reason: "a wire moves bytes to a Service and must not know what a tool is",
    },
    Forbidden {
        package: "haft-server",
        edges: "normal",
        dependency: "hyper",
        reason: "the registry must not know over which wire it is asked",
    },
    Forbidden {
        package: "haft-fetch",
        edges: "normal",
        dependency: "haft-proto",
        reason: "what is asked of other servers must not know of MCP, nor of tools",
    },
    Forbidden {
        package: "haft-macros",
        edges: "normal,build",
        dependency: "haft-proto",
        reason: "the compiler loads it; what runs in a server is called through haft::__private",
    },
    Forbidden {
        package: "haft-editors",
        edges: "normal,build",
        dependency: "haft-proto",
        reason: "somebody else's settings are text; what the protocol means must not reach them",
    },
    Forbidden {
        package: "haft",
        edges: "normal",
        dependency: "haft-manifest",
        reason: "a program's tools are its functions; files that describe tools are the command's",
    },
    Forbidden {
        package: "haft-cli",
        edges: "normal,build",
        dependency: "openssl-sys",
        reason: "rustls is the only TLS stack, and the binary links no system library for it",
    },
];

/// Says which forbidden edges exist.
pub(crate) fn check() -> Result<(), Failure> {
    let mut findings = 0;
    for rule in FORBIDDEN {
        let tree = tree(rule)?;
        if has(&tree, rule.dependency) {
            findings += 1;
            println!(
                "{} depends on {}, remove the edge: {}\n  cargo tree -p {0} -e {} -i {1} shows it",
                rule.package, rule.dependency, rule.reason, rule.edges
            );
        }
    }
    if findings == 0 { Ok(()) } else { Err(Failure::Untidy { findings }) }
}

fn tree(rule: &Forbidden) -> Result<String, Failure> {
    command::output(
        command::cargo()
            .args(["tree", "--quiet", "--prefix", "none", "--format", "{p}"])
            .args(["--all-features", "--target", "all"])
            .args(["-p", rule.package, "--edges", rule.edges]),
    )
}

/// Whether a line of `cargo tree` names the package; a line is `NAME vVERSION ...`.
fn has(tree: &str, package: &str) -> bool {
    tree.lines().any(|line| line.split(' ').next() == Some(package))
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn a_package_is_found_by_its_whole_name() {
        let tree = "haft-proto v0.1.0 (/src)\ntokio-util v0.7.0\nserde v1.0.0 (*)\n";
        assert!(has(tree, "serde"));
        assert!(!has(tree, "tokio"));
    }
}
