//! Reads tokens from files, standard input or the environment, and writes them to files. Tokens are
//! never arguments, because `ps` shows those.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::NamedTempFile;

use super::Failure;
use crate::domain::LockKey;
use crate::server::config;

/// The environment variable with the token.
pub const TOKEN_VARIABLE: &str = "LOCKKEEPER_TOKEN";
/// The environment variable with the lock's name, in a command under `lockkeeper run`.
pub const KEY_VARIABLE: &str = "LOCKKEEPER_KEY";
/// The environment variable with the fencing token, in a command under `lockkeeper run`.
pub const FENCING_VARIABLE: &str = "LOCKKEEPER_FENCING_TOKEN";
/// The maximum size of a token file; far above any token.
const MAX_BYTES: u64 = 64 * 1024;

/// The argument that names the source of the owner's token.
#[derive(Args)]
pub struct TokenSource {
    /// The file with the owner's token; `-` is standard input [default: the environment variable
    /// `LOCKKEEPER_TOKEN`].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenSource {
    /// Reads the token.
    pub fn read(&self) -> Result<String, Failure> {
        match &self.token_file {
            Some(path) => read_token(path),
            None => token_from_env()?.ok_or_else(|| {
                Failure::invalid_input(format!(
                    "no token; pass it with --token-file FILE (`-` is standard input) or in {TOKEN_VARIABLE}"
                ))
            }),
        }
    }
}

/// Reads a token from a file or, for `-`, from standard input. One trailing line end is removed.
pub fn read_token(path: &Path) -> Result<String, Failure> {
    let from = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|why| {
        Failure::invalid_input(format!("cannot read the token from {from}: {why}"))
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::invalid_input(format!(
            "{from} is larger than {MAX_BYTES} bytes and cannot be a token"
        )));
    }
    let token = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let token = token.strip_suffix(b"\r").unwrap_or(token);
    parse_token(token.to_vec(), &from)
}

/// The token in the environment, if any.
pub fn token_from_env() -> Result<Option<String>, Failure> {
    let value = config::os_env_var(TOKEN_VARIABLE).filter(|value| !value.is_empty());
    value
        .map(|value| parse_token(value.into_encoded_bytes(), TOKEN_VARIABLE))
        .transpose()
}

fn parse_token(bytes: Vec<u8>, from: &str) -> Result<String, Failure> {
    if bytes.is_empty() {
        return Err(Failure::invalid_input(format!(
            "the token in {from} is empty"
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::invalid_input(format!(
            "the token in {from} is not UTF-8, so it was not created by lockkeeper"
        ))
    })
}

/// A new file for a token. It is readable only by its owner and created atomically.
pub struct TokenFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl TokenFile {
    /// Checks that the file can be created and that nothing exists at its path, not even a symbolic
    /// link.
    pub fn prepare(path: &Path) -> Result<Self, Failure> {
        let refused = |why: &str| {
            Failure::invalid_input(format!(
                "cannot write the token to {}: {why}",
                path.display()
            ))
        };
        if path.symlink_metadata().is_ok() {
            return Err(refused(
                "the file already exists; remove it or choose another name",
            ));
        }
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Err(refused("the path is not a file")),
        };
        // `NamedTempFile` creates the file with mode 0600.
        let written = NamedTempFile::new_in(folder).map_err(|why| refused(&why.to_string()))?;
        Ok(Self {
            temporary: written,
            path: path.to_owned(),
        })
    }

    /// Writes the token.
    pub fn write(mut self, token: &str) -> Result<(), Failure> {
        let written = self
            .temporary
            .write_all(format!("{token}\n").as_bytes())
            .and_then(|()| {
                self.temporary
                    .persist_noclobber(&self.path)
                    .map_err(|why| why.error)
            });
        written.map(|_| ()).map_err(|why| {
            Failure::failed(format!(
                "cannot write the token to {}: {why}",
                self.path.display()
            ))
        })
    }
}

/// The key in the environment of a command under `lockkeeper run`: the bytes, or percent-encoded if
/// it contains a NUL byte, which environment variables cannot contain.
pub fn key_env_value(key: &LockKey) -> OsString {
    if key.as_bytes().contains(&0) {
        key.encoded().into()
    } else {
        OsString::from_vec(key.as_bytes().to_vec())
    }
}
