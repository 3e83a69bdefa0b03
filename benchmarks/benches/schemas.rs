//! Time and allocations of a check of arguments, and of a check that fails and is followed by a
//! repair. `cargo bench -p haft-benchmarks --bench schemas`.

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use haft_server::schema::Schema;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
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
