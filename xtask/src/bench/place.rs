//! The machine that is measured on: its processors, and who runs on which. `measure` puts servers
//! on one and the load on another; where there is one alone, figures say little and this says so.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::command;

/// Where servers and load run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Each on a processor of its own.
    Apart,
    /// Wherever the system puts them.
    Anywhere,
}

impl Place {
    /// The best that this machine has.
    pub(super) fn find() -> Self {
        if processors() < 2 {
            println!("one processor serves and loads here: read no ratio as that of two machines");
            return Self::Anywhere;
        }
        if !command::works("taskset", &["--version"]) {
            println!("there is no `taskset` here: servers and load may share a processor");
            return Self::Anywhere;
        }
        Self::Apart
    }

    /// What comes before the words of a server.
    pub(super) fn server(self) -> Vec<String> {
        self.on("0")
    }

    /// What comes before those of the load.
    pub(super) fn load(self) -> Vec<String> {
        self.on("1")
    }

    fn on(self, processor: &str) -> Vec<String> {
        match self {
            Self::Apart => ["taskset", "-c", processor].map(str::to_owned).to_vec(),
            Self::Anywhere => Vec::new(),
        }
    }

    /// What a reader of results wants to know of the machine.
    pub(super) fn described(self) -> Value {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let release = read("/proc/sys/kernel/osrelease");
        json!({
            "processor": model(&read("/proc/cpuinfo")),
            "processors": processors(),
            "kernel": kernel(&release),
            "server_on": if self == Self::Apart { "processor 0" } else { "any" },
            "load_on": if self == Self::Apart { "processor 1" } else { "any" },
        })
    }
}

/// How many processors there are for server and load together.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The name of the processor in `/proc/cpuinfo`.
fn model(text: &str) -> &str {
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name.trim())
}

/// The two numbers of a release: what a vendor puts behind them may name a machine.
fn kernel(release: &str) -> String {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let numbers: Vec<&str> = release.trim().split(['.', '-']).take_while(is_number).collect();
    numbers.iter().take(2).copied().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::{kernel, model};

    #[test]
    fn a_kernel_is_two_numbers() {
        assert_eq!(kernel("6.1.0-28-some-cloud-amd64\n"), "6.1");
        assert_eq!(kernel("6.18-of-ada"), "6.18");
        assert_eq!(kernel(""), "");
    }

    #[test]
    fn the_processor_has_a_name() {
        let text = "processor\t: 0\nmodel name\t: Some Processor @ 2.60GHz\nflags\t: a b\n";
        assert_eq!(model(text), "Some Processor @ 2.60GHz");
        assert_eq!(model(""), "unknown");
    }
}
