//! Makes sure that the package managers work that `install` calls, and a browser: by asking for
//! them in one sentence, or on Debian, by root, with apt. It installs nothing else.

use std::process::Command;
use std::sync::Mutex;

use super::install::{Kit, run};

/// A package of Debian, and how to see that it is there.
struct Need {
    package: &'static str,
    probe: &'static [&'static str],
}

const NODE: Need = Need { package: "nodejs", probe: &["node", "--version"] };
const NPM: Need = Need { package: "npm", probe: &["npm", "--version"] };
/// Debian ships the module venv without the part of it that installs pip.
const VENV: Need =
    Need { package: "python3-venv", probe: &["python3", "-c", "import ensurepip, venv"] };
const GO: Need = Need { package: "golang-go", probe: &["go", "version"] };

const CHROMIUM: Need = Need { package: "chromium", probe: &["chromium", "--version"] };
/// What browsers of its kind are called, a line each; `cargo xtask test` looks for the same.
const BROWSERS: &str = include_str!("browsers.txt");

/// The first Go that fetches a newer one by itself.
const GO_MINOR_MIN: u32 = 21;

const fn needs(kit: Kit) -> &'static [Need] {
    match kit {
        Kit::Go => &[GO],
        Kit::Javascript => &[NODE, NPM],
        Kit::Python => &[VENV],
        // Cargo runs this.
        Kit::Rust => &[],
    }
}

/// Makes sure that the kit can be installed, or says what to install.
pub(super) fn provide(kit: Kit) -> Result<(), String> {
    provide_all(needs(kit), &format!("the foreign clients in {}", kit.name()))?;
    if kit == Kit::Go { go_is_new_enough() } else { Ok(()) }
}

/// The program of a browser of Chromium's kind, or what to install.
pub(super) fn browser() -> Result<&'static str, String> {
    if let Some(found) = BROWSERS.lines().find(|name| works(&[name, "--version"])) {
        return Ok(found);
    }
    provide_all(&[CHROMIUM], "the tests of pages")?;
    Ok(CHROMIUM.probe[0])
}

fn provide_all(needs: &[Need], users: &str) -> Result<(), String> {
    let missing = || needs.iter().filter(|need| !works(need.probe)).map(|need| need.package);
    if missing().next().is_some() {
        let names = missing().collect::<Vec<_>>().join(" ");
        if !is_root() || !works(&["apt-get", "--version"]) {
            return Err(format!("{users} need {names}, install it"));
        }
        apt_get(missing())?;
        if let Some(package) = missing().next() {
            return Err(format!("{package} was installed and still fails, repair it by hand"));
        }
    }
    Ok(())
}

/// Two kits that come at the same time go one after the other; another process waits by itself.
fn apt_get<'a>(packages: impl Iterator<Item = &'a str>) -> Result<(), String> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.args(["-o", "DPkg::Lock::Timeout=600"]);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
}

fn go_is_new_enough() -> Result<(), String> {
    let output = Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output();
    let said = output.map_err(|error| format!("`go env GOVERSION`: {error}"))?.stdout;
    let said = String::from_utf8_lossy(&said);
    let minor = said.trim().strip_prefix("go1.").and_then(|rest| rest.split('.').next());
    match minor.and_then(|minor| minor.parse::<u32>().ok()) {
        Some(minor) if minor < GO_MINOR_MIN => Err(format!(
            "Go 1.{minor} is too old for the client in Go, install 1.{GO_MINOR_MIN} or newer from \
             https://go.dev/dl, which fetches what else it needs by itself"
        )),
        // One that calls itself otherwise is newer, or of one's own making.
        _ => Ok(()),
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn works(probe: &[&str]) -> bool {
    let output = Command::new(probe[0]).args(&probe[1..]).output();
    output.is_ok_and(|output| output.status.success())
}
