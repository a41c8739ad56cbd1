//! Tokens come from files, standard input or the environment and go into files: never into arguments, which `ps` shows.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::NamedTempFile;

use super::Failure;
use crate::domain::LockKey;
use crate::server::config;

/// Where the environment has the token.
pub const VARIABLE: &str = "LOCKKEEPER_TOKEN";
/// Where the environment of a command under `lockkeeper run` has the lock's name.
pub const KEY_VARIABLE: &str = "LOCKKEEPER_KEY";
/// Where it has the fencing token.
pub const FENCING_VARIABLE: &str = "LOCKKEEPER_FENCING_TOKEN";
/// Far above any token.
const LONGEST: u64 = 64 * 1024;

/// Where the owner's token comes from.
#[derive(Args)]
pub struct TokenSource {
    /// The file with the owner's token; `-` is standard input. Without it, the token is taken from `LOCKKEEPER_TOKEN`.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenSource {
    /// The token.
    pub fn read(&self) -> Result<String, Failure> {
        match &self.token_file {
            Some(path) => read(path),
            None => from_environment()?.ok_or_else(|| {
                Failure::unusable(format!(
                    "there is no token: give it with --token-file FILE (`-` is standard input) or in {VARIABLE}"
                ))
            }),
        }
    }
}

/// Reads a token from a file or, for `-`, from standard input. One line end after it does not belong to it.
pub fn read(path: &Path) -> Result<String, Failure> {
    let from = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| Failure::unusable(format!("the token cannot be read from {from}: {why}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::unusable(format!(
            "{from} is longer than any token: over {LONGEST} bytes"
        )));
    }
    let token = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let token = token.strip_suffix(b"\r").unwrap_or(token);
    usable(token.to_vec(), &from)
}

/// The token that the environment carries.
pub fn from_environment() -> Result<Option<String>, Failure> {
    let value = config::variable(VARIABLE).filter(|value| !value.is_empty());
    value
        .map(|value| usable(value.into_encoded_bytes(), VARIABLE))
        .transpose()
}

fn usable(bytes: Vec<u8>, from: &str) -> Result<String, Failure> {
    if bytes.is_empty() {
        return Err(Failure::unusable(format!("the token in {from} is empty")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::unusable(format!(
            "the token in {from} is not UTF-8: lockkeeper did not make it, and cannot use it"
        ))
    })
}

/// A file for a token that is not there yet: only its owner may read it, and it appears whole or not at all.
pub struct TokenFile {
    written: NamedTempFile,
    path: PathBuf,
}

impl TokenFile {
    /// Makes sure that the file can be written, and that nothing is in its place, not even a link.
    pub fn prepare(path: &Path) -> Result<Self, Failure> {
        let refused = |why: &str| {
            Failure::unusable(format!(
                "the token cannot go into {}: {why}",
                path.display()
            ))
        };
        if path.symlink_metadata().is_ok() {
            return Err(refused("it is there already; remove it, or name another"));
        }
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Err(refused("it is not a file")),
        };
        // Made with mode 0600.
        let written = NamedTempFile::new_in(folder).map_err(|why| refused(&why.to_string()))?;
        Ok(Self {
            written,
            path: path.to_owned(),
        })
    }

    /// Puts the token there.
    pub fn keep(mut self, token: &str) -> Result<(), Failure> {
        let kept = self
            .written
            .write_all(format!("{token}\n").as_bytes())
            .and_then(|()| {
                self.written
                    .persist_noclobber(&self.path)
                    .map_err(|why| why.error)
            });
        kept.map(|_| ()).map_err(|why| {
            Failure::broken(format!(
                "the token cannot go into {}: {why}",
                self.path.display()
            ))
        })
    }
}

/// The key that a command under `lockkeeper run` sees in its environment: bytes, or percent-encoded where it has a zero
/// byte, which no variable can have.
pub fn key_variable(key: &LockKey) -> OsString {
    if key.as_bytes().contains(&0) {
        key.encoded().into()
    } else {
        OsString::from_vec(key.as_bytes().to_vec())
    }
}
