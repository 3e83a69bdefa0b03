//! `limit-epoll PORT ANSWERS`: constant answers over HTTP. See the crate for what it is for.

use std::error::Error;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, file] = &*arguments else { return Err("it takes a port and a file".into()) };
    let answers = haft_limits::Answers::read(std::path::Path::new(file))?;
    let listener = std::net::TcpListener::bind(("127.0.0.1", port.parse()?))?;
    haft_limits::listening(listener.local_addr()?);
    Ok(haft_limits::serve_epoll(&answers, &listener)?)
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("epoll is a thing of Linux".into())
}
