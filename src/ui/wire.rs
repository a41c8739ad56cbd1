//! JSON between page and server.
//!
//! Everything is read by way of [`Value`]: each way of reading costs the browser a copy of the code that reads a lock, and
//! this makes one of the three that answers, resources and events would need.

use leptos::server::codee::{Decoder, Encoder};
use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

use crate::domain::Fault;

/// The codec of server functions and of what the page brings along.
pub struct Wire;

/// An answer that is read where it is shown, so that loading needs to know one type only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told(String);

/// Reads JSON.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_value(serde_json::from_str::<Value>(text)?)
}

impl Told {
    /// An answer to tell.
    pub fn of(answer: &impl Serialize) -> Result<Self, Fault> {
        serde_json::to_string(answer).map(Self).map_err(unreadable)
    }

    /// The answer that was told.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        read(&self.0).map_err(unreadable)
    }
}

fn unreadable(error: Error) -> Fault {
    Fault::Unanswered {
        detail: format!("the answer cannot be read: {error}"),
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

    fn encode(output: &T) -> Result<Bytes, Error> {
        serde_json::to_vec(output).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for Wire {
    type Error = Error;

    fn decode(bytes: Bytes) -> Result<T, Error> {
        read(&String::from_utf8_lossy(&bytes))
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
    type Error = Error;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, Error> {
        read(text)
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
