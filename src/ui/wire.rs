//! JSON between page and server.
//!
//! Server functions, events and what a page brings along are read in one way; if some of them did it differently, everything that
//! is read would be compiled again for them, and downloaded.

mod json;

use leptos::server::codee::{Decoder, Encoder};
use leptos::server_fn::codec::Post;
use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Error;

pub use self::json::{Wrong, read};
use crate::domain::Fault;

/// The codec of what a page brings along, and of what server functions answer.
pub struct Wire;

/// How server functions answer.
pub type Answer = Post<Wire>;

/// An answer that is read where it is shown, so that loading needs to know one type only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told(String);

impl Told {
    /// An answer to tell.
    pub fn of(answer: &impl Serialize) -> Result<Self, Fault> {
        let told = serde_json::to_string(answer).map(Self);
        told.map_err(|error| Fault::Internal {
            detail: format!("the answer cannot be written: {error}"),
        })
    }

    /// The answer that was told.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        read(&self.0).map_err(unreadable)
    }
}

fn unreadable(error: Wrong) -> Fault {
    Fault::Unanswered {
        detail: format!("the answer cannot be read: {error}"),
    }
}

impl<T: Serialize> Encoder<T> for Wire {
    type Error = Error;
    type Encoded = String;

    fn encode(value: &T) -> Result<String, Error> {
        serde_json::to_string(value)
    }
}

impl<T: DeserializeOwned> Decoder<T> for Wire {
    type Error = Wrong;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, Wrong> {
        read(text)
    }
}

impl ContentType for Wire {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for Wire {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for Wire {
    type Error = Error;

    fn encode(answer: &T) -> Result<Bytes, Error> {
        serde_json::to_vec(answer).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for Wire {
    type Error = Wrong;

    fn decode(answer: Bytes) -> Result<T, Wrong> {
        read(std::str::from_utf8(&answer).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_read() {
        let told = Told::of(&vec![1, 2, 3]).unwrap();
        assert_eq!(told.read::<Vec<u32>>(), Ok(vec![1, 2, 3]));
        assert!(matches!(
            told.read::<String>(),
            Err(Fault::Unanswered { .. })
        ));
    }
}
