//! A server on pipes, for one test: sends lines, reads answers, never waits without a deadline and
//! never leaves the server behind.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take that should take milliseconds.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Tools that are quick, slow, slow with a word about it, and as slow as the test wants.
pub(crate) const MANIFEST: &str = r#"
server: { name: stdio-test, version: 1.0.0 }
tools:
  - name: greet
    input: { name: string }
    text: "Hello, {{ name }}!"
  - name: sleep
    input: { seconds: integer }
    command: [sleep, "{{ seconds }}"]
  - name: sleep_and_tell
    input: { file: string }
    command: [sh, -c, "echo $$ > $0.new && mv $0.new $0; sleep 300 & wait", "{{ file }}"]
  - name: held
    input: { pipe: string }
    command: [cat, "{{ pipe }}"]
"#;

/// A running server.
pub(crate) struct StdioServer {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
    folder: TempDir,
}

impl StdioServer {
    pub(crate) fn start() -> Self {
        Self::start_with(MANIFEST)
    }

    /// A server of other tools.
    pub(crate) fn start_with(manifest: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("haft.yaml"), manifest).expect("a file");
        Self::start_in(folder)
    }

    /// A server of the haft.yaml in a folder.
    pub(crate) fn start_in(folder: TempDir) -> Self {
        Self::start_in_as(Command::new(env!("CARGO_BIN_EXE_haft")), folder)
    }

    /// A server of other tools, started by this command.
    pub(crate) fn start_as(haft: Command, manifest: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("haft.yaml"), manifest).expect("a file");
        Self::start_in_as(haft, folder)
    }

    fn start_in_as(mut haft: Command, folder: TempDir) -> Self {
        let file = folder.path().join("haft.yaml");
        let mut child = haft
            .arg("serve")
            .arg(file)
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let stdin = child.stdin.take();
        let answers = lines_of(child.stdout.take().expect("it is piped"));
        Self { child, stdin, answers, folder }
    }

    /// The most memory that the server has had so far, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("Linux");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        peak.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
        self.send_bytes(b"\n");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).expect("the server reads");
    }

    /// Sends lines while the test does something else.
    pub(crate) fn send_from_a_thread(&mut self, lines: Vec<String>) -> JoinHandle<()> {
        let mut stdin = self.stdin.take().expect("it is open");
        thread::spawn(move || {
            for line in lines {
                writeln!(stdin, "{line}").expect("the server reads");
            }
        })
    }

    pub(crate) fn read(&mut self) -> Value {
        let line = self.answers.recv_timeout(DEADLINE).expect("an answer in time");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout is the wire's: {line}"))
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.read()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end, and returns what was answered before it.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<Value>) {
        let mut rest = Vec::new();
        while let Ok(line) = self.answers.recv_timeout(DEADLINE) {
            rest.push(serde_json::from_str(&line).expect("stdout is the wire's"));
        }
        (wait(&mut self.child), rest)
    }

    /// Where its haft.yaml is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in which a tool says its process id.
    pub(crate) fn pid_file(&self) -> PidFile {
        PidFile::in_folder(self.folder.path())
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        // Asked first, so that it ends its tools; these fail only if it has ended already.
        self.stdin = None;
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(3) && matches!(self.child.try_wait(), Ok(None))
        {
            thread::yield_now();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the manifest of these tests and returns its path.
pub(crate) fn write_manifest(folder: &Path) -> PathBuf {
    let file = folder.join("haft.yaml");
    std::fs::write(&file, MANIFEST).expect("a file");
    file
}

/// The lines of a stream, read on a thread so that a test can wait with a deadline.
pub(crate) fn lines_of(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    // Read no faster than the test does, so that a slow test is a slow client.
    let (sender, lines) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Waits for a child's end.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    wait_for("the end of the server", || child.try_wait().expect("it is our child"))
}

/// A pipe with a name, at which a call of the tool `held` waits.
pub(crate) struct Hold(PathBuf);

impl Hold {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let path = folder.join("hold");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).expect("a pipe with a name");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path of letters")
    }

    /// Waits until the call runs. It ends when what is returned is dropped, and not before.
    pub(crate) fn wait(&self) -> OwnedFd {
        // To open it for writing fails as long as nobody has opened it for reading.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        wait_for("a call", || rustix::fs::open(&self.0, flags, Mode::empty()).ok())
    }
}

/// Where a tool says its process id.
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("pid"))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path of letters")
    }

    /// The id, once it is there.
    pub(crate) fn wait(&self) -> String {
        let id = wait_for("a process id", || std::fs::read_to_string(&self.0).ok());
        id.trim().to_owned()
    }
}

/// Waits until a process and its whole group are gone.
pub(crate) fn wait_until_gone(pid: &str) {
    wait_for("the end of a process group", || {
        let processes = std::fs::read_dir("/proc").expect("Linux");
        let is_member = processes.flatten().any(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            // pid (name) state parent group …; a zombie has ended.
            let fields = stat.rsplit(')').next().unwrap_or_default();
            let fields: Vec<_> = fields.split_whitespace().collect();
            fields.get(2) == Some(&pid) && fields.first() != Some(&"Z")
        });
        (!is_member).then_some(())
    });
}

/// Looks again and again until something is there.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "{what} did not come");
        thread::yield_now();
    }
}
