//! The program `faulty`: over stdin and stdout, or with `--http` or `--sse` first, at an address
//! that it writes on stdout. All other arguments are rules; the library says which there are.

use haft_testkit::script::Script;
use haft_testkit::{http, sse, stdio};
use std::io::Write;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let wire = args.next_if(|arg| arg == "--http" || arg == "--sse");
    let done = Script::read(args).and_then(|script| {
        let served = match wire.as_deref() {
            Some("--http") => listen(script, "/mcp", http::serve),
            Some(_) => listen(script, sse::STREAM, sse::serve),
            None => stdio::serve(&script),
        };
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

fn listen(
    script: Script,
    path: &str,
    serve: fn(&TcpListener, &Arc<Script>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(std::io::stdout(), "http://{}{path}", listener.local_addr()?)?;
    serve(&listener, &Arc::new(script))
}
