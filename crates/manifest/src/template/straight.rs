//! A template that does no more than name arguments, as most do: filled by putting texts one behind
//! another. Asked by the module before the engine; gives way to it wherever that would do more.

use super::words::is_plain;
use crate::limits::RENDERED_BYTES_MAX;
use crate::tags;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The parts of such a template.
#[derive(Clone, Debug)]
pub(super) struct Straight(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Name(String),
    Text(String),
}

impl Straight {
    /// `None` if a tag does more than to name an argument.
    pub(super) fn new(source: &str) -> Option<Self> {
        // `{{- name -}}` takes white space with it.
        let has_trims = source.contains("{{-") || source.contains("-}}");
        let has_signs = source.contains("{{+") || source.contains("+}}");
        if has_trims || has_signs {
            return None;
        }
        let mut parts = Vec::new();
        let mut from = 0;
        for part in tags::parts(source)? {
            let tags::Part::Name(tag, name) = part else { continue };
            if !is_plain(name) {
                return None;
            }
            parts.push(Part::Text(source[from..tag.start].to_owned()));
            parts.push(Part::Name(name.to_owned()));
            from = tag.end;
        }
        parts.push(Part::Text(source[from..].to_owned()));
        Some(Self(parts))
    }

    /// The text. `None` if an argument is absent, or something else than a text, an integer or a
    /// truth value, or if it becomes too long: the engine knows what to do or say then.
    pub(super) fn fill(&self, values: &Map<String, Value>) -> Option<String> {
        let mut text = String::with_capacity(128);
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Name(name) => match values.get(name)? {
                    // One argument may be named many times.
                    Value::String(value) if text.len() + value.len() <= RENDERED_BYTES_MAX => {
                        text.push_str(value);
                    }
                    Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
                    Value::Number(number) if !number.is_f64() => write!(text, "{number}").ok()?,
                    _ => return None,
                },
            }
        }
        (text.len() <= RENDERED_BYTES_MAX).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use serde_json::json;

    /// What the engine makes of a source.
    fn rendered(source: &str, arguments: &Arguments) -> String {
        let engine = super::super::engine();
        let template = engine.template_from_str(source).expect("it compiles");
        template.render(arguments.context().clone()).expect("it can be filled")
    }

    #[test]
    fn it_makes_what_the_engine_makes() {
        let sources = [
            "Hello, {{ a }}!",
            "{{a}}{{ b }} {{ a }}\n",
            " {{ b }}\n\n  {{ a }}\n",
            "x\n    {{ a }}\n{{ b }}",
            "é{{ a }}€",
        ];
        let values = [
            json!("Ada"),
            json!(""),
            json!("{{ b }}"),
            json!("a\n \"b\" <c>"),
            json!(0),
            json!(-7),
            json!(u64::MAX),
            json!(3.0),
            json!(true),
            json!(false),
        ];
        for source in sources {
            let straight = Straight::new(source).expect("it only names arguments");
            for (one, other) in values.iter().zip(values.iter().rev()) {
                let values = json!({"a": one, "b": other}).as_object().cloned();
                let arguments = Arguments::new(values.expect("an object"));
                let filled = straight.fill(&arguments.values).expect("the engine need not help");
                assert_eq!(filled, rendered(source, &arguments), "{source:?} {one} {other}");
            }
        }
    }

    #[test]
    fn what_only_the_engine_can_do_is_left_to_it() {
        for source in [
            "{{ a | upper }}",
            "{{- a }}",
            "{{ a -}} b",
            "{% if a %}b{% endif %}",
            "a {# b #}",
            "{{ a.b }}",
            "{{ __filled_0 }} a",
            "{{ true }} a",
            "{{ range }} a",
            "a {{ -a }}",
            "a {{ - a }}",
        ] {
            assert!(Straight::new(source).is_none(), "{source}");
        }
        let straight = Straight::new("a {{ a }}").expect("it only names an argument");
        let long = "x".repeat(RENDERED_BYTES_MAX);
        for value in [json!(null), json!(1.5), json!([1]), json!({"b": 1}), json!(long)] {
            let values = json!({"a": value}).as_object().cloned().expect("an object");
            assert_eq!(straight.fill(&values), None);
        }
        assert_eq!(straight.fill(&Map::new()), None);
    }
}
