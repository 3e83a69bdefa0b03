//! Opens sessions of the legacy era and leaves them: each greets, lists the tools and says nothing
//! more. `gateway` reads what its server holds before and after; one connection asks for all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"xtask","version":"1"}}}"#
);
const GREETED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 4 * 1024 * 1024;

/// Opens so many at `127.0.0.1` and a port.
pub(super) fn open(port: u16, count: usize) -> Result<(), String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let mut stream = BufReader::new(stream);
    for _ in 0..count {
        let session = asked(&mut stream, None, HELLO)?.ok_or("it opens no session")?;
        for message in [GREETED, LIST] {
            asked(&mut stream, Some(&session), message)?;
        }
    }
    Ok(())
}

/// Sends one message, reads all of its answer, and says which session that names.
fn asked(
    stream: &mut BufReader<TcpStream>,
    session: Option<&str>,
    message: &str,
) -> Result<Option<String>, String> {
    let session = session.map_or_else(String::new, |id| {
        format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n")
    });
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: \
         application/json, text/event-stream\r\n{session}content-length: {}\r\n\r\n{message}",
        message.len()
    );
    let broken = |error: std::io::Error| error.to_string();
    stream.get_mut().write_all(head.as_bytes()).map_err(broken)?;
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).map_err(broken)?;
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let answer = Answer::read(&head)?;
    let mut body = vec![0; answer.length];
    stream.read_exact(&mut body).map_err(broken)?;
    Ok(answer.session)
}

/// What is wanted of the head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    length: usize,
    session: Option<String>,
}

impl Answer {
    fn read(head: &[String]) -> Result<Self, String> {
        let status = head.first().map_or("nothing", String::as_str);
        if status.split(' ').nth(1).is_none_or(|code| !code.starts_with('2')) {
            return Err(format!("it answered {status:?}"));
        }
        let field = |name: &str| {
            head.iter().find_map(|line| {
                let (known, value) = line.split_once(':')?;
                known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        if field("transfer-encoding").is_some() {
            return Err("its answers come in pieces".to_owned());
        }
        let length = field("content-length").map_or(Ok(0), |length| length.parse());
        let length = length.ok().filter(|length| *length <= ANSWER_MAX);
        let length = length.ok_or("its answers have no usable length")?;
        Ok(Self { length, session: field("mcp-session-id") })
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;

    fn read(head: &str) -> Result<Answer, String> {
        let lines: Vec<String> = head.lines().map(str::to_owned).collect();
        Answer::read(&lines)
    }

    #[test]
    fn the_session_and_the_length_of_an_answer_are_found() {
        let head = "HTTP/1.1 200 OK\nContent-Length: 12\nMcp-Session-Id: abc";
        let expected = Answer { length: 12, session: Some("abc".to_owned()) };
        assert_eq!(read(head), Ok(expected));
        assert_eq!(read("HTTP/1.1 202 Accepted"), Ok(Answer { length: 0, session: None }));
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (head, why) in [
            ("HTTP/1.1 404 Not Found\ncontent-length: 2", "404"),
            ("HTTP/1.1 200 OK\ntransfer-encoding: chunked", "pieces"),
            ("HTTP/1.1 200 OK\ncontent-length: 99999999999", "length"),
            ("", "nothing"),
        ] {
            assert!(read(head).is_err_and(|said| said.contains(why)), "{head}");
        }
    }
}
