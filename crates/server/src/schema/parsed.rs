//! JSON text as a value for the general check. Unlike `serde_json::Value` alone it refuses a key
//! that is there twice, of which every reader takes another one, and gives no key a meaning of its
//! own.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads a text, which nests 127 levels at most.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Parsed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Parsed;

impl<'de> DeserializeSeed<'de> for Parsed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Parsed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(Self)?;
            if object.contains_key(&key) {
                let key = super::wording::shorten(&key);
                return Err(A::Error::custom(format!("`{key}` is there twice; send it once")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn a_text_is_read_as_it_stands() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,1.5,"é"],"b":{}}"#;
        let value = json!({"a": [null, true, -1, u64::MAX, 1.5, "é"], "b": {}});
        assert_eq!(parse(text).expect("it is JSON"), value);
        let reserved = r#"{"$serde_json::private::RawValue":"5"}"#;
        assert!(parse(reserved).expect("it is JSON").is_object());
        assert!(parse("1 2").is_err() && parse("").is_err());
        assert!(parse(&("[".repeat(200) + &"]".repeat(200))).is_err());
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let error = parse(r#"{"a":1,"b":{"c":1,"\u0063":2}}"#).expect_err("which is it?");
        assert!(error.to_string().starts_with("`c` is there twice; send it once"), "{error}");
    }
}
