//! Mappings from names to things, as they are typed: in their order, each name with its place. Used
//! by the other files here.

/// Makes a struct of such pairs one that is read, and described in the schema.
macro_rules! by_name {
    ($of:ident, $visitor:ident, $value:ident) => {
        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($visitor)
            }
        }

        struct $visitor;

        impl<'de> Visitor<'de> for $visitor {
            type Value = $of;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$of, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok($of(pairs))
            }
        }

        impl JsonSchema for $of {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($of).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let value = generator.subschema_for::<$value>();
                json_schema!({ "type": "object", "additionalProperties": value })
            }
        }
    };
}

pub(crate) use by_name;
