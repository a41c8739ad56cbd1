//! JSON between page and server, always read from bytes.
//!
//! Server functions read it that way; if events and resources did it differently, everything that is read would be compiled
//! again for them, and downloaded.

use leptos::server::codee::{Decoder, Encoder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Error;

use crate::domain::Fault;

/// The codec of what a page brings along.
pub struct Wire;

/// An answer that is read where it is shown, so that loading needs to know one type only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told(String);

/// Reads JSON.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_slice(text.as_bytes())
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
