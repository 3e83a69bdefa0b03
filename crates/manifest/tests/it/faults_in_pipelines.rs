//! Faults of pipelines: names, tools, types, circles and bounds. Each as it is drawn, but for the
//! empty line of the margin.

use crate::fixture::{Desk, check_fault};

const DEEP: &str = "properties: { x: { type: integer } }, additionalProperties: false";
const NUMBER: &str = "command: [echo], output: json, output_schema: { type: integer }";

/// A file whose tools are a few to call and a pipeline `p` of these lines, from line 9 on.
fn file(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "server: {{ name: a }}
tools:
  - {{ name: say, input: {{ text: string }}, text: '{{{{ text }}}}' }}
  - {{ name: num, input: {{ n: integer, 'deep?': {{ type: object, {DEEP} }} }}, {NUMBER} }}
  - {{ name: list, command: [ls], output: lines }}
  - name: p
    input: {{ t: string, 'opt?': string, nums: 'integer[]' }}
    pipeline:
{lines}"
    )
}

#[track_caller]
fn check(lines: &str, expected: &[&str]) {
    check_fault(&file(lines), expected);
}

/// Checks the first line of the fault and what it says to do.
#[track_caller]
fn check_short(lines: &str, message: &str, help: &str) {
    let desk = Desk::with(&file(lines));
    let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else {
        panic!("there is nothing wrong with\n{lines}")
    };
    let drawn = fault.message().replace(&format!("{}/", desk.path().display()), "");
    assert_eq!((drawn.as_str(), fault.help().unwrap_or_default().as_str()), (message, help));
}

#[track_caller]
fn check_right(lines: &str) {
    let desk = Desk::with(&file(lines));
    haft_manifest::load(&desk.file("haft.yaml")).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn a_tool_that_nobody_has() {
    check(
        "- { call: sai, with: { text: '{{ t }}' } }",
        &[
            "haft.yaml:9:15: there is no tool `sai`",
            "9 |     - { call: sai, with: { text: '{{ t }}' } }",
            "  |               ^^^",
            "  = help: did you mean `say`?",
        ],
    );
}

#[test]
fn a_value_that_nobody_makes() {
    check(
        "- { call: list, as: files }\n- { call: say, with: { text: 'no {{ filse }}' } }",
        &[
            "haft.yaml:10:41: there is no value `filse`",
            "10 |     - { call: say, with: { text: 'no {{ filse }}' } }",
            "   |                                         ^^^^^",
            "   = help: did you mean `files`?",
        ],
    );
}

#[test]
fn a_value_that_is_made_later() {
    check(
        "- { call: say, with: { text: '{{ x }}' } }\n- { call: say, with: { text: a }, as: x }",
        &[
            "haft.yaml:9:38: `x` is not there yet: line 10 makes it",
            "9 |     - { call: say, with: { text: '{{ x }}' } }",
            "  |                                      ^",
            "  = help: move that step before this one",
        ],
    );
}

#[test]
fn a_value_of_another_branch() {
    check_short(
        "- parallel:
    - { call: say, with: { text: a }, as: x }
    - { call: say, with: { text: '{{ x }}' } }",
        "haft.yaml:11:42: `x` is there only within the `parallel` of line 10",
        "steps that run at the same time do not see each other; move one of them out",
    );
    check_right(
        "- parallel: [{ call: say, with: { text: a }, as: x }, { call: list }]
- { call: say, with: { text: '{{ x }}' } }",
    );
}

#[test]
fn a_value_of_a_loop_or_of_steps_that_may_be_skipped() {
    let within = |key: &str| {
        let after = "- { call: say, with: { text: '{{ x.lines }}' } }";
        format!("- {{ {key}, do: [{{ call: list, as: x }}] }}\n{after}")
    };
    let help = "give that step a name by `as`, and use what it makes";
    for (key, word) in [
        ("each: [1]", "`each`"),
        ("when: '{{ opt }}'", "`when`"),
        ("on_error: continue", "`on_error: continue`"),
    ] {
        let message = format!("haft.yaml:10:38: `x` is there only within the {word} of line 9");
        check_short(&within(key), &message, help);
    }
}

#[test]
fn a_name_is_given_once() {
    check_short(
        "- { call: list, as: x }\n- { call: list, as: x }",
        "haft.yaml:10:25: line 9 gives the name `x` already",
        "choose another name",
    );
    let help = "use letters, digits and `_`; `errors` and the words of templates are taken";
    for name in ["t", "errors", "a-b", "loop", "1a", "true_"] {
        let lines = format!("- {{ call: list, as: '{name}' }}");
        match name {
            "true_" => check_right(&lines),
            name => {
                let message = format!("haft.yaml:9:25: `as`: {name:?} is no name for a value here");
                check_short(&lines, &message, help);
            }
        }
    }
}

#[test]
fn what_a_tool_needs_and_takes() {
    check(
        "- { call: num }",
        &[
            "haft.yaml:9:15: `num` needs `n`",
            "9 |     - { call: num }",
            "  |               ^^^",
            "  = help: name it in `with`; it takes n, deep",
        ],
    );
    check_short(
        "- { call: num, with: { n: 1, dep: { x: 1 } } }",
        "haft.yaml:9:34: `num` takes no argument `dep`",
        "did you mean `deep`?",
    );
    check_short(
        "- { call: num, with: { n: 1, deep: { y: '{{ t }}' } } }",
        "haft.yaml:9:45: `num` takes no argument `deep.y`",
        "known arguments are x",
    );
}

#[test]
fn a_value_of_the_wrong_type() {
    check(
        "- { call: list, as: files }\n- { call: say, with: { text: '{{ files.lines }}' } }",
        &[
            "haft.yaml:10:34: `text` of `say` must be a text, and this is a list",
            "10 |     - { call: say, with: { text: '{{ files.lines }}' } }",
            "   |                                  ^^^^^^^^^^^^^^^^^^^",
            "   = help: call it for `each` item, or pass on one of them: {{ …[0] }}",
        ],
    );
    check_short(
        "- { call: num, with: { n: '{{ t }}' } }",
        "haft.yaml:9:31: `n` of `num` must be a whole number, and this is a text",
        "if the text is a number, say so: {{ … | int }}",
    );
    check_short(
        "- { call: say, with: { text: a }, as: said }\n- { call: num, with: { n: 'x{{ said }}' } }",
        "haft.yaml:10:31: `n` of `num` must be a whole number, and this is a text",
        "if the text is a number, say so: {{ … | int }}",
    );
    check_short(
        "- { call: num, with: { n: 1, deep: { x: '{{ nums }}' } } }",
        "haft.yaml:9:45: `deep.x` of `num` must be a whole number, and this is a list",
        "call it for `each` item, or pass on one of them: {{ …[0] }}",
    );
    check_short(
        "- { call: num, with: { n: 1.5 } }",
        "haft.yaml:9:31: `num` cannot be called so: `n` must be an integer, not 1.5",
        "",
    );
    check_right("- { call: num, with: { n: '{{ t | int }}' } }");
    check_right("- { call: num, with: { n: '{{ nums[0] }}' } }");
    check_right("- { call: num, with: { n: '{{ nums | length + 1 }}' } }");
}

#[test]
fn a_part_that_a_value_does_not_have() {
    check(
        "- { call: list, as: files }\n- { call: say, with: { text: '{{ files.line[0] }}' } }",
        &[
            "haft.yaml:10:38: `files` has no part `line`: it is a mapping",
            "10 |     - { call: say, with: { text: '{{ files.line[0] }}' } }",
            "   |                                      ^^^^^",
            "   = help: did you mean `lines`?",
        ],
    );
    check_short(
        "- { call: say, with: { text: '{{ t.length }}' } }",
        "haft.yaml:9:38: `t` has no part `length`: it is a text",
        "",
    );
    check_short(
        "- { call: list, as: files, on_error: continue }
- { call: list, when: '{{ errors.file }}' }",
        "haft.yaml:10:31: `errors` has no part `file`: it is a mapping",
        "did you mean `files`?",
    );
}

#[test]
fn a_value_that_may_be_nothing() {
    check_short(
        "- { call: say, with: { text: '{{ opt }}' } }",
        "haft.yaml:9:34: `opt` may be nothing (it is an optional argument), and `say` needs `text`",
        "say what else: {{ opt | default(…) }}; or when: {{ opt }}",
    );
    check_short(
        "- { call: list, on_error: continue, as: l }
- { call: say, with: { text: '{{ l.lines[0] }}' } }",
        "haft.yaml:10:34: `l` may be nothing (its step may fail), and `say` needs `text`",
        "say what else: {{ l | default(…) }}; or when: {{ l }}",
    );
    check_right("- { call: say, with: { text: '{{ opt }}' }, when: '{{ opt }}' }");
    check_right("- { call: say, with: { text: '{{ opt | default(\"x\") }}' } }");
    check_right("- { when: '{{ opt }}', do: [{ call: say, with: { text: '{{ opt }}' } }] }");
}

#[test]
fn a_loop_needs_a_list_and_a_bound() {
    check_short(
        "- { each: '{{ t }}', call: list }",
        "haft.yaml:9:15: `each` needs a list, and this is a text",
        "",
    );
    check_short(
        "- { each: 'a, b', call: list }",
        "haft.yaml:9:15: `each` must be {{ expression }}",
        "write it like \"{{ weather.days }}\", or name the items: [a, b]",
    );
    check_short(
        "- { each: '{{ nums }}', max: 10001, call: list }",
        "haft.yaml:9:34: `max` must be from 1 to 10000",
        "",
    );
    check_short(
        "- { each: '{{ nums }}', concurrency: 65, call: list }",
        "haft.yaml:9:42: `concurrency` must be from 1 to 64",
        "",
    );
    check_short(
        "- { each: '{{ nums }}', call: say, with: { text: '{{ item }}' } }",
        "haft.yaml:9:54: `text` of `say` must be a text, and this is a whole number",
        "make a text of it: {{ … | string }}",
    );
}

#[test]
fn the_time_of_a_step_has_a_bound() {
    check_short(
        "- { call: list, timeout: 25h }",
        "haft.yaml:9:30: `timeout` must be longer than nothing and at most 24h",
        "",
    );
}

#[test]
fn a_condition_is_an_expression() {
    check_short(
        "- { call: list, when: t }",
        "haft.yaml:9:27: `when` must be {{ expression }}",
        "write it like \"{{ count > 3 }}\"",
    );
    check_short(
        "- { call: list, when: '{{ t }}{{ t }}' }",
        "haft.yaml:9:27: `when` must be {{ expression }}",
        "write it like \"{{ count > 3 }}\"",
    );
    check_short(
        "- { call: list, when: true }",
        "haft.yaml:9:27: `when` must be {{ expression }}, not true",
        "",
    );
    check_short(
        "- { call: list, when: '{{ t > }}' }",
        "haft.yaml:9:35: the template cannot be used: unexpected end of variable block",
        "",
    );
}

#[test]
fn a_step_does_one_thing() {
    let help = "give it a tool to `call`, or steps to `do` or to do in `parallel`";
    check_short("- { as: x }", "haft.yaml:9:7: step 1 does nothing", help);
    check_short(
        "- { call: list, do: [{ call: list }] }",
        "haft.yaml:9:21: `do` and `call` exclude each other",
        "keep one of them",
    );
    check_short(
        "- { call: list, max: 3 }",
        "haft.yaml:9:21: `max` belongs to steps with `each`",
        "",
    );
    check_short(
        "- { do: [{ call: list }], with: {} }",
        "haft.yaml:9:31: `with` belongs to steps with `call`",
        "",
    );
    check_short(
        "- { call: list, on_error: ignore }",
        "haft.yaml:9:31: `on_error` cannot be \"ignore\"",
        "known words are continue, stop",
    );
    check_short(
        "- { cal: list }",
        "haft.yaml:9:9: `cal` is no known key of a step",
        "did you mean `call`?",
    );
    check_short(
        "- { do: [] }",
        "haft.yaml:9:13: `do` is an empty list",
        "name a tool to call: [{ call: word_count }]",
    );
}

#[test]
fn a_pipeline_that_calls_itself() {
    check(
        "- { parallel: [{ call: list }, { each: [1], do: [{ call: p }] }] }",
        &[
            "haft.yaml:9:62: `p` calls itself",
            "9 | …   - { parallel: [{ call: list }, { each: [1], do: [{ call: p }] }] }",
            "  |                                                              ^",
            "  = help: let one of them call something else",
        ],
    );
    check_fault(
        "server: { name: a }
tools:
  - { name: a, pipeline: [{ call: b }] }
  - { name: b, pipeline: [{ each: [1], call: c }] }
  - { name: c, pipeline: [{ parallel: [{ call: a }] }] }",
        &[
            "haft.yaml:5:48: pipelines call each other in a circle: a → b → c → a",
            "5 |   - { name: c, pipeline: [{ parallel: [{ call: a }] }] }",
            "  |                                                ^",
            "  = help: let one of them call something else",
        ],
    );
}

#[test]
fn pipelines_nest_as_deep_as_calls_may() {
    let chain = |length: usize, is_reversed: bool| {
        let mut tools: Vec<_> = (0..length)
            .map(|n| match n {
                0 => "  - { name: t0, text: x }\n".to_owned(),
                n => format!("  - {{ name: t{n}, pipeline: [{{ call: t{} }}] }}\n", n - 1),
            })
            .collect();
        if is_reversed {
            tools.reverse();
        }
        let desk = Desk::with_tools(&tools.concat());
        haft_manifest::load(&desk.file("haft.yaml")).map_err(|fault| fault.message())
    };
    for is_reversed in [false, true] {
        assert!(chain(17, is_reversed).is_ok());
        let Err(message) = chain(18, is_reversed) else { panic!("it is too deep") };
        assert!(message.ends_with("pipelines call pipelines more than 16 deep"), "{message}");
    }
}

#[test]
fn steps_have_bounds_of_number_width_and_depth() {
    let many = |count: usize| "- { call: list }\n".repeat(count);
    check_right(&many(256));
    check_short(&many(257), "haft.yaml:265:7: `pipeline` must be of 256 steps at most", "");
    let wide = |count: usize| format!("- parallel: [{}]", "{ call: list }, ".repeat(count));
    check_right(&wide(16));
    check_short(&wide(17), "haft.yaml:9:17: `parallel` must be a list of 16 steps at most", "");
    let deep = |depth: usize| {
        format!("- {}{{ call: list }}{}", "{ do: [".repeat(depth), "] }".repeat(depth))
    };
    check_right(&deep(7));
    check_short(
        &deep(8),
        "haft.yaml:9:63: steps nest deeper than 8",
        "make a tool of some of the steps",
    );
    assert!(haft_manifest::parse("haft.yaml".as_ref(), &file(&deep(29))).is_err());
}

#[test]
fn a_secret_is_not_shown_where_it_does_not_fit() {
    let path = std::env::var("PATH").expect("every process here has one");
    let desk = Desk::with(&file("- { call: num, with: { n: '${env:PATH}' } }"));
    let Err(fault) = haft_manifest::load(&desk.file("haft.yaml")) else { panic!("it is a text") };
    assert!(!fault.to_string().contains(&path), "{fault}");
}

#[test]
fn an_argument_is_not_called_like_the_errors() {
    check_fault(
        "server: { name: a }
tools:
  - { name: t, input: { errors: string }, pipeline: [{ call: t }] }",
        &[
            "haft.yaml:3:25: `argument`: \"errors\" is no name for a value here",
            "3 |   - { name: t, input: { errors: string }, pipeline: [{ call: t }] }",
            "  |                         ^^^^^^",
            "  = help: use letters, digits and `_`; `errors` and the words of templates are taken",
        ],
    );
}

#[test]
fn keys_of_pipelines_belong_to_them() {
    check_fault(
        "server: { name: a }\ntools:\n  - { name: t, text: x, result: y }",
        &[
            "haft.yaml:3:25: `result` belongs to tools with `pipeline`",
            "3 |   - { name: t, text: x, result: y }",
            "  |                         ^^^^^^",
        ],
    );
}
