//! The files of an audit: the one that is written, and full ones beside it, named by the number of their last line.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use super::backwards::Backwards;
use super::chain::{self, Head};

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

    /// The folder of all of them.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        }
    }

    /// Whoever writes holds this file locked meanwhile.
    pub fn lock(&self) -> PathBuf {
        self.beside("lock")
    }

    /// Locked by a program for as long as it lives and may have acts open.
    pub fn run(&self, run: &str) -> PathBuf {
        self.beside(&format!("run-{run}"))
    }

    /// What the current file is called once it is full. The digits make names sort as their lines do.
    pub fn full(&self, last: u64) -> PathBuf {
        self.beside(&format!("{last:012}"))
    }

    /// A file that was just made belongs to whom the folder belongs. Where root runs a command beside the service, the service
    /// must be able to go on writing.
    pub fn hand_over(&self, file: &File) -> io::Result<()> {
        let (folder, made) = (fs::metadata(self.folder())?, file.metadata()?);
        if made.uid() == folder.uid() {
            return Ok(());
        }
        match fchown(file, Some(folder.uid()), Some(folder.gid())) {
            // Only root may, and only root needs to.
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            handed => handed,
        }
    }

    /// The full files, oldest first.
    pub fn all_full(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for name in self.names()? {
            if let Ok(last) = name.parse::<u64>() {
                found.push((last, self.beside(&name)));
            }
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, path)| path).collect())
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
        let current = match File::open(&self.path) {
            Ok(file) => Some((self.path.clone(), file)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(why),
        };
        let mut files = Vec::new();
        for path in self.all_full()? {
            match File::open(&path) {
                Ok(file) => files.push((path, file)),
                // The oldest may have been thrown away meanwhile.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            }
        }
        files.extend(current);
        Ok(files)
    }

    /// Where the chain stood at the end of the last full file.
    pub fn head_of_full(&self) -> io::Result<Option<Head>> {
        let Some(path) = self.all_full()?.pop() else {
            return Ok(None);
        };
        last_line(&File::open(path)?)
    }

    /// What comes after the file's own name and a dot, in its folder.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut own = self.path.file_name().unwrap_or_default().to_os_string();
        own.push(".");
        let mut names = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            names.extend(
                name.strip_prefix(&*own.to_string_lossy())
                    .map(str::to_owned),
            );
        }
        Ok(names)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(".");
        name.push(ending);
        name.into()
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
