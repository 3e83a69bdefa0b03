//! `haft doctor` against servers that are really broken, each in its own way.

use crate::editors::{Home, example, serving};
use crate::foreign_servers::own;
use crate::haft::{Ran, haft, quickstart};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// What is said of a target: the names of the steps that went well, and the last if it did not.
fn examined(ran: &Ran) -> (Vec<String>, Option<Value>) {
    let report = ran.json();
    let steps = report["steps"].as_array().expect("a list");
    let good = |step: &&Value| step["ok"] == true;
    let names = steps.iter().filter(good).map(|step| step["step"].as_str().expect("a name").into());
    let failed = steps.last().filter(|step| step["ok"] == false).cloned();
    assert_eq!(report["ok"], failed.is_none(), "{report}");
    (names.collect(), failed)
}

/// Checks the steps that go well, the one that fails, its code, and what is said about it.
fn check(args: &[&str], good: &[&str], failed: &str, code: i32, said: &[&str]) {
    let ran = haft([&["doctor", "--json", "--timeout", "10s"], args].concat());
    let (names, last) = examined(&ran);
    let last = last.unwrap_or_else(|| panic!("{args:?} works: {ran:?}"));
    assert_eq!(
        (names.as_slice(), &last["step"]),
        (&good.map_strings()[..], &json!(failed)),
        "{ran:?}"
    );
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for part in said {
        assert!(last.to_string().contains(part), "{part}: {last}");
    }
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    let text = haft([&["doctor", "--timeout", "10s"], args].concat());
    assert_eq!((text.code, &*text.stderr), (Some(code), ""), "{text:?}");
    assert!(text.stdout.contains("failed"), "{text:?}");
}

trait Strings {
    fn map_strings(&self) -> Vec<String>;
}

impl Strings for &[&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

/// A server that answers every connection by `answer`, as long as the test runs.
fn answering(answer: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    address.to_string()
}

/// Reads one request and answers it with this.
fn responding(response: &'static str) -> String {
    answering(move |mut stream| {
        let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        _ = reader.take(length).read_to_end(&mut Vec::new());
        _ = stream.write_all(response.as_bytes());
    })
}

#[test]
fn what_works_is_shown_step_by_step() {
    let server = own(&quickstart());
    let ran = haft(["doctor", &server.url, "--json"]);
    let (names, failed) = examined(&ran);
    assert_eq!((ran.code, failed), (Some(0), None));
    assert_eq!(names, ["dns", "tcp", "http", "version", "credentials", "tools"]);
    let ran = haft(["doctor", &example()]);
    let shown = ran.printed();
    for part in ["program", "quickstart", "2026-07-28, the modern era", "7 tools"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_port_where_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let url = format!("http://{address}/mcp");
    check(&[&url], &["dns"], "tcp", 4, &["nothing listens there"]);
}

#[test]
fn a_name_that_nobody_knows() {
    check(&["http://no-such-host.invalid/mcp"], &[], "dns", 4, &["check the name"]);
}

#[test]
fn plain_http_where_tls_is_asked_for() {
    let server = own(&quickstart());
    let url = server.url.replace("http://", "https://");
    check(&[&url], &["dns", "tcp"], "tls", 4, &["speaks no TLS; try http://127.0.0.1"]);
}

/// A server that speaks TLS with a certificate for this name, and answers with 401.
fn secured(name: &str) -> (String, tempfile::NamedTempFile) {
    let signed = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let mut file = tempfile::NamedTempFile::new().expect("there is a directory");
    file.write_all(signed.cert.pem().as_bytes()).expect("it is ours");
    let key = rustls::pki_types::PrivateKeyDer::try_from(signed.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has both")
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key.expect("a key"))
        .expect("they fit");
    let config = Arc::new(config);
    let address = answering(move |stream| {
        let Ok(connection) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
        let mut stream = rustls::StreamOwned::new(connection, stream);
        // Whoever does not trust us goes away here.
        if stream.read(&mut [0; 4096]).is_ok() {
            _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    (address, file)
}

#[test]
fn a_certificate_that_nobody_trusts() {
    let (address, _) = secured("127.0.0.1");
    let url = format!("https://{address}/mcp");
    check(&[&url], &["dns", "tcp"], "tls", 4, &["SSL_CERT_FILE"]);
}

#[test]
fn tls_where_plain_http_is_asked_for() {
    let (address, _) = secured("127.0.0.1");
    let url = format!("http://{address}/mcp");
    let ran = haft(["doctor", &url, "--json", "--timeout", "10s"]);
    let failed = examined(&ran).1.expect("it fails");
    assert_eq!((ran.code, &failed["step"]), (Some(4), &json!("http")), "{failed}");
    let hint = format!("TLS is spoken there; try https://{address}/mcp");
    assert_eq!(failed["hint"], hint);
}

#[test]
fn a_certificate_that_is_trusted_and_one_for_another_name() {
    let home = Home::new();
    for (name, good, failed) in [
        ("127.0.0.1", &["dns", "tcp", "tls", "http"][..], "credentials"),
        ("elsewhere.example", &["dns", "tcp"], "tls"),
    ] {
        let (address, file) = secured(name);
        let url = format!("https://{address}/mcp");
        let trusted = file.path().to_str().expect("UTF-8");
        let ran = home.haft_with(&["doctor", &url, "--json"], &[("SSL_CERT_FILE", trusted)]);
        let (names, last) = examined(&ran);
        let last = last.expect("it fails");
        assert_eq!(
            (&names[..], &last["step"]),
            (&good.map_strings()[..], &json!(failed)),
            "{last}"
        );
        assert!(failed != "tls" || last["hint"].to_string().contains("another name"), "{last}");
    }
}

#[test]
fn a_path_where_no_server_is() {
    let server = own(&quickstart());
    let url = server.url.replace("/mcp", "/wrong");
    check(
        &[&url],
        &["dns", "tcp"],
        "http",
        4,
        &["endpoint is /mcp", &format!("try {}", server.url)],
    );
}

#[test]
fn a_server_that_wants_to_know_who_asks() {
    let address = responding(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n",
    );
    let url = format!("http://{address}/mcp");
    check(&[&url], &["dns", "tcp", "http"], "credentials", 3, &["401", "--header"]);
}

#[test]
fn a_server_that_never_answers() {
    let address = answering(|stream| {
        // Held until the other side gives up.
        std::thread::spawn(move || BufReader::new(stream).bytes().count());
    });
    let url = format!("http://{address}/mcp");
    let ran = haft(["doctor", &url, "--json", "--timeout", "1s"]);
    let (names, failed) = examined(&ran);
    assert_eq!((ran.code, &names[..]), (Some(7), &["dns", "tcp"].as_slice().map_strings()[..]));
    assert_eq!(failed.expect("it fails")["code"], "timed_out");
}

#[test]
fn something_else_than_mcp() {
    let address = responding(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\
         Connection: close\r\n\r\nhello",
    );
    let url = format!("http://{address}/");
    let ran = haft(["doctor", &url, "--json"]);
    assert_eq!(examined(&ran).1.expect("it fails")["step"], "http");
}

#[test]
fn programs_that_are_missing_die_or_stay_silent() {
    check(&["--command", "no-such-program-x"], &[], "program", 4, &["no program"]);
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    check(&["--command", text], &[], "program", 4, &["not executable", "chmod +x"]);
    check(&["--command", "bassh -c true"], &[], "program", 4, &["did you mean bash?"]);
    let dies = "sh -c 'echo broken pipe fitting >&2; exit 3'";
    check(&["--command", dies], &["program"], "answers", 4, &["broken pipe fitting", "run `sh -c"]);
    let ran = haft(["doctor", "--command", "sleep 60", "--json", "--timeout", "1s"]);
    let (names, failed) = examined(&ran);
    assert_eq!((ran.code, names), (Some(7), vec!["program".to_owned()]));
    assert!(failed.expect("it fails")["hint"].to_string().contains("says nothing"));
}

#[test]
fn a_file_with_a_tool_that_cannot_run() {
    let home = Home::new();
    home.write(
        "project/odd.yaml",
        "server: { name: odd }\ntools:\n  - { name: a, description: A., command: [no-such-x] }\n",
    );
    let ran = home.haft(&["doctor", "odd.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("odd.yaml:3: there is no program `no-such-x`"), "{ran:?}");
}

#[test]
fn a_program_that_prints_on_stdout() {
    // It says something else and nothing more.
    let noise = "sh -c 'echo Starting up; exec sleep 60'";
    let ran = haft(["doctor", "--command", noise, "--json", "--timeout", "2s"]);
    let failed = examined(&ran).1.expect("it fails");
    assert!(failed["message"].to_string().contains("Starting up"), "{failed}");
    // It says something else and works all the same: for us, not for everybody.
    let file = example();
    let haft_itself = env!("CARGO_BIN_EXE_haft");
    let noise = format!("sh -c 'echo Starting up; exec {haft_itself} serve {file} --stdio'");
    let ran = haft(["doctor", "--command", &noise, "--json"]);
    let report = ran.json();
    assert_eq!((ran.code, &report["ok"]), (Some(0), &json!(true)), "{report}");
    assert!(report.to_string().contains("Starting up"), "{report}");
}

#[test]
fn a_server_of_an_editor_is_started_as_there() {
    let home = Home::new();
    let servers = json!({"mcpServers": {"desk": serving(&example())}});
    home.write(".cursor/mcp.json", &servers.to_string());
    let ran = home.haft(&["doctor", "desk"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("from ~/.cursor/mcp.json"), "{ran:?}");
    let ran = home.haft(&["doctor", "desk1"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean desk?"), "{ran:?}");
}
