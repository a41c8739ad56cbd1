//! The token of a hold. It contains what is needed to continue its session, so any process that has
//! the token can extend or release the lock, also after the one that acquired it has ended.
//!
//! ```text
//! lockkeeper:<label>:<32 hex digits>                  before the acquire
//! lockkeeper:<label>:<32 hex digits>.<64 characters>  afterwards
//! ```

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::Digest as _;
use zeroize::Zeroizing;

use super::client::SessionCredentials;
use crate::domain::Fingerprint;
use crate::server::stores::{Token, fingerprint};

/// The part of a token that is added by the acquire.
pub struct HoldToken {
    /// The session of the hold.
    pub credentials: SessionCredentials,
    /// The transaction that created the node.
    pub czxid: i64,
    /// The session timeout that was granted, in milliseconds.
    pub timeout_ms: u32,
    /// The number of the node.
    pub sequence: i32,
    /// The fingerprint with which the owner is shown.
    pub owner: Fingerprint,
}

impl HoldToken {
    /// The length of the encoded part: session, transaction, timeout, number, owner.
    const BYTES: usize = SessionCredentials::BYTES + 8 + 4 + 4 + 8;

    /// Reads what the acquire added; `None` if this is not the token of a hold.
    pub fn parse(token: &Token) -> Option<Self> {
        let (_, encoded) = split(token)?;
        let bytes = Zeroizing::new(BASE64URL_NOPAD.decode(encoded).ok()?);
        if bytes.len() != Self::BYTES {
            return None;
        }
        let (credentials, rest) = bytes.split_at(SessionCredentials::BYTES);
        let (czxid, rest) = rest.split_first_chunk::<8>()?;
        let (timeout_ms, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, owner) = rest.split_first_chunk::<4>()?;
        Some(Self {
            credentials: SessionCredentials::from_bytes(credentials)?,
            czxid: i64::from_be_bytes(*czxid),
            timeout_ms: u32::from_be_bytes(*timeout_ms),
            sequence: i32::from_be_bytes(*sequence),
            owner: Fingerprint::parse(&HEXLOWER.encode(owner))?,
        })
    }

    /// Adds this hold to the token of its request. `None` if the session or the fingerprint does
    /// not have the usual form.
    pub fn append_to(&self, token: &Token) -> Option<Token> {
        let owner = HEXLOWER.decode(self.owner.as_str().as_bytes()).ok()?;
        let bytes = Zeroizing::new(
            [
                &self.credentials.to_bytes()?[..],
                &self.czxid.to_be_bytes(),
                &self.timeout_ms.to_be_bytes(),
                &self.sequence.to_be_bytes(),
                &owner,
            ]
            .concat(),
        );
        let encoded = Zeroizing::new(BASE64URL_NOPAD.encode(&bytes));
        let base = base(token);
        Some(Token::from_bytes([base, b".", encoded.as_bytes()].concat()))
    }
}

/// The token as it was before the acquire. It identifies the hold within this process.
pub fn base(token: &Token) -> &[u8] {
    match split(token) {
        Some((base, encoded)) if encoded.len() == BASE64URL_NOPAD.encode_len(HoldToken::BYTES) => {
            base
        }
        Some(_) | None => token.expose(),
    }
}

/// Identifies a hold by the part of its token that does not change.
pub fn hold_id(token: &Token) -> Fingerprint {
    fingerprint(base(token))
}

/// What begins the name of the node, as Curator names it. The UUID follows from the token, so that
/// a node can be found whose creation had no reply.
pub fn node_prefix(token: &Token) -> String {
    let digest = sha2::Sha256::digest(base(token));
    let hex = HEXLOWER.encode(&digest[..16]);
    format!(
        "_c_{}-{}-{}-{}-{}-lock-",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

fn split(token: &Token) -> Option<(&[u8], &[u8])> {
    let bytes = token.expose();
    let at = bytes.iter().rposition(|byte| *byte == b'.')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::stores::zookeeper::contender::Contender;

    #[test]
    fn a_hold_is_read_back_from_its_token_and_keeps_its_identity() {
        let request = Token::generate("api-3.local");
        let hold = HoldToken {
            credentials: SessionCredentials::from_bytes(&[7; 24]).unwrap(),
            czxid: 0x1_0000_0007,
            timeout_ms: 10_000,
            sequence: -1,
            owner: fingerprint(b"owner"),
        };
        let token = hold.append_to(&request).unwrap();
        let parsed = HoldToken::parse(&token).unwrap();
        assert_eq!(
            (
                parsed.czxid,
                parsed.timeout_ms,
                parsed.sequence,
                &parsed.owner
            ),
            (0x1_0000_0007, 10_000, -1, &hold.owner)
        );
        assert_eq!(parsed.credentials.to_bytes(), hold.credentials.to_bytes());
        assert_eq!(hold_id(&token), hold_id(&request));
        assert_eq!(node_prefix(&token), node_prefix(&request));
        assert_eq!(token.label(), "api-3.local");
        // Extending again replaces the part instead of adding another one.
        assert_eq!(hold.append_to(&token).unwrap(), token);
    }

    #[test]
    fn other_tokens_are_not_those_of_a_hold() {
        for text in ["", "lockkeeper:a.b:0011", "lockkeeper:a:0011.AAAA", "x.y"] {
            assert!(
                HoldToken::parse(&Token::from_bytes(text)).is_none(),
                "{text}"
            );
        }
    }

    #[test]
    fn nodes_are_named_as_curator_names_them() {
        let name = format!("{}0000000042", node_prefix(&Token::generate("a")));
        let contender = Contender::parse(&name).unwrap();
        assert_eq!(contender.sequence, 42);
        assert!(!contender.is_go_zk);
    }
}
