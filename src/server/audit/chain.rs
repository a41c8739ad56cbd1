//! The chain of lines: each carries its number, the hash of the line before, and its own.
//!
//! A line is `{"number":17, … ,"previous":"<64 hex digits>","hash":"<64 hex digits>"}`. The hash is SHA-256 over the line's
//! text up to `,"hash":`, so anybody can check it: `sed 's/,"hash":.*//' | tr -d '\n' | sha256sum`. Who can write the file can
//! still write another chain: what cannot be forged is a head that was noted elsewhere.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// Where a chain stands: what the next line continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last line; 0 before the first.
    pub number: u64,
    /// Its hash; zeros before the first.
    pub hash: Hash,
}

/// SHA-256, in hex.
pub type Hash = [u8; 64];

/// A line as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its number.
    pub number: u64,
    /// The hash of the line that it says it follows.
    pub previous: &'a [u8],
    /// Its own hash.
    pub hash: &'a [u8],
}

/// What is wrong with a line by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It was not written to its end: the program was killed, or the disk was full. No act follows such a line.
    #[error("it was not written to its end")]
    Torn,
    /// Its text is not what it was when its hash was made.
    #[error("its text was changed: the hash does not fit")]
    Changed,
}

const NUMBER: &[u8] = b"{\"number\":";
const PREVIOUS: &[u8] = b",\"previous\":\"";
const HASH: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";
/// What a line has from its hash on, and from the hash before on.
const HASH_PART: usize = HASH.len() + 64 + END.len();
const PREVIOUS_PART: usize = PREVIOUS.len() + 64 + 1 + HASH_PART;

impl Head {
    /// Before the first line.
    pub const START: Self = Self {
        number: 0,
        hash: [b'0'; 64],
    };

    /// The hash as text.
    pub fn digits(&self) -> &str {
        std::str::from_utf8(&self.hash).unwrap_or_default()
    }

    /// Where the chain stands after this line.
    pub fn at(link: Link<'_>) -> Option<Self> {
        Some(Self {
            number: link.number,
            hash: link.hash.try_into().ok()?,
        })
    }
}

/// Writes the next line of the chain, with its line end: `body` is a JSON object that is not empty.
pub fn write(head: &Head, body: &[u8], out: &mut Vec<u8>) -> Head {
    let (from, number) = (out.len(), head.number + 1);
    out.extend_from_slice(NUMBER);
    out.extend_from_slice(number.to_string().as_bytes());
    out.push(b',');
    let inner = body.strip_prefix(b"{").unwrap_or(body);
    out.extend_from_slice(inner.strip_suffix(b"}").unwrap_or(inner));
    out.extend_from_slice(PREVIOUS);
    out.extend_from_slice(&head.hash);
    out.push(b'"');
    let hash = hash(&out[from..]);
    out.extend_from_slice(HASH);
    out.extend_from_slice(&hash);
    out.extend_from_slice(END);
    out.push(b'\n');
    Head { number, hash }
}

/// Reads a line, which is without its line end, and checks its hash.
pub fn read(line: &[u8]) -> Result<Link<'_>, Flaw> {
    let text = line.len().checked_sub(HASH_PART).ok_or(Flaw::Torn)?;
    let (text, rest) = line.split_at(text);
    let own = rest
        .strip_prefix(HASH)
        .and_then(|rest| rest.strip_suffix(END));
    let own = own.ok_or(Flaw::Torn)?;
    let link = parts(line).ok_or(Flaw::Changed)?;
    if hash(text) != own {
        return Err(Flaw::Changed);
    }
    Ok(link)
}

/// The parts of a line that has them all; whether the hash fits is not looked at.
pub fn parts(line: &[u8]) -> Option<Link<'_>> {
    let tail = &line[line.len().checked_sub(PREVIOUS_PART)?..];
    let tail = tail.strip_prefix(PREVIOUS)?;
    let (previous, tail) = tail.split_at(64);
    let tail = tail.strip_prefix(b"\"")?.strip_prefix(HASH)?;
    let (hash, end) = tail.split_at(64);
    let number = number(line)?;
    (end == END).then_some(Link {
        number,
        previous,
        hash,
    })
}

/// The number of a line, as far as it has one.
pub fn number(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(NUMBER)?;
    let end = digits.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// Whether a line tells an act's end, and the act's id. They stand at its front, so that nothing else need be read.
pub fn front(line: &[u8]) -> Option<(bool, &str)> {
    let digits = line.strip_prefix(NUMBER)?;
    let rest = &digits[digits.iter().position(|byte| *byte == b',')?..];
    let (is_end, rest) = match rest.strip_prefix(b",\"line\":\"end\",\"id\":\"") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(b",\"line\":\"begin\",\"id\":\"")?),
    };
    let id = &rest[..rest.iter().position(|byte| *byte == b'"')?];
    Some((is_end, std::str::from_utf8(id).ok()?))
}

fn hash(text: &[u8]) -> Hash {
    let mut hex = [0; 64];
    HEXLOWER.encode_mut(&Sha256::digest(text), &mut hex);
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(bodies: &[&str]) -> (Vec<u8>, Head) {
        let (mut out, mut head) = (Vec::new(), Head::START);
        for body in bodies {
            head = write(&head, body.as_bytes(), &mut out);
        }
        (out, head)
    }

    #[test]
    fn each_line_follows_the_one_before_and_is_json() {
        let (text, head) = lines(&[r#"{"a":1}"#, r#"{"b":"\"hash\":\"x\"}"}"#]);
        let mut at = Head::START;
        for line in text.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
            let link = read(line).unwrap();
            assert_eq!(link.previous, at.hash);
            assert_eq!(link.number, at.number + 1);
            at = Head::at(link).unwrap();
            let json: serde_json::Value = serde_json::from_slice(line).unwrap();
            assert_eq!(json["number"], at.number);
            assert_eq!(json["hash"], at.digits());
        }
        assert_eq!(at, head);
    }

    #[test]
    fn a_line_that_was_changed_anywhere_does_not_fit_its_hash() {
        let (text, _) = lines(&[r#"{"act":"release"}"#]);
        let line = text.strip_suffix(b"\n").unwrap();
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(read(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_torn() {
        let (text, _) = lines(&[r#"{"act":"release"}"#]);
        for length in 0..text.len() - 1 {
            assert_eq!(read(&text[..length]), Err(Flaw::Torn), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_changed_in_a_line_shows(at in any::<proptest::sample::Index>(), to in any::<u8>(), body in "[a-z\":,é]{1,30}") {
            let (text, _) = lines(&[&format!("{{{body}}}")]);
            let line = text.strip_suffix(b"\n").unwrap();
            prop_assert!(read(line).is_ok());
            let mut changed = line.to_vec();
            let at = at.index(changed.len());
            changed[at] = to;
            prop_assert_eq!(read(&changed).is_ok(), changed == line);
            let _ = (front(&changed), number(&changed), parts(&changed));
        }

        #[test]
        fn whatever_a_line_is_it_has_parts_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400), body in "\\PC{0,200}") {
            let almost = [NUMBER, body.as_bytes(), PREVIOUS, &[b'0'; 64], b"\"", HASH, &[b'0'; 64], END].concat();
            for line in [&bytes, &almost] {
                let _ = (read(line).is_ok(), parts(line), number(line), front(line));
            }
        }
    }
}
