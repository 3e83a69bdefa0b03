//! Puts the clients that others wrote on this machine, once. `foreign` asks for them; it never
//! writes outside `target/foreign-clients`, unless Debian lacks a package and we are root.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// What the package managers read. Any change installs everything again.
const MANIFESTS: [&str; 3] = [".npmrc", "package.json", "requirements.txt"];

/// What runs beside the installed modules, because Node looks for modules beside the script.
const SCRIPTS: [&str; 4] =
    ["arguments.mjs", "python_v2.py", "typescript-v1.mjs", "typescript-v2.mjs"];

/// The folder with the clients in it.
pub(super) struct Clients {
    folder: PathBuf,
}

impl Clients {
    /// Installs the clients if this machine lacks them. Tests that come at the same time, from
    /// this process or another, wait for the one that installs.
    pub(super) fn installed() -> &'static Self {
        static CLIENTS: OnceLock<Result<Clients, String>> = OnceLock::new();
        match CLIENTS.get_or_init(install) {
            Ok(clients) => clients,
            Err(advice) => panic!("{advice}"),
        }
    }

    /// One of our scripts in JavaScript.
    pub(super) fn node_script(&self, name: &str) -> Command {
        self.node(&self.folder.join(name))
    }

    /// One of our scripts in Python.
    pub(super) fn python_script(&self, name: &str) -> Command {
        let mut command = Command::new(self.python());
        command.arg(self.folder.join(name));
        self.isolate(command)
    }

    /// The command line of the inspector.
    pub(super) fn inspector(&self) -> Command {
        let mut command = self.node(&self.folder.join("node_modules/.bin/mcp-inspector"));
        command.arg("--cli");
        command
    }

    /// The machine's own Node may be too old for the inspector, so npm brought one.
    fn node(&self, script: &Path) -> Command {
        let mut command = Command::new(self.folder.join("node_modules/.bin/node"));
        command.arg(script);
        self.isolate(command)
    }

    fn python(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    /// Clients keep state in the home directory, and would ask a proxy for the loopback address.
    fn isolate(&self, mut command: Command) -> Command {
        command.env("HOME", self.folder.join("home"));
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command
    }

    fn are_complete(&self) -> bool {
        self.folder.join("node_modules/.bin/node").exists() && self.python().exists()
    }
}

fn install() -> Result<Clients, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("foreign-clients");
    fs::create_dir_all(folder.join("home")).map_err(|e| cannot("create", &folder, &e))?;
    let lock_path = folder.join("lock");
    let lock = File::create(&lock_path).map_err(|e| cannot("create", &lock_path, &e))?;
    lock.lock().map_err(|e| cannot("lock", &lock_path, &e))?;

    let clients = Clients { folder };
    let stamp_path = clients.folder.join("stamp");
    let wanted = stamp(&clients.folder)?;
    if fs::read_to_string(&stamp_path).ok() != Some(wanted.clone()) || !clients.are_complete() {
        provide_package_managers()?;
        install_packages(&clients)?;
        fs::write(&stamp_path, wanted).map_err(|e| cannot("write", &stamp_path, &e))?;
    }
    copy(&SCRIPTS, &clients.folder)?;
    Ok(clients)
}

/// A virtual environment knows its own path, so one that was moved has to be made again.
fn stamp(folder: &Path) -> Result<String, String> {
    let mut stamp = format!("{}\n", folder.display());
    for name in MANIFESTS {
        let path = sources().join(name);
        stamp += &fs::read_to_string(&path).map_err(|e| cannot("read", &path, &e))?;
    }
    Ok(stamp)
}

fn install_packages(clients: &Clients) -> Result<(), String> {
    let folder = &clients.folder;
    for stale in ["stamp", "node_modules", "venv"] {
        let path = folder.join(stale);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        if let Err(error) = removed
            && path.exists()
        {
            return Err(cannot("remove", &path, &error));
        }
    }
    copy(&MANIFESTS, folder)?;
    let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").arg("install").args(quiet).current_dir(folder))?;
    run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let list = ["--requirement", "requirements.txt"];
    run(Command::new(clients.python()).args(pip).args(list).current_dir(folder))
}

/// Writes only what differs, so that a script that runs at this moment stays whole.
fn copy(names: &[&str], folder: &Path) -> Result<(), String> {
    for name in names {
        let (from, to) = (sources().join(name), folder.join(name));
        let source = fs::read(&from).map_err(|e| cannot("read", &from, &e))?;
        if fs::read(&to).ok().as_ref() != Some(&source) {
            fs::write(&to, source).map_err(|e| cannot("write", &to, &e))?;
        }
    }
    Ok(())
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Makes sure that `npm` and `python3 -m venv` work: by hand, or on Debian by root.
fn provide_package_managers() -> Result<(), String> {
    let missing = missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !is_root() || !works("apt-get", &["--version"]) {
        return Err(format!("the foreign clients need npm and Python's venv, install {names}"));
    }
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "-y"]).args(&missing))?;
    match missing_packages().first() {
        Some(package) => Err(format!("{package} was installed and still fails, repair it by hand")),
        None => Ok(()),
    }
}

fn missing_packages() -> Vec<&'static str> {
    let mut missing = Vec::new();
    if !works("node", &["--version"]) {
        missing.push("nodejs");
    }
    if !works("npm", &["--version"]) {
        missing.push("npm");
    }
    // Debian ships the module venv without the part of it that installs pip.
    if !works("python3", &["-c", "import ensurepip, venv"]) {
        missing.push("python3-venv");
    }
    missing
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) -> Result<(), String> {
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
