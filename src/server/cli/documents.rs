//! Reads what other commands, or scripts, wrote: JSON from a file or from standard input.

use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::Failure;

/// Far above what the longest list of locks takes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The document in a file; `-` is standard input. `what` it should be stands in what people are told.
pub fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, Failure> {
    let is_stdin = path == Path::new("-");
    let from = if is_stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut bytes = Vec::new();
    let read = if is_stdin {
        std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| Failure::unusable(format!("{from} cannot be read: {why}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::unusable(format!(
            "{from} has more than {LONGEST} bytes"
        )));
    }
    serde_json::from_slice(&bytes)
        .map_err(|why| Failure::unusable(format!("{from} is not {what}: {why}")))
}
