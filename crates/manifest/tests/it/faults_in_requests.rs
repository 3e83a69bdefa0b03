//! What can be wrong with a tool that asks a server, as it is drawn.

use crate::fixture::{Desk, check_fault_of_tool};

/// A fault of `http` with these lines, in one line, from column 13 on, and what it says.
#[track_caller]
fn check(http: &str, column: usize, message: &str, help: &str) {
    let yaml = format!("server: {{ name: a }}\ntools:\n  - name: t\n    http: {{ {http} }}\n");
    let desk = Desk::with(&yaml);
    let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else { panic!("fine: {http}") };
    let said = (fault.line(), fault.column(), fault.problem().message(), fault.help());
    let help = (!help.is_empty()).then(|| help.to_owned());
    assert_eq!(said, (Some(4), Some(column), message.to_owned(), help), "{fault}");
}

#[test]
fn a_request_has_one_method_and_one_body() {
    let none = "give it one of get, head, post, put, patch and delete, with an address";
    check("query: { a: b }", 11, "`http` says nothing", none);
    check(
        "get: 'http://a', post: 'http://b'",
        36,
        "`post` and `get` exclude each other",
        "keep one of them",
    );
    let message = "`get` has no body, and `json` is one";
    check("get: 'http://a', json: { a: b }", 36, message, "use `query`, or another method");
    let message = "`form` and `json` exclude each other";
    check("post: 'http://a', json: {}, form: { a: b }", 47, message, "keep one of them");
}

#[test]
fn an_address_is_one() {
    let help = "write it like https://api.example.com/v1/items/{{ id }}";
    for (url, column, reason) in [
        ("a.example/x", 18, "it must begin with http:// or https://"),
        ("ftp://a/", 18, "it must begin with http:// or https://"),
        ("http://u:p@a/", 18, "it holds a user name or password; use `auth`"),
        ("http://a/b c", 27, "it holds white space or characters that are not ASCII"),
        ("http://a/b/../c", 27, "its path holds `.` or `..`"),
        ("http://a/%2e%2E/c", 27, "its path holds `.` or `..`"),
        ("http://a/b#c", 29, "it has a fragment, `#…`, which no server sees"),
        ("http://a\\b/", 18, "it holds a character that must be escaped"),
        ("http://a:99999/", 18, "its port is no number from 1 to 65535"),
    ] {
        let message = format!("the address cannot be used: {reason}");
        check(&format!("get: '{url}'"), column, &message, help);
    }
}

#[test]
fn a_template_chooses_no_host() {
    let help = "write the host out, or `allow_dynamic_host: true` if callers may choose it";
    for url in ["http://{{ a }}/", "http://x.{{ a }}.example/b", "{{ a }}", "http://x{{ a }}"] {
        check(&format!("get: '{url}'"), 19, "a template chooses the host", help);
    }
    let message = "`auth` would go to whatever host a caller names";
    let help = "let the host end in a fixed part: https://{{ name }}.example.com";
    let tool = |url: &str| {
        format!(
            "input: {{ a: string }}\nhttp:\n  get: '{url}'\n  allow_dynamic_host: true\n  \
             auth: {{ bearer: x }}"
        )
    };
    for url in [
        "http://{{ a }}/x",
        "{{ a }}",
        "http://x{{ a }}",
        "https://{{ a }}:8443/x",
        "https://{{ a }}./x",
        "https://{{ a }}.com",
        "https://{{ a }}.com.:1/",
        "https://{{ a }}x.com/",
        "https://{{ a }}.0.0.1/",
    ] {
        check_fault_of_tool(
            &tool(url),
            &[
                &format!("haft.yaml:8:13: {message}"),
                "8 |       auth: { bearer: x }",
                "  |             ^",
                &format!("  = help: {help}"),
            ],
        );
    }
    for url in ["http://{{ a }}.example.com/x", "http://{{ a }}-x.example.com.:8443"] {
        let yaml = tool(url).replace('\n', "\n    ");
        let desk = Desk::with_tools(&format!("  - name: t\n    {yaml}\n"));
        assert!(haft_manifest::load(&desk.file("haft.yaml")).is_ok(), "{url}");
    }
}

#[test]
fn what_is_filled_in_goes_to_no_host_of_a_caller() {
    let load = |url: &str, keys: &str| {
        let yaml = format!(
            "  - name: t\n    input: {{ a: string }}\n    http:\n      get: '{url}'\n      \
             allow_dynamic_host: true\n      {keys}\n"
        );
        let has_body =
            ["json", "form", "multipart", "body"].iter().any(|key| keys.starts_with(key));
        let yaml = if has_body { yaml.replace("get:", "post:") } else { yaml };
        let fault = haft_manifest::load(&Desk::with_tools(&yaml).file("haft.yaml")).err();
        fault.map(|fault| fault.problem().message())
    };
    let (headers, query) = ("headers: { x-key: 'a ${env:PATH}' }", "query: { key: '${env:PATH}' }");
    for (url, keys, what) in [
        ("{{ a }}", headers, "`headers`"),
        ("http://{{ a }}:80/x", query, "`query`"),
        ("http://{{ a }}/?k=${env:PATH}", "redirects: 0", "the address"),
        ("{{ a }}", "json: { a: [1, { b: 'x ${env:PATH}' }] }", "`json`"),
        ("{{ a }}", "form: { a: '${env:PATH}' }", "`form`"),
        ("{{ a }}", "body: 'a ${env:PATH}'", "`body`"),
        ("{{ a }}", "multipart: { a: '${env:PATH}' }", "`multipart`"),
        ("{{ a }}", "multipart: { a: { content: '${env:PATH}', filename: a } }", "`multipart`"),
        ("{{ a }}", "multipart: { a: { content: a, filename: '${env:PATH}' } }", "`multipart`"),
    ] {
        let message =
            format!("what is filled in for {what} would go to whatever host a caller names");
        assert_eq!(load(url, keys), Some(message), "{url}");
    }
    for keys in [headers, query] {
        assert_eq!(load("http://{{ a }}.example.com/", keys), None);
    }
    assert_eq!(load("{{ a }}", "headers: { x-key: 'a $${env:PATH}' }"), None);
    assert_eq!(load("{{ a }}", "json: { a: ['{{ a }}', 'a $${env:PATH}'] }"), None);
}

#[test]
fn a_template_is_shown_where_it_is_wrong() {
    check_fault_of_tool(
        "input: { city: string }\nhttp: { get: 'http://a/x/{{ town }}' }",
        &[
            "haft.yaml:5:33: there is no argument `town`",
            "5 |     http: { get: 'http://a/x/{{ town }}' }",
            "  |                                 ^^^^",
            "  = help: known arguments are city",
        ],
    );
    check_fault_of_tool(
        "input: { city: string }\nhttp: { post: 'http://a/', json: { a: [1, '{{ cty }}'] } }",
        &[
            "haft.yaml:5:51: there is no argument `cty`",
            "5 |     http: { post: 'http://a/', json: { a: [1, '{{ cty }}'] } }",
            "  |                                                   ^^^",
            "  = help: did you mean `city`?",
        ],
    );
    let help = "put the parameter into `query`, which leaves out what makes nothing";
    let message = "a statement stands in the query of the address";
    check("get: 'http://a/?x=1&y={% if z %}1{% endif %}'", 33, message, help);
}

#[test]
fn headers_are_the_tool_s_own() {
    let help = "remove it; haft sends it where it is needed";
    let url = "get: 'http://a'";
    for name in ["Host", "content-length", "Transfer-Encoding", "connection"] {
        let message = format!("the header `{name}` is the connection's own");
        check(&format!("{url}, headers: {{ {name}: x }}"), 41, &message, help);
    }
    let help = "use letters, digits and `-`, like x-api-key";
    let message = "\"x y\" cannot be the name of a header";
    check(&format!("{url}, headers: {{ x y: z }}"), 41, message, help);
    let help = "remove line ends and control characters";
    let message = "the value of `x` is no text of a header";
    check(&format!("{url}, headers: {{ x: \"a\\nb\" }}"), 44, message, help);
    check(
        &format!("{url}, auth: {{ bearer: \"a\\nb\" }}"),
        46,
        "the value of `bearer` is no text of a header",
        help,
    );
}

#[test]
fn who_asks_is_one() {
    let url = "get: 'http://a'";
    let help = "give it one of bearer, basic, header, query and oauth";
    check(&format!("{url}, auth: {{}}"), 36, "`auth` says nothing", help);
    let both = format!("{url}, auth: {{ bearer: a, query: {{ name: a, value: b }} }}");
    check(&both, 56, "`query` and `bearer` exclude each other", "keep one of them");
    let message = "`bearer` cannot be a template: a caller must not choose who asks";
    check(&format!("{url}, auth: {{ bearer: '{{{{ a }}}}' }}"), 46, message, "");
    check(
        &format!("{url}, auth: {{ baerer: a }}"),
        38,
        "`baerer` is no known key of `auth`",
        "did you mean `bearer`?",
    );
    check(&format!("{url}, auth: {{ basic: {{ user: a }} }}"), 45, "`basic` needs `password`", "");
    let oauth = "token_url: x, client_id: a, client_secret: b";
    let help = "write it like https://api.example.com/v1/items/{{ id }}";
    let message = "the address cannot be used: it must begin with http:// or https://";
    check(&format!("{url}, auth: {{ oauth: {{ {oauth} }} }}"), 58, message, help);
}

#[test]
fn numbers_and_places_are_what_they_should_be() {
    let url = "get: 'http://a'";
    let help = "write a number from 100 to 599, or a class like 2xx";
    for (status, shown) in [("700", "\"700\""), ("6xx", "\"6xx\""), ("ok", "\"ok\"")] {
        let message = format!("{shown} is no status");
        check(&format!("{url}, ok_status: [{status}]"), 42, &message, help);
    }
    let message = "`ok_status` is an empty list";
    let empty = "name the statuses that are no failure, like [2xx, 404]";
    check(&format!("{url}, ok_status: []"), 41, message, empty);
    let message = "`redirects` must be from 0 to 20";
    check(&format!("{url}, redirects: 21"), 41, message, "write 0 to follow none");
    let help = "write it like localhost, 127.0.0.1 or 10.0.0.0/8";
    let message = "\"10.0.0.0/99\" is no host, address or network";
    check(&format!("{url}, allow_private: [10.0.0.0/99]"), 46, message, help);
    let message = "`allow_private` must be true, false or a list, not text";
    check(&format!("{url}, allow_private: localhost"), 45, message, "");
}

#[test]
fn output_fits_its_kind() {
    for (output, column, message, help) in [
        ("auto", 13, "`output: auto` belongs to tools with `http`", ""),
        ("binary", 13, "`output: binary` belongs to tools with `http`", ""),
        ("{ pick: a }", 21, "\"a\" is no JSON Pointer", "write it like /items/0/name"),
        ("{ parse: text, pick: /a }", 34, "`pick` belongs to outputs with `parse: json`", ""),
    ] {
        let lines = format!("command: [wc]\noutput: {output}");
        let yaml = format!(
            "server: {{ name: a }}\ntools:\n  - name: t\n    {}\n",
            lines.replace('\n', "\n    ")
        );
        let desk = Desk::with(&yaml);
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(output);
        let said = (fault.column(), fault.problem().message(), fault.help().unwrap_or_default());
        assert_eq!(said, (Some(column), message.to_owned(), help.to_owned()), "{fault}");
    }
}

#[test]
fn a_secret_is_in_no_fault() {
    let path = std::env::var("PATH").expect("every machine has one");
    for http in [
        "get: '${env:PATH}/x'",
        "get: 'http://a/${env:PATH} x'",
        "get: 'http://a', auth: { oauth: { token_url: '${env:PATH}', client_id: a, \
         client_secret: b } }",
        "get: 'http://a', ok_status: ['${env:PATH}']",
    ] {
        let yaml = format!("server: {{ name: a }}\ntools:\n  - name: t\n    http: {{ {http} }}\n");
        let desk = Desk::with(&yaml);
        let fault = haft_manifest::load(&desk.file("haft.yaml")).map(|_| ()).expect_err(http);
        assert!(!fault.to_string().contains(&path), "{fault}");
    }
}
