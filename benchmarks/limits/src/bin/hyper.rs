//! `limit-hyper PORT ANSWERS [THREADS]`: constant answers over HTTP, on one thread or on the
//! runtime that has several. See the crate for what it is for.

use haft_limits::{Answers, listening, serve_hyper};
use std::error::Error;
use std::path::Path;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// The most threads that serve.
const THREADS_MAX: usize = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (port, file, threads) = match &*arguments {
        [port, file] => (port, file, None),
        [port, file, threads] => (port, file, Some(threads.parse::<usize>()?)),
        _ => return Err("it takes a port, a file and perhaps a number of threads".into()),
    };
    let answers = Answers::read(Path::new(file))?;
    let port: u16 = port.parse()?;
    let runtime = match threads {
        None => Builder::new_current_thread().enable_all().build()?,
        Some(count @ 1..=THREADS_MAX) => {
            Builder::new_multi_thread().worker_threads(count).enable_all().build()?
        }
        Some(_) => return Err(format!("there are 1 to {THREADS_MAX} threads").into()),
    };
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        listening(listener.local_addr()?);
        Ok(serve_hyper(answers, listener).await?)
    })
}
