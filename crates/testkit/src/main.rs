//! The program `faulty`: over stdin and stdout, or with `--http` first, at an address that it
//! writes on stdout. All other arguments are rules; the library says which there are.

use haft_testkit::script::Script;
use haft_testkit::{http, stdio};
use std::io::Write;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let is_http = args.next_if_eq("--http").is_some();
    let done = Script::read(args).and_then(|script| {
        let served = if is_http { listen(script) } else { stdio::serve(&script) };
        served.map_err(|error| error.to_string())
    });
    match done {
        Ok(()) => ExitCode::from(3),
        Err(why) => {
            _ = writeln!(std::io::stderr(), "faulty: {why}");
            ExitCode::from(2)
        }
    }
}

fn listen(script: Script) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    http::serve(&listener, &Arc::new(script))
}
