//! Every fault as it is drawn: the message, the line, the mark under the spot, the help.

use crate::fixture::Desk;

/// Checks the drawing of the fault of a manifest, without the directory of its path.
#[track_caller]
fn check(yaml: &str, expected: &str) {
    let desk = Desk::with(yaml);
    let path = desk.file("haft.yaml");
    let drawn = match haft_manifest::load(&path) {
        Ok(manifest) => match manifest.server() {
            Ok(_) => panic!("there is nothing wrong with\n{yaml}"),
            Err(fault) => fault.to_string(),
        },
        Err(fault) => fault.to_string(),
    };
    let directory = format!("{}/", desk.path().display());
    assert_eq!(drawn.replace(&directory, ""), expected, "\n{yaml}");
}

#[test]
fn print_all() {
    let tool = |rest: &str| format!("server: {{ name: a }}\ntools:\n  - name: t\n{rest}");
    for yaml in [
        "server: {name: a}\ntoolz: []\n".to_owned(), "server: {nam: a}".into(), "tools: []\n".into(), "server: {}".into(), "".into(), "- a".into(), "text".into(),
        "server:\n".into(), "server: {name: [a]}".into(), "server: {name: 1.0}".into(), "server: {name: ''}".into(), "server: a".into(),
        "server: {name: a}\ntools: {name: x}".into(), "server: {name: a}\ntools:\n".into(), "server: {name: a}\ntools:\n  - x\n".into(), "server: {name: a}\ntools:\n  - title: x\n".into(),
        "server: {name: a\ntools: x".into(), "server:\n\tname: a".into(), "server: {name: a, name: b}".into(), "server: *foo".into(), "server: {name: a}\n---\nx: y".into(),
        "server: {name: @a}".into(), "server: {name: a: b}".into(), "server: {name: \"a\\q\"}".into(), "server: {name: 'a}".into(), "server: !foo {name: a}".into(), "server:\n  name: a\n bad: x\n".into(),
        tool("    command: wc -w\n"), tool("    command: [wc, [a]]\n"), tool("    command: []\n"), tool("    command: ['']\n"), tool("    command: ['{{ x }}']\n"),
        tool("    text: {{ x }}\n"), tool("    text: '{{ nme }}'\n    input: {name: string}\n"), tool("    text: '{{ nme }}'\n"), tool("    text: |\n      a\n      b {{ name | uper }}\n    input: {name: string}\n"),
        tool("    text: 'a {{ name '\n    input: {name: string}\n"), tool("    text: a {{ name } b\n    input: {name: string}\n"), tool("    text: a {% if name %} b\n    input: {name: string}\n"),
        tool(""), tool("    text: x\n    command: [wc]\n"), tool("    text: x\n    stdin: y\n"), tool("    text: x\n    timeout: 5s\n"), tool("    command: [wc]\n    timeout: 5\n"), tool("    command: [wc]\n    timeout: 5 seconds\n"), tool("    command: [wc]\n    timeout: 48h\n"),
        tool("    command: [wc]\n    output: yaml\n"), tool("    command: [wc]\n    output: [text]\n"), tool("    command: [wc]\n    output: {parce: text}\n"), tool("    command: [wc]\n    output: {limit: 1mb}\n"), tool("    command: [wc]\n    output: {limit: 0}\n"), tool("    command: [wc]\n    output: {parse: txt}\n"),
        tool("    command: [wc]\n    ok_exit: []\n"), tool("    command: [wc]\n    ok_exit: [256]\n"), tool("    command: [wc]\n    ok_exit: 1\n"), tool("    command: [wc]\n    concurrency: 0\n"), tool("    command: [wc]\n    concurrency: -1\n"), tool("    command: [wc]\n    concurrency: many\n"),
        tool("    command: [wc]\n    env: [A]\n"), tool("    command: [wc]\n    env: {'A=B': x}\n"), tool("    command: [wc]\n    cwd: '{{ x }}'\n"), tool("    command: [wc]\n    output_schema: {type: object}\n"),
        tool("    text: x\n    annotations: {readonly: true}\n"), tool("    text: x\n    annotations: {readOnly: yes}\n"),
        tool("    text: x\n    input: {a: strin}\n"), tool("    text: x\n    input: {a: int}\n"), tool("    text: x\n    input: {a: date}\n"), tool("    text: x\n    input: {a: [string]}\n"), tool("    text: x\n    input: [a]\n"), tool("    text: x\n    input: {a: string, 'a?': string}\n"), tool("    text: x\n    input: {a: {type: integer, minimum: one}}\n"), tool("    text: x\n    input: {a: {type: integer, default: x}}\n"),
        tool("    text: x\n    input_schema: {type: object, properties: {a: {type: strng}}}\n"), tool("    text: x\n    input_schema: {type: string}\n"), tool("    text: x\n    input_schema: {type: object, $ref: 'http://x.example/y'}\n"), tool("    text: x\n    input_schema: {type: object}\n    input: {}\n"), tool("    text: x\n    input_schema: {type: object, properties: {a: {type: number, x-mcp-header: A}}}\n"),
        tool("    text: '${env:HAFT_NOT_SET}'\n"), tool("    text: '${file:./nowhere}'\n"), tool("    text: '${evn:PATH}'\n"), tool("    text: '{{ \"${env:PATH}\" }}'\n"), tool("    command: [wc]\n    timeout: '${env:PATH}'\n"),
        tool("    text: x\n  - name: t\n    text: y\n"), "server: {name: a}\ntools:\n  - name: a b\n    text: x\n".into(),
        "server: {name: a}\nlisten: []\n".into(), "server: {name: a}\nlisten: [{http: nowhere}]\n".into(), "server: {name: a}\nlisten: [{http: 7300}, {http: ':7300'}]\n".into(), "server: {name: a}\nlisten: [{http: 7300, path: mcp}]\n".into(), "server: {name: a}\nlisten: [{htp: 7300}]\n".into(), "server: {name: a}\nlisten: {http: 7300}\n".into(),
        "server: {name: '${env:PATH'}\nlisten: [{http: '${env:PATH}'}]\n".into(),
    ] {
        let desk = Desk::with(&yaml);
        let path = desk.file("haft.yaml");
        let out = match haft_manifest::load(&path) { Ok(m) => match m.server() { Ok(_) => "NO FAULT".to_owned(), Err(f) => f.to_string() }, Err(f) => f.to_string() };
        println!("-----\n{yaml}\n=>\n{}\n", out.replace(&format!("{}/", desk.path().display()), ""));
    }
}
