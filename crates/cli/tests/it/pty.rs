//! The built binary on a real terminal: a pseudo-terminal is its stdin and stderr, and a pipe its
//! stdout. Used by the tests of what a person is asked. It never waits without a deadline.

use anstream::adapter::strip_str;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; only programs that answer are waited for.
const DEADLINE: Duration = Duration::from_secs(60);

/// A run on a terminal.
pub(crate) struct OnTerminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    stdout: Receiver<Vec<u8>>,
    /// Everything that was shown, and where the next look at it begins, without its styles.
    shown: String,
    seen: usize,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) shown: String,
}

impl OnTerminal {
    /// Starts `haft`.
    pub(crate) fn haft(args: &[&str]) -> Self {
        Self::haft_with(args, &[])
    }

    /// Starts `haft` with more in its environment.
    pub(crate) fn haft_with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&main).expect("ours");
        unlockpt(&main).expect("ours");
        let size = Winsize { ws_row: 24, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&main, size).expect("a size");
        let name = ptsname(&main, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let side = rustix::fs::open(&name, flags, Mode::empty()).expect("the other end");
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(args).env("TERM", "xterm").env_remove("NO_COLOR");
        command.envs(variables.iter().copied());
        command.stdin(side.try_clone().expect("a copy")).stderr(side).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary is built");
        // It holds our copies of the other end, which would keep the terminal open.
        drop(command);
        let stdout = child.stdout.take().expect("a pipe");
        let keyboard = File::from(main.try_clone().expect("a copy"));
        let (screen, stdout) = (pieces(File::from(main)), pieces(stdout));
        Self { child, keyboard, screen, stdout, shown: String::new(), seen: 0 }
    }

    /// Waits until this is shown, in whatever style, behind what was waited for before.
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let plain = strip_str(&self.shown).to_string();
            let rest = plain.get(self.seen..).unwrap_or_default();
            if let Some(at) = rest.find(text) {
                self.seen += at + text.len();
                return self;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(piece) => self.shown += &String::from_utf8_lossy(&piece),
                Err(_) => panic!("{text:?} is not shown: {rest:?}"),
            }
        }
    }

    /// The next line that is shown and begins so, without its styles.
    pub(crate) fn line_of(&mut self, beginning: &str) -> String {
        self.sees(beginning).sees("\n");
        let plain = strip_str(&self.shown).to_string();
        let line = plain[..self.seen].trim_end().lines().last().unwrap_or_default();
        line.trim().to_owned()
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) -> &mut Self {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("a terminal");
        self
    }

    /// Types Ctrl-D.
    pub(crate) fn ends_input(&mut self) -> &mut Self {
        self.keyboard.write_all(b"\x04").expect("a terminal");
        self
    }

    /// Stops it as Ctrl-C would.
    pub(crate) fn interrupts(&mut self) -> &mut Self {
        let id = self.child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.expect("kill").success());
        self
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) -> Left {
        let mut stdout = Vec::new();
        while let Ok(piece) = self.stdout.recv_timeout(DEADLINE) {
            stdout.extend(piece);
        }
        while let Ok(piece) = self.screen.recv_timeout(DEADLINE) {
            self.shown += &String::from_utf8_lossy(&piece);
        }
        let status = self.child.wait().expect("the child is ours");
        Left {
            code: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            shown: self.shown.clone(),
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is all that is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What can be read, piece by piece, until nobody writes any more; a terminal ends with an error.
fn pieces(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(1024);
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if sender.send(piece[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}
