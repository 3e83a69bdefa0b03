//! Puts the clients that others wrote on this machine, each kit once. `client` asks for them; it
//! never writes outside `target/foreign-clients` and the package managers' own caches, unless
//! Debian lacks a package and we are root.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::machine;

/// What is installed together, because one package manager does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kit {
    Go,
    Javascript,
    Python,
    Rust,
}

impl Kit {
    /// The folder with its sources, and the one that it is put into.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Javascript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }

    /// What the package manager reads: any change installs everything again. The compilers see by
    /// themselves what changed.
    const fn manifests(self) -> &'static [&'static str] {
        match self {
            Self::Go | Self::Rust => &[],
            Self::Javascript => &[".npmrc", "package.json", "package-lock.json"],
            Self::Python => &["requirements.txt", "requirements.lock"],
        }
    }

    /// What has to lie beside the installed modules, where Node looks for them.
    const fn scripts(self) -> &'static [&'static str] {
        match self {
            Self::Javascript => &[
                "arguments.mjs",
                "inspector.mjs",
                "report.mjs",
                "typescript-v1.mjs",
                "typescript-v2.mjs",
                "walk.mjs",
            ],
            Self::Go | Self::Python | Self::Rust => &[],
        }
    }

    /// Where the sources are.
    pub(super) fn sources(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(self.name())
    }

    fn folder(self) -> PathBuf {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("foreign-clients");
        all.join(self.name())
    }

    /// Installs the kit if this machine lacks it. Tests that come at the same time, from this
    /// process or another, wait for the one that installs.
    fn installed(self) -> PathBuf {
        static KITS: [OnceLock<Result<(), String>>; 4] = [const { OnceLock::new() }; 4];
        match KITS[self as usize].get_or_init(|| install(self)) {
            Ok(()) => self.folder(),
            Err(advice) => panic!("{advice}"),
        }
    }
}

/// A client that was compiled.
pub(super) fn program(kit: Kit) -> Command {
    let folder = kit.installed();
    let name = format!("haft-foreign-{}", kit.name());
    let program =
        if kit == Kit::Rust { folder.join("debug").join(name) } else { folder.join(name) };
    isolate(Command::new(program), &folder)
}

/// A client that is interpreted.
pub(super) fn script(kit: Kit, name: &str) -> Command {
    let folder = kit.installed();
    let (interpreter, script) = match kit {
        Kit::Python => (python(&folder), kit.sources().join(name)),
        // The machine's own Node may be too old for the inspector, so npm brought one.
        _ => (node(&folder), folder.join(name)),
    };
    let mut command = Command::new(interpreter);
    command.arg(script);
    isolate(command, &folder)
}

/// The server in Go.
pub(super) fn go_server() -> PathBuf {
    Kit::Go.installed().join("server")
}

/// The Python that has the packages.
pub(super) fn python_of_kit() -> PathBuf {
    python(&Kit::Python.installed())
}

/// Clients keep state in the home directory, and would ask a proxy for the loopback address.
fn isolate(mut command: Command, folder: &Path) -> Command {
    command.env("HOME", folder.join("home"));
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    command
}

fn node(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/node")
}

fn python(folder: &Path) -> PathBuf {
    folder.join("venv/bin/python")
}

fn install(kit: Kit) -> Result<(), String> {
    let folder = kit.folder();
    fs::create_dir_all(folder.join("home")).map_err(|e| cannot("create", &folder, &e))?;
    let lock_path = folder.join("lock");
    let lock = File::create(&lock_path).map_err(|e| cannot("create", &lock_path, &e))?;
    lock.lock().map_err(|e| cannot("lock", &lock_path, &e))?;
    match kit {
        Kit::Go => build_go(&folder),
        Kit::Javascript => {
            once(kit, &folder, &node(&folder), npm)?;
            copy(kit, kit.scripts(), &folder)
        }
        Kit::Python => once(kit, &folder, &python(&folder), pip),
        Kit::Rust => build_rust(&folder),
    }
}

/// Installs unless it did so before, with the same manifests into the same folder: a virtual
/// environment knows its own path, so one that was moved has to be made again.
fn once(
    kit: Kit,
    folder: &Path,
    interpreter: &Path,
    install: fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let mut wanted = format!("{}\n", folder.display());
    for name in kit.manifests() {
        let path = kit.sources().join(name);
        wanted += &fs::read_to_string(&path).map_err(|e| cannot("read", &path, &e))?;
    }
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).ok().as_ref() == Some(&wanted) && interpreter.exists() {
        return Ok(());
    }
    machine::provide(kit)?;
    for stale in ["node_modules", "venv"].map(|name| folder.join(name)) {
        if stale.exists() {
            fs::remove_dir_all(&stale).map_err(|e| cannot("remove", &stale, &e))?;
        }
    }
    copy(kit, kit.manifests(), folder)?;
    install(folder)?;
    fs::write(&stamp, wanted).map_err(|e| cannot("write", &stamp, &e))
}

fn npm(folder: &Path) -> Result<(), String> {
    let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").arg("ci").args(quiet).current_dir(folder))
}

fn pip(folder: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let lists = ["--requirement", "requirements.txt", "--constraint", "requirements.lock"];
    run(Command::new(python(folder)).args(pip).args(lists).current_dir(folder))
}

/// `auto` lets an older Go fetch the one that the package asks for.
fn build_go(folder: &Path) -> Result<(), String> {
    machine::provide(Kit::Go)?;
    let mut go = Command::new("go");
    go.args(["build", "-buildvcs=false", "-mod=readonly", "-o"]).arg(folder).arg("./...");
    run(go.env("GOTOOLCHAIN", "auto").env_remove("GOFLAGS").current_dir(Kit::Go.sources()))
}

/// What this run of cargo was told about its own build must not reach the other.
fn build_rust(folder: &Path) -> Result<(), String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--target-dir"]).arg(folder);
    for told in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS"] {
        cargo.env_remove(told);
    }
    run(cargo.current_dir(Kit::Rust.sources()))
}

/// Writes only what differs, so that a script that runs at this moment stays whole.
fn copy(kit: Kit, names: &[&str], folder: &Path) -> Result<(), String> {
    for name in names {
        let (from, to) = (kit.sources().join(name), folder.join(name));
        let source = fs::read(&from).map_err(|e| cannot("read", &from, &e))?;
        if fs::read(&to).ok().as_ref() != Some(&source) {
            fs::write(&to, source).map_err(|e| cannot("write", &to, &e))?;
        }
    }
    Ok(())
}

/// Runs an installer to its end.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { status, stderr, .. }) => Err(format!(
            "`{command:?}` ended with {status}, repeat it by hand: {}",
            String::from_utf8_lossy(&stderr).trim()
        )),
        Err(error) => Err(format!("`{command:?}` did not start, repeat it by hand: {error}")),
    }
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {verb} {}: {error}", path.display())
}
