//! The arguments of one call, as templates read them: with defaults, without nulls. Made for each
//! call by the handlers; knows no schema.

use crate::template::FILLED;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::Map;
use std::cell::OnceCell;

/// The arguments of one call, as templates read them.
pub(crate) struct Arguments {
    pub(crate) values: Map<String, serde_json::Value>,
    /// Made of the values when the engine first wants it.
    context: OnceCell<Value>,
}

impl Arguments {
    /// Arguments without those that are null, which are as good as absent. An open schema lets a
    /// caller name any argument; none may stand in for what the file filled in.
    pub(crate) fn new(mut values: Map<String, serde_json::Value>) -> Self {
        values.retain(|name, value| !value.is_null() && !name.starts_with(FILLED));
        values.values_mut().for_each(make_whole);
        Self { values, context: OnceCell::new() }
    }

    /// What is in a context alone, as within a pipeline.
    pub(crate) fn of_context(context: Value) -> Self {
        Self { values: Map::new(), context: OnceCell::from(context) }
    }

    /// The values, for the engine.
    pub(crate) fn context(&self) -> &Value {
        self.context.get_or_init(|| Value::from(Serde(&self.values)))
    }

    /// The arguments of a call, with the defaults of absent ones, as templates call them.
    pub(crate) fn of_call(
        json: &str,
        defaults: &Map<String, serde_json::Value>,
        aliases: &[(String, String)],
    ) -> Result<Self, String> {
        let mut values: Map<String, serde_json::Value> =
            serde_json::from_str(json).map_err(|error| format!("Invalid arguments: {error}"))?;
        for (name, default) in defaults {
            let value = values.entry(name.clone()).or_insert(serde_json::Value::Null);
            if value.is_null() {
                value.clone_from(default);
            }
        }
        for (name, alias) in aliases {
            if let Some(value) = values.remove(name) {
                values.insert(alias.clone(), value);
            }
        }
        Ok(Self::new(values))
    }

    /// Takes in those that are null after all, for who tells nothing from null. Templates do not
    /// see them.
    pub(crate) fn keep_null(&mut self, json: &str) {
        if json.contains("null") {
            // Made now, templates do not see what comes.
            self.context();
            let values: Map<String, serde_json::Value> =
                serde_json::from_str(json).unwrap_or_default();
            let is_null = |(_, value): &(String, serde_json::Value)| value.is_null();
            self.values.extend(values.into_iter().filter(is_null));
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
}

/// `3.0` is an integer to JSON Schema, and `3` to the programs that get it.
fn make_whole(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(make_whole),
        serde_json::Value::Number(number) => {
            const EXACT: f64 = 9_007_199_254_740_992.0;
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| number.is_f64() && whole.abs() < EXACT)
                && let Ok(integer) = format!("{whole:.0}").parse::<i64>()
            {
                *value = integer.into();
            }
        }
        serde_json::Value::Object(members) => members.values_mut().for_each(make_whole),
        _ => {}
    }
}
