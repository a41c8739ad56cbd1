//! The JSON form of enums whose field `code` names the variant: errors, reasons, details.
//!
//! `#[serde(tag = "code")]` gives the same form. It is not used, because its code is large: it reads
//! every variant from a buffer of serde's own, as a map and as a list. The browser half has a hundred
//! of these variants on the first page, which was 15 kB (2 %) larger after compression. Here the
//! derived code names the variant outside of its fields, and both directions go through `Value`.

use serde::Deserializer as _;
use serde::de::value::{EnumAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, EnumAccess, Error as _, VariantAccess, Visitor};
use serde_json::{Error, Map, Value};

/// A variant, read from a JSON object. The derived code of an enum deserialises from it.
pub struct TaggedVariant {
    code: String,
    fields: Map<String, Value>,
}

impl TaggedVariant {
    /// Splits an object into `code` and the other fields.
    pub fn from_object(object: Value) -> Result<EnumAccessDeserializer<Self>, Error> {
        Self::with_tag("code", object)
    }

    /// Splits an object into the field `tag`, which names the variant, and the other fields.
    pub fn with_tag(
        tag: &'static str,
        object: Value,
    ) -> Result<EnumAccessDeserializer<Self>, Error> {
        let Value::Object(mut fields) = object else {
            return Err(Error::custom(format_args!(
                "an object with `{tag}` is expected"
            )));
        };
        match fields.remove(tag) {
            Some(Value::String(code)) => Ok(EnumAccessDeserializer::new(Self { code, fields })),
            _ => Err(Error::missing_field(tag)),
        }
    }

    /// The object of a variant that derived code serialised: its name, if it has no fields, or an
    /// object with its name as the only key.
    pub fn to_object(serialized: Value) -> Result<Value, Error> {
        let (code, mut fields) = match serialized {
            Value::String(code) => (code, Map::new()),
            Value::Object(variant) => match variant.into_iter().next() {
                Some((code, Value::Object(fields))) => (code, fields),
                _ => return Err(Error::custom("the fields of a variant need names")),
            },
            _ => return Err(Error::custom("only enums have a code")),
        };
        fields.insert("code".to_owned(), Value::String(code));
        Ok(Value::Object(fields))
    }
}

impl<'de> EnumAccess<'de> for TaggedVariant {
    type Error = Error;
    type Variant = Fields;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Fields), Error> {
        let name = seed.deserialize(StringDeserializer::new(self.code))?;
        Ok((name, Fields(self.fields)))
    }
}

/// The fields of a [`TaggedVariant`]. Unknown ones are ignored.
pub struct Fields(Map<String, Value>);

impl<'de> VariantAccess<'de> for Fields {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("the fields of a variant need names"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }
}

/// Implements both directions for enums that derive them with `#[serde(remote = "Self")]`.
macro_rules! json_with_code {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serde_json::value::Serializer)
                    .and_then($crate::domain::code_tag::TaggedVariant::to_object)
                    .map_err(serde::ser::Error::custom)
                    .and_then(|object| serde::Serialize::serialize(&object, serializer))
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let object = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                $crate::domain::code_tag::TaggedVariant::from_object(object)
                    .and_then(Self::deserialize)
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use json_with_code;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::domain::operation_error::{LimitReached, StorageFailure};
    use crate::domain::{OperationError, PermissionDenied};

    #[test]
    fn the_name_of_the_variant_is_a_field_beside_the_others() {
        let error = OperationError::UnknownGroup {
            group: "orders".to_owned(),
        };
        let object = json!({ "code": "unknown-group", "group": "orders" });
        assert_eq!(serde_json::to_value(&error).unwrap(), object);
        assert_eq!(
            serde_json::from_value::<OperationError>(object).unwrap(),
            error
        );

        let object = json!({ "code": "stopping" });
        assert_eq!(
            serde_json::to_value(OperationError::Stopping).unwrap(),
            object
        );
    }

    #[test]
    fn fields_of_newer_versions_are_ignored() {
        let object = json!({ "code": "stopping", "message": "…", "since": 7 });
        let error = serde_json::from_value::<OperationError>(object).unwrap();
        assert_eq!(error, OperationError::Stopping);
        let object = json!({ "code": "read-only", "group": "orders", "since": 7 });
        assert!(serde_json::from_value::<PermissionDenied>(object).is_ok());
    }

    #[test]
    fn an_object_without_a_known_code_is_an_error() {
        for object in [json!({}), json!({ "code": "unknown" }), json!("stopping")] {
            assert!(serde_json::from_value::<LimitReached>(object.clone()).is_err());
            assert!(serde_json::from_value::<StorageFailure>(object).is_err());
        }
    }
}
