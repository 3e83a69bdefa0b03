//! Faults of templates, of what is filled in, and of schemas.
//! Each as it is drawn, but for the empty line of the margin.

use crate::fixture::{check_fault, check_fault_of_tool};

#[test]
fn an_unknown_argument_names_the_nearest_one() {
    check_fault_of_tool(
        "text: '{{ nme }}'\ninput: { name: string }",
        &[
            "haft.yaml:4:15: there is no argument `nme`",
            "4 |     text: '{{ nme }}'",
            "  |               ^^^",
            "  = help: did you mean `name`?",
        ],
    );
    check_fault_of_tool(
        "text: '{{ x }}'",
        &[
            "haft.yaml:4:15: there is no argument `x`",
            "4 |     text: '{{ x }}'",
            "  |               ^",
            "  = help: the tool takes no arguments; name them in `input`",
        ],
    );
    check_fault_of_tool(
        "command: [wc, '{{ a }}', \"\\t{{ c.d }}\"]\ninput: { a: string, bb: string }",
        &[
            "haft.yaml:4:36: there is no argument `c`",
            r#"4 |     command: [wc, '{{ a }}', "\t{{ c.d }}"]"#,
            "  |                                    ^",
            "  = help: known arguments are a, bb",
        ],
    );
}

#[test]
fn a_bad_template_is_shown_inside_of_its_line() {
    check_fault_of_tool(
        "text: 'a {{ name '\ninput: { name: string }",
        &[
            concat!(
                "haft.yaml:4:17: the template cannot be used: unexpected end of input, ",
                "expected end of variable block"
            ),
            "4 |     text: 'a {{ name '",
            "  |                 ^^^^",
        ],
    );
    check_fault_of_tool(
        "text: a {{ name } b\ninput: { name: string }",
        &[
            concat!(
                "haft.yaml:4:21: the template cannot be used: unexpected `}`, expected ",
                "end of variable block"
            ),
            "4 |     text: a {{ name } b",
            "  |                     ^",
        ],
    );
    check_fault_of_tool(
        "text: |\n  a\n  b {{ name | uper }}\ninput: { name: string }",
        &[
            "haft.yaml:6:19: the template cannot be used: there is no filter `uper`",
            "6 |       b {{ name | uper }}",
            "  |                   ^^^^",
        ],
    );
    check_fault_of_tool(
        "text: >\n  folded {{ name }} and\n  {{ name is evn }}\ninput: { name: string }",
        &[
            "haft.yaml:6:18: the template cannot be used: there is no test `evn`",
            "6 |       {{ name is evn }}",
            "  |                  ^^^",
        ],
    );
}

#[test]
fn what_is_filled_in_must_be_there() {
    check_fault_of_tool(
        "text: 'a ${env:HAFT_NOT_SET}'",
        &[
            "haft.yaml:4:14: the environment variable `HAFT_NOT_SET` is not set",
            "4 |     text: 'a ${env:HAFT_NOT_SET}'",
            "  |              ^^^^^^^^^^^^^^^^^^^",
            "  = help: set it before haft starts; `$${` writes `${` itself",
        ],
    );
    check_fault_of_tool(
        "text: '${file:./nowhere}'",
        &[
            r#"haft.yaml:4:12: cannot read "./nowhere": there is no such file"#,
            "4 |     text: '${file:./nowhere}'",
            "  |            ^^^^^^^^^^^^^^^^^",
            "  = help: the path is relative to the manifest's directory",
        ],
    );
    check_fault_of_tool(
        "text: '${evn:PATH}'",
        &[
            "haft.yaml:4:12: `${evn:…}` is no known substitution",
            "4 |     text: '${evn:PATH}'",
            "  |            ^^^^^^^^^^^",
            "  = help: did you mean `${env:…}`? `$${` writes `${` itself",
        ],
    );
}

#[test]
fn nothing_is_filled_in_in_a_schema() {
    check_fault_of_tool(
        "input: { a: { type: string, default: '${env:PATH}' } }\ntext: '{{ a }}'",
        &[
            "haft.yaml:4:43: `input` is no usable schema: ${env:PATH} is not filled in here; \
             write the value itself",
            "4 |     input: { a: { type: string, default: '${env:PATH}' } }",
            "  |                                           ^^^^^^^^^^^",
        ],
    );
    check_fault_of_tool(
        "input_schema: { type: object, title: '$${env:A} ${file:a}' }\ntext: a",
        &[
            "haft.yaml:4:53: `input_schema` is no usable schema: ${file:a} is not filled in here; \
             write the value itself",
            "4 |     input_schema: { type: object, title: '$${env:A} ${file:a}' }",
            "  |                                                     ^^^^^^^^^",
        ],
    );
}

#[test]
fn nothing_is_filled_in_inside_of_a_tag() {
    check_fault_of_tool(
        r#"text: '{{ "${env:PATH}" }}'"#,
        &[
            "haft.yaml:4:16: ${env:PATH} stands inside of a template's `{{ … }}` or `{% … %}`",
            r#"4 |     text: '{{ "${env:PATH}" }}'"#,
            "  |                ^^^^^^^^^^^",
            "  = help: put it beside the braces: {{ name }}${env:NAME}",
        ],
    );
}

#[test]
fn what_was_filled_in_is_not_shown() {
    check_fault_of_tool(
        "command: [wc]\ntimeout: '${env:PATH}'",
        &[
            r#"haft.yaml:5:14: `timeout`: "${env:PATH}" is no length of time"#,
            "5 |     timeout: '${env:PATH}'",
            "  |              ^^^^^^^^^^^^^",
            "  = help: write a number and a unit, like 500ms, 5s, 2m or 1h",
        ],
    );
    check_fault(
        "server: { name: a }\nlisten: [{ http: '${env:PATH}' }]",
        &[
            r#"haft.yaml:2:18: "${env:PATH}" is no address to listen on"#,
            "2 | listen: [{ http: '${env:PATH}' }]",
            "  |                  ^^^^^^^^^^^^^",
            "  = help: write an IP address and a port, like 127.0.0.1:7300 or [::1]:7300",
        ],
    );
}

#[test]
fn a_type_of_the_short_form_is_one_of_six() {
    check_fault_of_tool(
        "text: x\ninput: { a: strin }",
        &[
            "haft.yaml:5:17: `strin` is no type for the argument `a`",
            "5 |     input: { a: strin }",
            "  |                 ^^^^^",
            "  = help: did you mean `string`?",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput: { a: int }",
        &[
            "haft.yaml:5:17: `int` is no type for the argument `a`",
            "5 |     input: { a: int }",
            "  |                 ^^^",
            "  = help: did you mean `integer`?",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput: { a: 'date[]' }",
        &[
            "haft.yaml:5:17: `date` is no type for the argument `a`",
            "5 |     input: { a: 'date[]' }",
            "  |                 ^^^^^^^^",
            concat!(
                "  = help: types are string, integer, number, boolean, array, object, ",
                "and lists like string[]"
            ),
        ],
    );
    check_fault_of_tool(
        "text: x\ninput: { a: [string] }",
        &[
            "haft.yaml:5:17: `a` must be a type or a JSON Schema, not a list",
            "5 |     input: { a: [string] }",
            "  |                 ^",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput: [a]",
        &[
            "haft.yaml:5:12: `input` must be a mapping, not a list",
            "5 |     input: [a]",
            "  |            ^",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput: { a: string, 'a?': string }",
        &[
            "haft.yaml:5:25: `a` is there twice",
            "5 |     input: { a: string, 'a?': string }",
            "  |                         ^^^^",
            "  = help: keep one of them",
        ],
    );
}

#[test]
fn a_bad_schema_is_shown_at_its_keyword() {
    check_fault_of_tool(
        "text: x\ninput: { a: { type: integer, minimum: one } }",
        &[
            concat!(
                r#"haft.yaml:5:43: `a` is no usable schema: `minimum`: "one" is not of "#,
                r#"type "number""#
            ),
            "5 |     input: { a: { type: integer, minimum: one } }",
            "  |                                           ^^^",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput_schema:\n  type: object\n  properties: { a: { type: strng } }",
        &[
            concat!(
                "haft.yaml:7:32: `input_schema` is no usable schema: `type` must be ",
                "string, integer, number, boolean, array, object or null, or a list of these"
            ),
            "7 |       properties: { a: { type: strng } }",
            "  |                                ^^^^^",
        ],
    );
    check_fault_of_tool(
        "text: x\ninput_schema: { type: string }",
        &[
            "haft.yaml:5:27: `input_schema` is no usable schema: its `type` must be `object`",
            "5 |     input_schema: { type: string }",
            "  |                           ^^^^^^",
        ],
    );
}

#[test]
fn a_schema_stays_in_the_file_and_keeps_the_rules_of_headers() {
    check_fault_of_tool(
        "text: x\ninput_schema: { type: object, $ref: 'http://x.example/y' }",
        &[
            concat!(
                "haft.yaml:5:41: `input_schema` is no usable schema: `$ref` must stay ",
                "in the schema: #/$defs/…"
            ),
            "5 |     input_schema: { type: object, $ref: 'http://x.example/y' }",
            "  |                                         ^^^^^^^^^^^^^^^^^^^^",
        ],
    );
    check_fault_of_tool(
        "command: [wc]\noutput: json\noutput_schema: { type: 5 }",
        &[
            concat!(
                "haft.yaml:6:28: `output_schema` is no usable schema: `type` must be ",
                "string, integer, number, boolean, array, object or null, or a list of these"
            ),
            "6 |     output_schema: { type: 5 }",
            "  |                            ^",
        ],
    );
    check_fault_of_tool(
        concat!(
            "text: x\ninput_schema:\n  type: object\n",
            "  properties: { a: { type: number, x-mcp-header: A } }"
        ),
        &[
            concat!(
                "haft.yaml:6:7: `input_schema` is no usable schema: `x-mcp-header` of ",
                "`a` needs the type string, integer or boolean"
            ),
            "6 |       type: object",
            "  |       ^",
        ],
    );
}

#[test]
fn a_default_fits_its_own_schema() {
    check_fault_of_tool(
        "text: x\ninput: { a: { type: integer, default: x } }",
        &[
            concat!(
                "haft.yaml:5:14: the default of `a` does not fit its own schema: must ",
                r#"be an integer, not "x""#
            ),
            "5 |     input: { a: { type: integer, default: x } }",
            "  |              ^",
        ],
    );
}
