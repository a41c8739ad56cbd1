//! The signs of a JSON text: its words, strings and numbers, one after the other.

use std::borrow::Cow;

use super::Wrong;

/// A text, and how far it was read.
pub(super) struct Text<'t> {
    text: &'t str,
    at: usize,
}

/// A number, in the smallest type that it fits into.
pub(super) enum Number {
    Whole(u64),
    Negative(i64),
    Broken(f64),
}

impl<'t> Text<'t> {
    /// Nothing of it was read.
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    #[inline(never)]
    pub(super) fn wrong(&self, what: &str) -> Wrong {
        Wrong::of(what, &[" at byte ", &self.at.to_string()].concat())
    }

    /// The next byte that is not white space; stays before it.
    #[inline(never)]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blank = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.at += blank.count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past this byte if it comes next.
    pub(super) fn takes(&mut self, wanted: u8) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline(never)]
    pub(super) fn expect(&mut self, wanted: u8) -> Result<(), Wrong> {
        match self.takes(wanted) {
            true => Ok(()),
            false => Err(self.wrong("another sign is expected")),
        }
    }

    /// Goes past this word, which begins with the next byte.
    pub(super) fn word(&mut self, word: &str) -> Result<(), Wrong> {
        match self.text[self.at..].starts_with(word) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(self.wrong("no value")),
        }
    }

    #[inline(never)]
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Wrong> {
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
    pub(super) fn number(&mut self) -> Result<Number, Wrong> {
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
    pub(super) fn skip(&mut self) -> Result<(), Wrong> {
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
