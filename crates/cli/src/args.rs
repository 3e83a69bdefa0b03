//! The command line: every verb, option and example. Parsed by `main`; each verb's own arguments
//! are read by its file under `commands`.

use crate::commands::{agent, bench, call, check, completions, dev, discover, doctor, export};
use crate::commands::{
    import, inspect, install, invite, list, new, prompt, read, schema, serve, status,
};
use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Args, Parser, Subcommand, ValueEnum};
use haft_proto::version::Era;
use std::path::PathBuf;
use std::time::Duration;

/// Puts a handle on any tool: serves, lists and calls tools over the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "haft", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = "Examples:
  haft serve haft.yaml                         serve the tools of a file over HTTP
  haft list http://127.0.0.1:7300/mcp          what a server offers
  haft call haft.yaml word_count text='a b'    call one of its tools
  haft inspect --command 'npx -y some-server'  who a server is and what it speaks

Exit codes: 0 ok · 1 other · 2 usage · 3 authentication needed · 4 unreachable · 5 tool failed or
missing · 6 invalid arguments · 7 timed out · 8 a check or threshold failed · 130 interrupted")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every verb understands.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_display_order = 900)]
pub(crate) struct Global {
    /// Print one JSON document, and failures as one JSON line on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more; show what a started server writes to its stderr
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

/// A verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(serve::Args),
    Dev(dev::Args),
    Agent(agent::Args),
    Status(status::Args),
    Invite(invite::Args),
    Revoke(invite::RevokeArgs),
    List(list::Args),
    Call(call::Args),
    Read(read::Args),
    Prompt(prompt::Args),
    Inspect(inspect::Args),
    Bench(Box<bench::Args>),
    Check(check::Args),
    New(new::Args),
    Schema(schema::Args),
    Doctor(doctor::Args),
    Discover(discover::Args),
    Import(import::Args),
    Install(install::Args),
    Uninstall(install::UninstallArgs),
    Export(export::Args),
    Completions(completions::Args),
}

/// How a server is reached.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReachArgs {
    /// Start this command and speak with it over its stdin and stdout, instead of a TARGET
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Which protocol era to speak; auto asks the server
    #[arg(long, value_enum, default_value_t = EraArg::Auto)]
    pub(crate) era: EraArg,
    /// How long to wait for each answer: 500ms, 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Send this header with every HTTP request; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
}

/// Who haft is to a server that wants an access token.
#[derive(Clone, Debug, Args)]
pub(crate) struct AuthArgs {
    /// The id of a client that the server's authorization server knows; its secret, if it has one,
    /// is HAFT_CLIENT_SECRET
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port of this machine to which the authorization server redirects you,
    /// http://127.0.0.1:PORT/callback; any that is free if none is given
    #[arg(long, value_name = "PORT")]
    pub(crate) callback_port: Option<u16>,
}

/// How a server's questions are answered.
#[derive(Debug, Args)]
pub(crate) struct AskedArgs {
    /// Answer a question of the server, typed by the form that it sends; may be repeated. In a
    /// terminal you are asked for the rest, elsewhere it is declined
    #[arg(long = "answer", value_name = "KEY=VALUE")]
    pub(crate) answers: Vec<String>,
    /// Offer the server a model that always says this
    #[arg(long, value_name = "TEXT")]
    pub(crate) sampling_text: Option<String>,
    /// Offer the server this directory to work in; may be repeated
    #[arg(long = "root", value_name = "DIRECTORY")]
    pub(crate) roots: Vec<PathBuf>,
}

/// What `--era` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EraArg {
    /// Modern first, legacy if the server does not know it
    Auto,
    /// 2026-07-28, without a handshake
    Modern,
    /// 2024-11-05 to 2025-11-25, which begin with `initialize`
    Legacy,
}

impl EraArg {
    /// The era that is asked for; `None` is auto.
    pub(crate) fn era(self) -> Option<Era> {
        match self {
            Self::Auto => None,
            Self::Modern => Some(Era::Modern),
            Self::Legacy => Some(Era::Legacy),
        }
    }
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Reads `500ms`, `30s`, `2m`, `1h` or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a time like 500ms, 30s or 2m".to_owned()),
    };
    let seconds: f64 =
        digits.parse().map_err(|_| "write a time like 500ms, 30s or 2m".to_owned())?;
    match Duration::try_from_secs_f64(seconds * unit) {
        Ok(time) if !time.is_zero() && time <= TIME_MAX => Ok(time),
        _ => Err("a time is more than nothing and at most 24h".to_owned()),
    }
}

/// The longest time that can be waited for.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_makes_sense() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_an_example() {
        for verb in Cli::command().get_subcommands().filter(|verb| verb.get_name() != "help") {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", verb.get_name());
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "s", "0s", "-1s", "5 s", "1d", "1e99h", "NaN", "inf"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
