//! Reads JSON into what serde's derived code asks for.
//!
//! Smaller than `serde_json`, which makes two readers of each type that it reads, one of them for types written as arrays, and
//! words its errors with all that can print a floating-point number: a twelfth of what the browser would download. What is read
//! here was written by this console's own server, or kept by this page.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// Reads all of a text.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let mut json = Json { text, at: 0 };
    let read = T::deserialize(&mut json)?;
    match json.peek() {
        None => Ok(read),
        Some(_) => Err(json.wrong("something follows")),
    }
}

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// Named and not printed: what was found instead may be a secret, and printing it would need more code than all of this.
impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::of("a value of another type is expected than ", "this")
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::of("another value is expected than ", "this")
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self::of("more is expected than ", "this")
    }

    fn unknown_variant(variant: &str, _: &'static [&'static str]) -> Self {
        Self::of("an unknown variant: ", variant)
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::of("an unknown field: ", field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of("a field twice: ", field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of("a field is missing: ", field)
    }
}

impl Wrong {
    #[inline(never)]
    fn of(what: &str, which: &str) -> Self {
        Self([what, which].concat())
    }
}

/// A text, and how far it was read.
struct Json<'t> {
    text: &'t str,
    at: usize,
}

/// A number, in the smallest type that it fits into.
enum Number {
    Whole(u64),
    Negative(i64),
    Broken(f64),
}

impl<'t> Json<'t> {
    #[inline(never)]
    fn wrong(&self, what: &str) -> Wrong {
        Wrong([what, " at byte ", &self.at.to_string()].concat())
    }

    /// The next byte that is not white space; stays before it.
    #[inline(never)]
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blank = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.at += blank.count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past this byte if it comes next.
    fn takes(&mut self, wanted: u8) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline(never)]
    fn expect(&mut self, wanted: u8) -> Result<(), Wrong> {
        match self.takes(wanted) {
            true => Ok(()),
            false => Err(self.wrong("another sign is expected")),
        }
    }

    /// Goes past this word, which begins with the next byte.
    fn word(&mut self, word: &str) -> Result<(), Wrong> {
        match self.text[self.at..].starts_with(word) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(self.wrong("no value")),
        }
    }

    #[inline(never)]
    fn string(&mut self) -> Result<Cow<'t, str>, Wrong> {
        self.expect(b'"')?;
        let text = self.text;
        let mut read = String::new();
        loop {
            let rest = &text[self.at..];
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.wrong("a text does not end"));
            };
            self.at += end + 1;
            let is_over = rest.as_bytes()[end] == b'"';
            if is_over && read.is_empty() {
                return Ok(Cow::Borrowed(&rest[..end]));
            }
            read.push_str(&rest[..end]);
            if is_over {
                return Ok(Cow::Owned(read));
            }
            let sign = self.escaped()?;
            read.push(sign);
        }
    }

    /// The sign that stands for itself after a backslash.
    fn escaped(&mut self) -> Result<char, Wrong> {
        let sign = self.text.as_bytes().get(self.at).copied();
        self.at += 1;
        Ok(match sign {
            Some(sign @ (b'"' | b'\\' | b'/')) => char::from(sign),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = self.unit()?;
                let is_half = (0xd800..0xdc00).contains(&unit);
                let sign = match is_half && self.text[self.at..].starts_with("\\u") {
                    true => {
                        self.at += 2;
                        let other = self.unit()?.wrapping_sub(0xdc00);
                        match other < 0x400 {
                            true => 0x10000 + ((unit - 0xd800) << 10) + other,
                            false => unit,
                        }
                    }
                    false => unit,
                };
                char::from_u32(sign).ok_or_else(|| self.wrong("half a sign"))?
            }
            Some(_) | None => return Err(self.wrong("an unknown escape")),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, Wrong> {
        let digits = self.text.get(self.at..self.at + 4);
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        unit.ok_or_else(|| self.wrong("no sign"))
    }

    #[inline(never)]
    fn number(&mut self) -> Result<Number, Wrong> {
        let is_negative = self.takes(b'-');
        let rest = &self.text[self.at..];
        let end = rest.find(|sign| !matches!(sign, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
        let digits = &rest[..end.unwrap_or(rest.len())];
        let whole = digits.parse::<u64>().ok();
        let read = match (whole, is_negative) {
            (Some(whole), false) => Some(Number::Whole(whole)),
            (Some(whole), true) => 0_i64.checked_sub_unsigned(whole).map(Number::Negative),
            (None, _) => broken(digits)
                .map(|number| Number::Broken(if is_negative { -number } else { number })),
        };
        match read {
            Some(number) => {
                self.at += digits.len();
                Ok(number)
            }
            None => Err(self.wrong("no number")),
        }
    }

    /// Goes past whatever comes next.
    #[inline(never)]
    fn skip(&mut self) -> Result<(), Wrong> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => drop(self.string()?),
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':') if depth > 0 => self.at += 1,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(_) => {
                    self.number()?;
                }
                None => return Err(self.wrong("it ends too early")),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// A number with decimals or an exponent. Digit by digit, to within a few of its last binary digits: reading such numbers exactly costs
/// the browser tables of 10 kB, and these are rates and times that people look at.
fn broken(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0.0;
    for digit in whole.bytes().chain(decimals.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10.0 + f64::from(digit - b'0');
    }
    let exponent = exponent.checked_sub(i32::try_from(decimals.len()).ok()?)?;
    let number = match exponent < 0 {
        true => value / 10_f64.powi(exponent.checked_neg()?),
        false => value * 10_f64.powi(exponent),
    };
    (!whole.is_empty() && number.is_finite()).then_some(number)
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            self.deserialize_f64(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut Json<'_> {
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
            json: &mut *self,
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

/// The parts of an array or an object, one after the other.
struct Parts<'a, 't> {
    json: &'a mut Json<'t>,
    is_first: bool,
}

impl<'a, 't> Parts<'a, 't> {
    fn of(json: &'a mut Json<'t>) -> Self {
        Self {
            json,
            is_first: true,
        }
    }

    /// Goes to the next part, if there is one before this end.
    #[inline(never)]
    fn next(&mut self, end: u8) -> Result<bool, Wrong> {
        if self.json.peek() == Some(end) {
            return Ok(false);
        }
        if !self.is_first {
            self.json.expect(b',')?;
        }
        self.is_first = false;
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Parts<'_, '_> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        match self.next(b']')? {
            true => seed.deserialize(&mut *self.json).map(Some),
            false => Ok(None),
        }
    }
}

impl<'de> MapAccess<'de> for Parts<'_, '_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        match self.next(b'}')? {
            true => seed.deserialize(&mut *self.json).map(Some),
            false => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        self.json.expect(b':')?;
        seed.deserialize(&mut *self.json)
    }
}

/// A variant: its name, or an object of one field where it has a value.
struct Variant<'a, 't> {
    json: &'a mut Json<'t>,
    has_value: bool,
}

impl<'a, 't> Variant<'a, 't> {
    /// The value that the variant has.
    #[inline(never)]
    fn value(self) -> Result<&'a mut Json<'t>, Wrong> {
        match self.has_value {
            true => Ok(self.json),
            false => Err(self.json.wrong("a variant without its value")),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Wrong> {
        let variant = seed.deserialize(&mut *self.json)?;
        if self.has_value {
            self.json.expect(b':')?;
        }
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = Wrong;

    #[inline(never)]
    fn unit_variant(self) -> Result<(), Wrong> {
        match self.has_value {
            true => self.json.skip(),
            false => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        seed.deserialize(self.value()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        de::Deserializer::deserialize_seq(self.value()?, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        de::Deserializer::deserialize_map(self.value()?, visitor)
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
