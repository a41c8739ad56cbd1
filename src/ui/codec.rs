//! How resources travel from the server's first paint to the browser: JSON, read from bytes.
//!
//! Events and server functions are read from bytes too. With one way of reading, every type is compiled for it once; the usual
//! codec reads from text and would double that part of the download.

use leptos::prelude::*;
use leptos::server::codee::{Decoder, Encoder};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// JSON, read from bytes.
pub struct Bytes;

impl<T: Serialize> Encoder<T> for Bytes {
    type Error = serde_json::Error;
    type Encoded = String;

    fn encode(value: &T) -> Result<String, serde_json::Error> {
        serde_json::to_string(value)
    }
}

impl<T: DeserializeOwned> Decoder<T> for Bytes {
    type Error = serde_json::Error;
    type Encoded = str;

    fn decode(text: &str) -> Result<T, serde_json::Error> {
        serde_json::from_slice(text.as_bytes())
    }
}

/// Something loaded by the server for the first paint, and handed to the browser with it.
pub type Loading<T> = Resource<T, Bytes>;

/// Loads something once for a page.
pub fn load<T, F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Loading<T>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = T> + Send + 'static,
{
    Resource::new_with_options(|| (), move |()| fetch(), false)
}
