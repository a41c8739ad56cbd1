//! Reads JSON documents from files or standard input.

use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::Failure;

/// The maximum size of a document; far above the longest list of locks.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a document from a file; `-` is standard input. `description` names the expected content in
/// errors.
pub fn read_json<T: DeserializeOwned>(path: &Path, description: &str) -> Result<T, Failure> {
    let is_stdin = path == Path::new("-");
    let from = if is_stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut bytes = Vec::new();
    let read = if is_stdin {
        std::io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| Failure::invalid_input(format!("cannot read {from}: {why}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::invalid_input(format!(
            "{from} is larger than {MAX_BYTES} bytes"
        )));
    }
    serde_json::from_slice(&bytes)
        .map_err(|why| Failure::invalid_input(format!("{from} is not {description}: {why}")))
}
