//! The hash chain: each line contains its sequence number, the hash of the previous line, and its
//! own hash.
//!
//! A line is `{"seq":17, … ,"previous_hash":"<64 hex digits>","hash":"<64 hex digits>"}`. The hash
//! is SHA-256 over the text of the line up to `,"hash":`. It can be checked with `sed
//! 's/,"hash":.*//' | tr -d '\n' | sha256sum`. An attacker with write access can rebuild the whole
//! chain; this is only detected by comparing with a head hash recorded elsewhere.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::domain::ChainProblem;

/// The head of a chain: the line that the next one continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// The sequence number of the last line; 0 for an empty chain.
    pub seq: u64,
    /// The hash of the last line; zeros for an empty chain.
    pub hash: HexHash,
}

/// SHA-256, in hex.
pub type HexHash = [u8; 64];

/// The chain fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLink<'a> {
    /// The sequence number of the line.
    pub seq: u64,
    /// The hash of the previous line.
    pub previous_hash: &'a [u8],
    /// The hash of this line.
    pub hash: &'a [u8],
}

/// An error in a single line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line is incomplete: the process was killed, or the disk was full. No operation is
    /// carried out after such a line.
    #[error("the line is incomplete")]
    Truncated,
    /// The hash does not match the text.
    #[error("the text was modified: the hash does not match")]
    HashMismatch,
}

impl From<LineError> for ChainProblem {
    fn from(error: LineError) -> Self {
        match error {
            LineError::Truncated => Self::Incomplete,
            LineError::HashMismatch => Self::HashMismatch,
        }
    }
}

const SEQ: &[u8] = b"{\"seq\":";
const PREVIOUS: &[u8] = b",\"previous_hash\":\"";
const HASH: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";
/// The lengths of the end of a line: from `hash` on, and from `previous_hash` on.
const HASH_SUFFIX_LEN: usize = HASH.len() + 64 + END.len();
const PREVIOUS_SUFFIX_LEN: usize = PREVIOUS.len() + 64 + 1 + HASH_SUFFIX_LEN;

impl ChainHead {
    /// The head of an empty chain.
    pub const START: Self = Self {
        seq: 0,
        hash: [b'0'; 64],
    };

    /// The hash as text.
    pub fn hash_hex(&self) -> &str {
        std::str::from_utf8(&self.hash).unwrap_or_default()
    }

    /// The head after this line.
    pub fn after(link: ChainLink<'_>) -> Option<Self> {
        Some(Self {
            seq: link.seq,
            hash: link.hash.try_into().ok()?,
        })
    }
}

/// Appends the next line of the chain to `out`, with a line feed. `body` is a non-empty JSON
/// object.
pub fn append_line(head: &ChainHead, body: &[u8], out: &mut Vec<u8>) -> ChainHead {
    let (from, seq) = (out.len(), head.seq + 1);
    out.extend_from_slice(SEQ);
    out.extend_from_slice(seq.to_string().as_bytes());
    out.push(b',');
    // The chain fields go around the fields of the body, so the body's braces are dropped.
    let inner = body.strip_prefix(b"{").unwrap_or(body);
    out.extend_from_slice(inner.strip_suffix(b"}").unwrap_or(inner));
    out.extend_from_slice(PREVIOUS);
    out.extend_from_slice(&head.hash);
    out.push(b'"');
    // The hash covers the previous hash, which links the lines.
    let hash = hash(&out[from..]);
    out.extend_from_slice(HASH);
    out.extend_from_slice(&hash);
    out.extend_from_slice(END);
    out.push(b'\n');
    ChainHead { seq, hash }
}

/// Parses a line without its line feed and verifies its hash.
pub fn parse_and_verify(line: &[u8]) -> Result<ChainLink<'_>, LineError> {
    let text = line
        .len()
        .checked_sub(HASH_SUFFIX_LEN)
        .ok_or(LineError::Truncated)?;
    let (text, rest) = line.split_at(text);
    let stored = rest
        .strip_prefix(HASH)
        .and_then(|rest| rest.strip_suffix(END));
    // The hash comes last, so a line without it was not written completely.
    let stored = stored.ok_or(LineError::Truncated)?;
    let link = parse_link(line).ok_or(LineError::HashMismatch)?;
    if hash(text) != stored {
        return Err(LineError::HashMismatch);
    }
    Ok(link)
}

/// Parses the chain fields of a line without verifying the hash.
pub fn parse_link(line: &[u8]) -> Option<ChainLink<'_>> {
    // The suffix has a fixed length. Parsing from the end avoids matching field names inside the
    // body.
    let tail = &line[line.len().checked_sub(PREVIOUS_SUFFIX_LEN)?..];
    let tail = tail.strip_prefix(PREVIOUS)?;
    let (previous_hash, tail) = tail.split_at(64);
    let tail = tail.strip_prefix(b"\"")?.strip_prefix(HASH)?;
    let (hash, end) = tail.split_at(64);
    let seq = parse_seq(line)?;
    (end == END).then_some(ChainLink {
        seq,
        previous_hash,
        hash,
    })
}

/// Parses the sequence number of a line.
pub fn parse_seq(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(SEQ)?;
    let end = digits.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// Parses whether a line is the end of an operation, and the operation's id. Both are at the start
/// of the line, so the rest need not be parsed.
pub fn parse_kind_and_id(line: &[u8]) -> Option<(bool, &str)> {
    let digits = line.strip_prefix(SEQ)?;
    let rest = &digits[digits.iter().position(|byte| *byte == b',')?..];
    let (is_end, rest) = match rest.strip_prefix(b",\"kind\":\"end\",\"id\":\"") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(b",\"kind\":\"begin\",\"id\":\"")?),
    };
    let id = &rest[..rest.iter().position(|byte| *byte == b'"')?];
    Some((is_end, std::str::from_utf8(id).ok()?))
}

fn hash(text: &[u8]) -> HexHash {
    let mut hex = [0; 64];
    HEXLOWER.encode_mut(&Sha256::digest(text), &mut hex);
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(bodies: &[&str]) -> (Vec<u8>, ChainHead) {
        let (mut out, mut head) = (Vec::new(), ChainHead::START);
        for body in bodies {
            head = append_line(&head, body.as_bytes(), &mut out);
        }
        (out, head)
    }

    #[test]
    fn each_line_continues_the_chain_and_is_json() {
        let (text, head) = lines(&[r#"{"a":1}"#, r#"{"b":"\"hash\":\"x\"}"}"#]);
        let mut at = ChainHead::START;
        for line in text.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
            let link = parse_and_verify(line).unwrap();
            assert_eq!(link.previous_hash, at.hash);
            assert_eq!(link.seq, at.seq + 1);
            at = ChainHead::after(link).unwrap();
            let json: serde_json::Value = serde_json::from_slice(line).unwrap();
            assert_eq!(json["seq"], at.seq);
            assert_eq!(json["hash"], at.hash_hex());
        }
        assert_eq!(at, head);
    }

    #[test]
    fn a_change_of_any_byte_of_a_line_is_detected() {
        let (text, _) = lines(&[r#"{"action":"release"}"#]);
        let line = text.strip_suffix(b"\n").unwrap();
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(parse_and_verify(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_cut_off_line_is_truncated() {
        let (text, _) = lines(&[r#"{"action":"release"}"#]);
        for length in 0..text.len() - 1 {
            assert_eq!(
                parse_and_verify(&text[..length]),
                Err(LineError::Truncated),
                "{length} bytes"
            );
        }
    }

    proptest! {
        #[test]
        fn any_change_in_a_line_is_detected(at in any::<proptest::sample::Index>(), to in any::<u8>(), body in "[a-z\":,é]{1,30}") {
            let (text, _) = lines(&[&format!("{{{body}}}")]);
            let line = text.strip_suffix(b"\n").unwrap();
            prop_assert!(parse_and_verify(line).is_ok());
            let mut changed = line.to_vec();
            let at = at.index(changed.len());
            changed[at] = to;
            prop_assert_eq!(parse_and_verify(&changed).is_ok(), changed == line);
            let _ = (parse_kind_and_id(&changed), parse_seq(&changed), parse_link(&changed));
        }

        #[test]
        fn parsing_arbitrary_lines_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), body in "\\PC{0,200}") {
            let almost = [SEQ, body.as_bytes(), PREVIOUS, &[b'0'; 64], b"\"", HASH, &[b'0'; 64], END].concat();
            for line in [&bytes, &almost] {
                let _ = (parse_and_verify(line).is_ok(), parse_link(line), parse_seq(line), parse_kind_and_id(line));
            }
        }
    }
}
