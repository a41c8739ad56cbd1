//! Reads JSON into what serde's derived code asks for.
//!
//! Smaller than `serde_json`, which makes two readers of each type that it reads, one of them for types written as arrays, and
//! words its errors with all that can print a floating-point number: a twelfth of what the browser would download. What is read
//! here was written by this console's own server, or kept by this page.

mod parts;
mod text;
mod wrong;

use serde::de::{self, DeserializeOwned, Visitor};
use serde::forward_to_deserialize_any;

use self::parts::{Parts, Variant};
use self::text::{Number, Text};
pub use self::wrong::Wrong;

/// Reads all of a text.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let mut json = Text::of(text);
    let read = T::deserialize(&mut json)?;
    match json.peek() {
        None => Ok(read),
        Some(_) => Err(json.wrong("something follows")),
    }
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            self.deserialize_f64(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut Text<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.peek() {
            Some(b'"') => visitor.visit_string(self.string()?.into_owned()),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(_) => self.deserialize_f64(visitor),
            None => Err(self.wrong("it ends too early")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let is_true = self.peek() == Some(b't');
        self.word(if is_true { "true" } else { "false" })?;
        visitor.visit_bool(is_true)
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.peek();
        match self.number()? {
            Number::Whole(number) => visitor.visit_u64(number),
            Number::Negative(number) => visitor.visit_i64(number),
            Number::Broken(number) => visitor.visit_f64(number),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_str(&self.string()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_string(self.string()?.into_owned())
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.peek() {
            Some(b'n') => {
                self.word("null")?;
                visitor.visit_none()
            }
            Some(_) | None => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.peek();
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.expect(b'[')?;
        let read = visitor.visit_seq(Parts::of(self))?;
        self.expect(b']')?;
        Ok(read)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.expect(b'{')?;
        let read = visitor.visit_map(Parts::of(self))?;
        self.expect(b'}')?;
        Ok(read)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let has_value = self.takes(b'{');
        let read = visitor.visit_enum(Variant {
            text: &mut *self,
            has_value,
        })?;
        if has_value {
            self.expect(b'}')?;
        }
        Ok(read)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit_struct tuple_struct }
}

#[cfg(test)]
mod tests;
