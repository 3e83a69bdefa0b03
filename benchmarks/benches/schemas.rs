//! Time of a check of arguments, and of a check that fails and is followed by a repair.
//! `cargo xtask bench schemas` sets ours beside the jsonschema crate's, in turns; `cargo bench -p
//! haft-benchmarks --bench schemas` times each.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use haft_benchmarks::cases::{self, Turns};
use haft_server::schema::Schema;
use jsonschema::Validator;
use serde_json::Value;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    if !cases::asked(prepared)? {
        divan::main();
    }
    Ok(())
}

fn prepared(case: &str) -> Turns {
    let (schema, validator) = (compile(TICKET), validator());
    assert!(schema.is_direct() && schema.check(FILED).is_ok() && schema.check(MISFILED).is_err());
    let misfiled: Value = serde_json::from_str(MISFILED).expect("it is JSON");
    let value: Value = serde_json::from_str(FILED).expect("it is JSON");
    assert!(validator.is_valid(&value) && !validator.is_valid(&misfiled));
    match case {
        "ours_of_text" => repeated(move || schema.check(black_box(FILED)).is_ok()),
        "jsonschema_of_value" => repeated(move || validator.is_valid(black_box(&value))),
        "jsonschema_of_text" => repeated(move || of_text(&validator)),
        _ => panic!("there is no case `{case}`"),
    }
}

fn repeated(mut is_valid: impl FnMut() -> bool + 'static) -> Turns {
    Box::new(move |times| (0..times).for_each(|_| assert!(is_valid())))
}

/// A tool as real servers have it: eight properties, of which one is nested and one a list.
const TICKET: &str = r#"{"type":"object","additionalProperties":false,
    "required":["title","project","priority"],"properties":{
    "title":{"type":"string","minLength":1,"maxLength":200},
    "project":{"type":"string","minLength":2,"maxLength":10},
    "priority":{"enum":["low","normal","high","urgent"]},
    "estimate":{"type":"integer","minimum":1,"maximum":100},
    "progress":{"type":"number","minimum":0,"maximum":1},
    "labels":{"type":"array","maxItems":20,"items":{"type":"string","maxLength":40}},
    "assignee":{"type":"object","required":["id"],"additionalProperties":false,"properties":{
        "id":{"type":"integer","minimum":1},"name":{"type":"string"}}},
    "notify":{"type":"boolean"}}}"#;

const FILED: &str = r#"{"title":"The list of tools is empty after a reload","project":"HAFT",
    "priority":"high","estimate":8,"progress":0.25,"labels":["bug","lists","reload"],
    "assignee":{"id":4711,"name":"Ada"},"notify":true}"#;

/// The same without a project.
const MISFILED: &str = r#"{"title":"The list of tools is empty","priority":"high"}"#;

fn validator() -> Validator {
    let schema = serde_json::from_str(TICKET).expect("it is JSON");
    jsonschema::draft202012::new(&schema).expect("it is a schema")
}

fn of_text(validator: &Validator) -> bool {
    let value: Value = serde_json::from_str(black_box(FILED)).expect("it is JSON");
    validator.is_valid(&value)
}

/// A real tool's arguments, ours and the jsonschema crate's.
mod ticket {
    use super::*;

    #[divan::bench]
    fn ours_of_text(bencher: Bencher<'_, '_>) {
        check(bencher, &compile(TICKET), FILED);
    }

    #[divan::bench]
    fn jsonschema_of_value(bencher: Bencher<'_, '_>) {
        let (validator, value) = (validator(), serde_json::from_str(FILED).expect("it is JSON"));
        bencher.bench_local(|| validator.is_valid(black_box::<&Value>(&value)));
    }

    #[divan::bench]
    fn jsonschema_of_text(bencher: Bencher<'_, '_>) {
        let validator = validator();
        bencher.bench_local(|| of_text(&validator));
    }
}

const PROPERTIES: &str = r#""type":"object","required":["city","days"],
    "properties":{"city":{"type":"string","minLength":1},"days":{"type":"integer","minimum":1},
    "unit":{"enum":["celsius","fahrenheit"]},"hourly":{"type":"boolean"},
    "tags":{"type":"array","items":{"type":"integer"}},"note":{"type":"string"}}"#;

const FITTING: &str = r#"{"city":"Bern","days":5,"unit":"celsius","hourly":true,"tags":[1,2,3]}"#;

/// The same from a model that errs in every way that is mended.
const QUOTED: &str =
    r#"{"city":"Bern","days":"5","unit":"celsius","hourly":"true","tags":"[1,2,3]","note":null}"#;

/// One that cannot be mended.
const WRONG: &str =
    r#"{"city":"Bern","days":"five","unit":"celsius","hourly":true,"tags":[1,2,3]}"#;

fn direct() -> Schema {
    compile(&format!("{{{PROPERTIES},\"additionalProperties\":false}}"))
}

/// The same, of a keyword that the direct check does not have.
fn general() -> Schema {
    compile(&format!("{{{PROPERTIES},\"minProperties\":1}}"))
}

/// One of two forms, told apart by a property, in a list.
fn tagged() -> Schema {
    compile(
        r##"{"type":"object","properties":{"shapes":{"type":"array","items":{"oneOf":[
            {"$ref":"#/$defs/circle"},{"$ref":"#/$defs/square"}]}}},"$defs":{
            "circle":{"type":"object","required":["kind","radius"],
                "properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
            "square":{"type":"object","required":["kind","side"],
                "properties":{"kind":{"const":"square"},"side":{"type":"number"}}}}}"##,
    )
}

fn compile(schema: &str) -> Schema {
    Schema::compile(schema).expect("it is a schema")
}

fn check(bencher: Bencher<'_, '_>, schema: &Schema, text: &str) {
    let bencher = bencher.counter(BytesCount::new(text.len()));
    bencher.bench_local(|| schema.check(black_box(text)).is_ok());
}

/// As a server does it that forgives.
fn check_and_repair(bencher: Bencher<'_, '_>, schema: &Schema, text: &str) {
    let bencher = bencher.counter(BytesCount::new(text.len()));
    bencher.bench_local(|| match schema.check(black_box(text)) {
        Ok(()) => 0,
        Err(_) => schema.repair(text).map_or(0, |mended| mended.text.len()),
    });
}

fn shapes(radius: &str) -> String {
    let one = format!(r#"{{"kind":"circle","radius":{radius}}}"#);
    format!(r#"{{"shapes":[{}]}}"#, vec![one; 100].join(","))
}

/// A schema that is checked on its text.
mod direct_schema {
    use super::*;

    #[divan::bench]
    fn check_of_what_fits(bencher: Bencher<'_, '_>) {
        check(bencher, &direct(), FITTING);
    }

    #[divan::bench]
    fn check_of_what_does_not(bencher: Bencher<'_, '_>) {
        check(bencher, &direct(), QUOTED);
    }

    #[divan::bench]
    fn check_and_repair_of_what_can_be_mended(bencher: Bencher<'_, '_>) {
        check_and_repair(bencher, &direct(), QUOTED);
    }

    #[divan::bench]
    fn check_and_repair_of_what_cannot(bencher: Bencher<'_, '_>) {
        check_and_repair(bencher, &direct(), WRONG);
    }

    #[divan::bench]
    fn compiled(bencher: Bencher<'_, '_>) {
        bencher.bench_local(direct);
    }
}

/// A schema that is checked on a parsed value.
mod general_schema {
    use super::*;

    #[divan::bench]
    fn check_of_what_fits(bencher: Bencher<'_, '_>) {
        check(bencher, &general(), FITTING);
    }

    #[divan::bench]
    fn check_of_what_does_not(bencher: Bencher<'_, '_>) {
        check(bencher, &general(), QUOTED);
    }

    #[divan::bench]
    fn check_and_repair_of_what_can_be_mended(bencher: Bencher<'_, '_>) {
        check_and_repair(bencher, &general(), QUOTED);
    }

    #[divan::bench]
    fn check_and_repair_of_what_cannot(bencher: Bencher<'_, '_>) {
        check_and_repair(bencher, &general(), WRONG);
    }

    #[divan::bench]
    fn compiled(bencher: Bencher<'_, '_>) {
        bencher.bench_local(general);
    }
}

/// A hundred objects, each of one of two forms.
mod hundred_alternatives {
    use super::*;

    #[divan::bench]
    fn check_of_what_fits(bencher: Bencher<'_, '_>) {
        check(bencher, &tagged(), &shapes("1.5"));
    }

    #[divan::bench]
    fn check_of_what_does_not(bencher: Bencher<'_, '_>) {
        check(bencher, &tagged(), &shapes("\"1.5\""));
    }

    #[divan::bench]
    fn check_and_repair_of_what_can_be_mended(bencher: Bencher<'_, '_>) {
        check_and_repair(bencher, &tagged(), &shapes("\"1.5\""));
    }
}
