//! `haft call` with arguments of every type, against a tool that shows what reached it.

use crate::haft::{Ran, haft, haft_with_stdin};
use std::fs;
use tempfile::TempDir;

const FILE: &str = r#"
server: { name: typed, version: "1" }
tools:
  - name: show
    description: Shows what it was given.
    input_schema:
      type: object
      properties:
        text: { type: string }
        count: { type: integer }
        loud: { type: boolean }
        tags: { type: array, items: { type: string } }
        point: { type: object, properties: { x: { type: number } } }
        unit: { enum: [celsius, kelvin] }
      required: [text]
      additionalProperties: false
    text: "{{ [text, count, loud, tags, point, unit] | tojson }}"
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("typed.yaml"), FILE).expect("a file");
    folder
}

fn call(folder: &TempDir, arguments: &[&str], stdin: &str) -> Ran {
    let file = folder.path().join("typed.yaml").display().to_string();
    let args = ["call", &file, "show"].into_iter().chain(arguments.iter().copied());
    haft_with_stdin(args, stdin)
}

fn check(arguments: &[&str], expected: &str) {
    let ran = call(&folder(), arguments, "");
    assert_eq!(ran.printed(), format!("{expected}\n"), "{arguments:?}");
}

#[test]
fn arguments_have_the_types_of_the_schema() {
    check(&["text=5", "count=5"], r#"["5",5,null,null,null,null]"#);
    check(&["text=x", "loud=true", "unit=kelvin"], r#"["x",null,true,null,null,"kelvin"]"#);
    check(&["text=", "tags=a", "tags=b c"], r#"["",null,null,["a","b c"],null,null]"#);
    check(&["text=x", "point.x=1.5"], r#"["x",null,null,null,{"x":1.5},null]"#);
}

#[test]
fn arguments_may_be_one_json_object() {
    check(&[r#"{"text": "x", "count": 2}"#], r#"["x",2,null,null,null,null]"#);
    check(&["--input-json", r#"{"text": "x"}"#], r#"["x",null,null,null,null,null]"#);
    check(
        &["--input-json", r#"{"text": "x", "count": 1}"#, "count=2"],
        r#"["x",2,null,null,null,null]"#,
    );
}

#[test]
fn values_may_come_from_files_and_from_stdin() {
    let folder = folder();
    let path = folder.path().join("five");
    fs::write(&path, "5\n").expect("a file");
    let count = format!("count=@{}", path.display());
    let ran = call(&folder, &["text=@-", &count], "one\ntwo");
    assert_eq!(ran.printed(), "[\"one\\ntwo\",5,null,null,null,null]\n");
    let ran = call(&folder, &["--input-json", "-"], r#"{"text": "x"}"#);
    assert_eq!(ran.printed(), "[\"x\",null,null,null,null,null]\n");
    let ran = call(&folder, &["text==@-"], "unread");
    assert_eq!(ran.printed(), "[\"@-\",null,null,null,null,null]\n");
}

#[test]
fn arguments_that_cannot_be_right_are_refused_before_the_call() {
    let takes = "hint: show takes text: string, count?: integer, loud?: boolean, tags?: string[], \
                 point?: object, unit?: celsius|kelvin\n";
    for (arguments, expected) in [
        (&["txt=x"][..], "the tool has no argument `txt`; did you mean `text`?"),
        (&["text=x", "count=five"], "`count` must be an integer, not \"five\""),
        (&["count=5"], "`text` is missing; give text=… (string)"),
        (&["{}"], "`text` is missing; give text=… (string)"),
        (&["{"], "the arguments are not JSON: EOF while parsing an object at line 1 column 1"),
        (&["hello"], "\"hello\" is no argument; write key=value or one JSON object"),
        (
            &["text=@/no/such"],
            "cannot read \"/no/such\" for `text`: No such file or directory (os error 2)",
        ),
    ] {
        let ran = call(&folder(), arguments, "");
        assert_eq!((ran.code, &*ran.stdout), (Some(6), ""), "{arguments:?}");
        assert_eq!(ran.stderr, format!("error: {expected}\n{takes}"), "{arguments:?}");
    }
}

#[test]
fn a_tool_without_arguments_says_so() {
    let file = crate::haft::quickstart().display().to_string();
    let ran = haft(["call", &file, "disk_free", "x=1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.ends_with("hint: disk_free takes no arguments\n"), "{}", ran.stderr);
}
