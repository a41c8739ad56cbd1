//! The files of an audit: the one that is written, and full ones beside it, named by the number of their last line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::backwards::Backwards;
use super::chain::{self, Head};
use super::folder::Folder;

/// Where an audit is.
#[derive(Clone, Debug)]
pub struct Volumes {
    path: PathBuf,
}

impl Volumes {
    /// The audit whose lines are written to this file.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The file that is written.
    pub fn current(&self) -> &Path {
        &self.path
    }

    /// The path of the folder of all of them.
    pub fn place(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        }
    }

    /// Opens their folder.
    pub fn folder(&self) -> io::Result<Folder> {
        Folder::open(self.place())
    }

    /// The path of a file in the folder.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.place().join(name)
    }

    /// The name of the file that is written.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Whoever writes holds the file of this name locked meanwhile.
    pub fn lock(&self) -> OsString {
        self.beside("lock")
    }

    /// Locked by a program for as long as it lives and may have acts open.
    pub fn run(&self, run: &str) -> OsString {
        self.beside(&format!("run-{run}"))
    }

    /// What that mark is called until it is locked.
    pub fn unlocked_run(&self, run: &str) -> OsString {
        self.beside(&format!("new-run-{run}"))
    }

    /// What the current file is called once it is full. The digits make names sort as their lines do.
    pub fn full(&self, last: u64) -> OsString {
        self.beside(&format!("{last:012}"))
    }

    /// The names of the full files, oldest first.
    pub fn all_full(&self) -> io::Result<Vec<OsString>> {
        let mut found = Vec::new();
        for name in self.names()? {
            if let Ok(last) = name.parse::<u64>() {
                found.push((last, self.beside(&name)));
            }
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, name)| name).collect())
    }

    /// The programs that left their mark and did not take it away.
    pub fn all_runs(&self) -> io::Result<Vec<String>> {
        let names = self.names()?;
        let run = |name: String| name.strip_prefix("run-").map(str::to_owned);
        Ok(names.into_iter().filter_map(run).collect())
    }

    /// Every file that is there, oldest first, opened; the current one first of all, so that none is missed if it is full
    /// just now.
    pub fn open(&self) -> io::Result<Vec<(PathBuf, File)>> {
        let Some(folder) = there(self.folder())? else {
            return Ok(Vec::new());
        };
        let current = there(folder.read(self.name()))?.map(|file| (self.path.clone(), file));
        let mut files = Vec::new();
        for name in self.all_full()? {
            match folder.read(&name) {
                Ok(file) => files.push((self.path_of(&name), file)),
                // The oldest may have been thrown away meanwhile.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            }
        }
        files.extend(current);
        Ok(files)
    }

    /// How large all of them are together, in bytes.
    pub fn size(&self) -> io::Result<u64> {
        let files = self.open()?;
        files
            .iter()
            .map(|(_, file)| Ok(file.metadata()?.len()))
            .sum()
    }

    /// Where the chain stood at the end of the last full file.
    pub fn head_of_full(&self) -> io::Result<Option<Head>> {
        let Some(name) = self.all_full()?.pop() else {
            return Ok(None);
        };
        last_line(&self.folder()?.read(&name)?)
    }

    /// What comes after the file's own name and a dot, in its folder. Before anything is written, there is no folder.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut own = self.name().to_os_string();
        own.push(".");
        let mut names = Vec::new();
        let folder = there(self.folder())?;
        for name in folder.map_or(Ok(Vec::new()), |folder| folder.names())? {
            let name = name.to_string_lossy();
            names.extend(
                name.strip_prefix(&*own.to_string_lossy())
                    .map(str::to_owned),
            );
        }
        Ok(names)
    }

    fn beside(&self, ending: &str) -> OsString {
        let mut name = self.name().to_os_string();
        name.push(".");
        name.push(ending);
        name
    }
}

/// What was opened; nothing where it does not exist, nor can.
fn there<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(why)
            if matches!(
                why.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(why) => Err(why),
    }
}

/// Where the chain stands after the last whole line of a file.
pub fn last_line(file: &File) -> io::Result<Option<Head>> {
    let mut lines = Backwards::through(file.try_clone()?)?;
    while let Some(line) = lines.next_line()? {
        if let Some(head) = chain::parts(line).and_then(Head::at) {
            return Ok(Some(head));
        }
    }
    Ok(None)
}
