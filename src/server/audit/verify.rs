//! Verifying the chain: a line that was changed, taken out, put in or moved is found.
//!
//! The end of the last file can be cut off without a trace in what is left: a head that was noted elsewhere shows that.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::chain::{self, Flaw, Head};
use super::volumes::Volumes;

/// More findings than this say nothing new.
const MOST: usize = 100;

/// What an audit turned out to be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verified {
    /// The files, oldest first.
    pub files: Vec<PathBuf>,
    /// How many lines there are.
    pub lines: u64,
    /// The number of the first one: above 1 where older files were thrown away.
    pub first: Option<u64>,
    /// The number of the last one.
    pub last: Option<u64>,
    /// The hash of the last line. Noted elsewhere, it shows later that nothing up to here was changed or cut off.
    pub head: Option<String>,
    /// Lines that were not written to their end, and that nothing follows from.
    pub torn: u64,
    /// The head that was noted elsewhere is in the chain.
    pub has_noted_head: Option<bool>,
    /// What is wrong; at most the first hundred.
    pub findings: Vec<Finding>,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// In which file.
    pub file: PathBuf,
    /// On which line of it, from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.has_noted_head != Some(false)
    }

    fn found(&mut self, file: &Path, line: u64, what: String) {
        if self.findings.len() < MOST {
            self.findings.push(Finding {
                file: file.to_owned(),
                line,
                what,
            });
        }
    }
}

/// Reads the audit that is written to `path`, with the full files beside it, and checks every line. `noted` is a head that
/// was noted elsewhere.
pub fn verify(path: PathBuf, noted: Option<&str>) -> io::Result<Verified> {
    let mut verifying = Verifying::new(noted);
    let files = Volumes::at(path.clone()).open()?;
    if files.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "there is no such file, and no full one beside it",
        ));
    }
    for (path, file) in &files {
        verifying.verified.files.push(path.clone());
        go_through(file, path, &mut verifying)?;
    }
    Ok(verifying.end())
}

fn go_through(file: &File, path: &Path, verifying: &mut Verifying<'_>) -> io::Result<()> {
    let (mut lines, mut text, mut count) = (BufReader::new(file), Vec::new(), 0);
    loop {
        text.clear();
        if lines.read_until(b'\n', &mut text)? == 0 {
            return Ok(());
        }
        count += 1;
        verifying.line(path, count, text.strip_suffix(b"\n").unwrap_or(&text));
    }
}

/// A chain that is followed, line by line.
pub(super) struct Verifying<'a> {
    noted: Option<&'a str>,
    at: Option<Head>,
    /// What was found so far.
    pub verified: Verified,
}

impl<'a> Verifying<'a> {
    /// Before the first line.
    pub fn new(noted: Option<&'a str>) -> Self {
        let verified = Verified {
            has_noted_head: noted.map(|_| false),
            ..Verified::default()
        };
        Self {
            noted,
            at: None,
            verified,
        }
    }

    /// After the last line.
    pub fn end(self) -> Verified {
        let mut verified = self.verified;
        verified.last = self.at.as_ref().map(|head| head.number);
        verified.head = self.at.map(|head| head.digits().to_owned());
        verified
    }

    /// The next line, which is this one of that place.
    pub fn line(&mut self, path: &Path, count: u64, line: &[u8]) {
        let verified = &mut self.verified;
        let link = match chain::read(line) {
            Ok(link) => link,
            Err(Flaw::Torn)
                if line.is_empty() || chain::parts(line).is_none() && is_piece(line) =>
            {
                verified.torn += 1;
                return;
            }
            Err(flaw) => {
                verified.lines += 1;
                verified.found(path, count, flaw.to_string());
                // What follows is judged by what this line says of itself, so that one change is one finding.
                self.at = chain::parts(line).and_then(Head::at).or(self.at.take());
                return;
            }
        };
        verified.lines += 1;
        verified.first = verified.first.or(Some(link.number));
        let before = match self.at.take() {
            Some(before) => before,
            // What was before the first line that is left, nobody can tell any more.
            None if link.number > 1 => Head {
                number: link.number - 1,
                hash: link.previous.try_into().unwrap_or(Head::START.hash),
            },
            None => Head::START,
        };
        if link.number != before.number + 1 {
            let what = format!(
                "number {} follows number {}: lines were taken out, put in or moved",
                link.number, before.number
            );
            verified.found(path, count, what);
        } else if link.previous != before.hash {
            let what = "it does not follow the line before it: that line was changed or replaced";
            verified.found(path, count, what.to_owned());
        }
        if self
            .noted
            .is_some_and(|noted| noted.as_bytes() == link.hash)
        {
            verified.has_noted_head = Some(true);
        }
        self.at = Head::at(link);
    }
}

/// Whether it can be the beginning of a line.
fn is_piece(line: &[u8]) -> bool {
    let front = b"{\"number\":";
    line.starts_with(front) || front.starts_with(line)
}
