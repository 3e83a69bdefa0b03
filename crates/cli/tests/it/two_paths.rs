//! A client of 2024-11-05 opens one path and posts to another; it is served where the file says so.

use crate::foreign_servers::{Listening, own};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(20);

fn serve(listen: &str) -> (Listening, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("haft.yaml");
    let text = format!(
        "server: {{ name: a }}\nlisten: [{{ {listen} }}]\n\
         tools: [{{ name: hi, description: Greets., text: Hello }}]\n"
    );
    std::fs::write(&file, text).expect("a folder of ours");
    (own(&file), folder)
}

fn connect(server: &Listening) -> (TcpStream, String) {
    let address = server.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.expect("it serves /mcp on loopback").to_owned();
    let stream = TcpStream::connect(&address).expect("the server listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time limits");
    (stream, address)
}

/// The data of the next event.
fn event(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).expect("the stream goes on") > 0, "it has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return data.trim_end().to_owned();
        }
    }
}

#[test]
fn an_old_client_is_served_where_the_file_says_so() {
    let (server, _folder) = serve("http: '127.0.0.1:0', sse: true");
    let (mut stream, address) = connect(&server);
    let open = format!("GET /sse HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n\r\n");
    stream.write_all(open.as_bytes()).expect("the server reads");
    let mut events = BufReader::new(stream);
    let path = event(&mut events);
    assert!(path.starts_with("messages?"), "{path}");
    // Seen from `/sse`.
    let path = format!("/{path}");
    let post = |body: &str| {
        let (mut stream, address) = connect(&server);
        let request = format!(
            "POST {path} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        assert!(answer.contains(" 202 "), "{answer}");
    };
    post(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05",
        "capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#,
    );
    let hello = event(&mut events);
    assert!(hello.contains(r#""protocolVersion":"2024-11-05""#), "{hello}");
    post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    post(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hi"}}"#);
    let answer = event(&mut events);
    assert!(answer.contains(r#""id":2"#) && answer.contains("Hello"), "{answer}");
}

#[test]
fn elsewhere_there_is_no_such_path() {
    let (server, _folder) = serve("http: '127.0.0.1:0'");
    let (mut stream, address) = connect(&server);
    let open = format!("GET /sse HTTP/1.0\r\nhost: {address}\r\n\r\n");
    stream.write_all(open.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    assert!(answer.starts_with("HTTP/1.0 404"), "{answer}");
}
