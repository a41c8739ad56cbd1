//! What has parts: arrays, objects and variants.

use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::{Text, Wrong};

/// The parts of an array or an object, one after the other.
pub(super) struct Parts<'a, 't> {
    text: &'a mut Text<'t>,
    is_first: bool,
}

impl<'a, 't> Parts<'a, 't> {
    pub(super) fn of(text: &'a mut Text<'t>) -> Self {
        Self {
            text,
            is_first: true,
        }
    }

    /// Goes to the next part, if there is one before this end.
    #[inline(never)]
    fn next(&mut self, end: u8) -> Result<bool, Wrong> {
        if self.text.peek() == Some(end) {
            return Ok(false);
        }
        if !self.is_first {
            self.text.expect(b',')?;
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
            true => seed.deserialize(&mut *self.text).map(Some),
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
            true => seed.deserialize(&mut *self.text).map(Some),
            false => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        self.text.expect(b':')?;
        seed.deserialize(&mut *self.text)
    }
}

/// A variant: its name, or an object of one field where it has a value.
pub(super) struct Variant<'a, 't> {
    pub(super) text: &'a mut Text<'t>,
    pub(super) has_value: bool,
}

impl<'a, 't> Variant<'a, 't> {
    /// The value that the variant has.
    #[inline(never)]
    fn value(self) -> Result<&'a mut Text<'t>, Wrong> {
        match self.has_value {
            true => Ok(self.text),
            false => Err(self.text.wrong("a variant without its value")),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Wrong> {
        let variant = seed.deserialize(&mut *self.text)?;
        if self.has_value {
            self.text.expect(b':')?;
        }
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = Wrong;

    #[inline(never)]
    fn unit_variant(self) -> Result<(), Wrong> {
        match self.has_value {
            true => self.text.skip(),
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
