//! One request over HTTP/1.0 and all of its answer, as clients of either era send it. By hand: what
//! a client of ours would mend or hide is to be seen. Judges nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::limits;

/// What clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// As the key `era` has it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// A client: where it asks, and its session if it has one.
pub(crate) struct Client {
    address: String,
    headers: String,
    era: Era,
}

impl Client {
    /// One that has shaken hands, if its era does.
    pub(crate) fn begin(address: &str, era: Era) -> Result<Self, String> {
        let mut client = Self { address: address.to_owned(), headers: String::new(), era };
        if era == Era::Modern {
            client.headers = "mcp-protocol-version: 2026-07-28\r\n".to_owned();
            return Ok(client);
        }
        let about = json!({ "name": "soak", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = exchange(address, &client.request("", &begin))?;
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.ok_or_else(|| format!("no session: {answer}"))?;
        client.headers =
            format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n");
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        exchange(address, &client.request("", &begun))?;
        Ok(client)
    }

    /// The answer to a call, as a message.
    pub(crate) fn call(&self, id: u64, tool: &str, arguments: &Value) -> Result<Value, String> {
        let told = exchange(&self.address, &self.call_request(id, tool, arguments))?;
        let (_, body) = told.split_once("\r\n\r\n").ok_or_else(|| format!("half of: {told:?}"))?;
        // One message, or a stream of events with the answer at its end.
        let event = body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        let text = event.filter(|_| !body.starts_with('{')).unwrap_or(body);
        serde_json::from_str(text).map_err(|error| {
            let start: String = told.chars().take(600).collect();
            format!("no whole message ({error}): {start:?}")
        })
    }

    /// The bytes of a call.
    pub(crate) fn call_request(&self, id: u64, tool: &str, arguments: &Value) -> String {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request_of(id, "tools/call", Some(tool), params)
    }

    /// The bytes of a request, which may be about something with a name.
    pub(crate) fn request_of(
        &self,
        id: u64,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> String {
        let mut mirrors = String::new();
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            mirrors = format!("mcp-method: {method}\r\n");
            if let Some(name) = name {
                mirrors += &format!("mcp-name: {name}\r\n");
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.request(&mirrors, &message)
    }

    fn request(&self, mirrors: &str, message: &Value) -> String {
        let (address, headers, body) = (&self.address, &self.headers, message.to_string());
        format!(
            "POST /mcp HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}{mirrors}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

/// Sends a request and reads until the other side has no more to say.
pub(crate) fn exchange(address: &str, request: &str) -> Result<String, String> {
    exchange_within(address, request, limits::ANSWER)
}

/// The same where nothing may come for so long.
pub(crate) fn exchange_within(
    address: &str,
    request: &str,
    silence: Duration,
) -> Result<String, String> {
    let all = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(silence))?;
        stream.write_all(request.as_bytes())?;
        let mut told = Vec::new();
        stream.read_to_end(&mut told)?;
        Ok(told)
    };
    let told = all().map_err(|error| format!("no answer: {error}"))?;
    Ok(String::from_utf8_lossy(&told).into_owned())
}
