//! The command line of a server that is a program of its own: `--stdio`, `--http ADDRESS`, `--help`
//! and `--version`. Reads words and decides; starts nothing.

use crate::error::{Error, Result};
use haft_transport::http;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};

/// How clients reach a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// The client that started this process, over stdin and stdout.
    Stdio,
    /// Any client, over Streamable HTTP; port 0 is any free one. The endpoint is `/mcp`.
    Http(SocketAddr),
}

/// Where a server listens that is told nothing.
pub const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7300);

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Help,
    Serve(Wire),
    Version,
}

/// Reads the words after the program's name. Nobody types MCP by hand: without a word, a terminal
/// gets HTTP, and whatever else stdin is gets stdio.
pub(crate) fn read(
    words: impl IntoIterator<Item = OsString>,
    stdin_is_terminal: bool,
) -> Result<Wish> {
    let mut words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    let mut wire = None;
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (&*word, None),
        };
        let next = match (name, value) {
            ("--help" | "-h", None) => return Ok(Wish::Help),
            ("--version" | "-V", None) => return Ok(Wish::Version),
            ("--stdio", None) => Wire::Stdio,
            ("--http", value) => {
                let address = value.or_else(|| words.next());
                let address = address.ok_or_else(|| usage("`--http` needs an address"))?;
                Wire::Http(http::address(&address).map_err(Error::Usage)?)
            }
            _ => return Err(usage(&format!("unknown argument `{word}`"))),
        };
        if wire.replace(next).is_some() {
            return Err(usage("a server has one wire"));
        }
    }
    let default = if stdin_is_terminal { Wire::Http(DEFAULT_ADDRESS) } else { Wire::Stdio };
    Ok(Wish::Serve(wire.unwrap_or(default)))
}

fn usage(problem: &str) -> Error {
    Error::Usage(format!("{problem}; write `--stdio`, `--http ADDRESS`, or nothing"))
}

/// What `--help` prints.
pub(crate) fn help(name: &str) -> String {
    format!(
        "{name}: a server of the Model Context Protocol

Options:
  --stdio         serve the client that started this, over stdin and stdout
  --http ADDRESS  listen at an address: 127.0.0.1:7300, :7300 or 7300; port 0 is any free one
  --help          print this
  --version       print the version

Without an option it listens at {DEFAULT_ADDRESS} if stdin is a terminal, and uses stdio otherwise.
"
    )
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_ADDRESS, Wire, Wish, read};

    fn ask(words: &[&str], stdin_is_terminal: bool) -> Result<Wish, String> {
        let words = words.iter().map(Into::into);
        read(words, stdin_is_terminal).map_err(|error| error.to_string())
    }

    #[test]
    fn a_terminal_gets_http_and_a_pipe_stdio() {
        assert_eq!(ask(&[], true), Ok(Wish::Serve(Wire::Http(DEFAULT_ADDRESS))));
        assert_eq!(ask(&[], false), Ok(Wish::Serve(Wire::Stdio)));
        assert_eq!(ask(&["--stdio"], true), Ok(Wish::Serve(Wire::Stdio)));
    }

    #[test]
    fn an_address_may_be_short() {
        let expected = Ok(Wish::Serve(Wire::Http("127.0.0.1:80".parse().expect("an address"))));
        for words in [&["--http", ":80"][..], &["--http=80"], &["--http", "127.0.0.1:80"]] {
            assert_eq!(ask(words, false), expected, "{words:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_told_with_what_is() {
        let known = "; write `--stdio`, `--http ADDRESS`, or nothing";
        for (words, problem) in [
            (&["--htp"][..], "unknown argument `--htp`"),
            (&["--stdio=1"], "unknown argument `--stdio=1`"),
            (&["--http"], "`--http` needs an address"),
            (&["--stdio", "--http", "80"], "a server has one wire"),
        ] {
            assert_eq!(ask(words, false), Err(format!("{problem}{known}")));
        }
        assert!(ask(&["--http", "nowhere"], false).is_err_and(|e| e.contains("is no address")));
    }
}
