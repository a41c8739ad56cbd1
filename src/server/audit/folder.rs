//! The folder of an audit, and its files by their names: opened relative to a handle of the folder, and never through a link.
//!
//! Where root runs a command beside the service, the folder belongs to the service's account. Whoever has that account could
//! plant links there, so nothing is given to it but what was created here, and no file is written to that another put there.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The mode of files that are created.
const MODE: Mode = Mode::from_raw_mode(0o600);
/// The state folder of a service with a dynamic user is a link to another folder; more of them in a row mean a circle.
const MAX_LINKS: usize = 8;

/// An open folder.
pub struct Folder {
    handle: File,
    uid: u32,
    gid: u32,
}

impl Folder {
    /// Opens the folder at `path`. A link is followed only if it belongs to root or to the user of this process.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(CWD, &path, flags, Mode::empty()) {
                Ok(handle) => {
                    let handle = File::from(handle);
                    let about = handle.metadata()?;
                    let (uid, gid) = (about.uid(), about.gid());
                    return Ok(Self { handle, uid, gid });
                }
                // What a link gives depends on the system.
                Err(why @ (Errno::LOOP | Errno::NOTDIR)) => match trusted_target(&path)? {
                    Some(target) => path = target,
                    None => return Err(why.into()),
                },
                Err(why) => return Err(why.into()),
            }
        }
        Err(Errno::LOOP.into())
    }

    /// The same; a folder that does not exist is created for this user alone.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(path)?;
                Self::open(path)
            }
            opened => opened,
        }
    }

    /// The names of what is in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            names.push(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned());
        }
        Ok(names)
    }

    /// Opens a file to read it.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open_file(name, OFlags::RDONLY)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(no_file(name))
    }

    /// Opens a file to write to it, if it exists.
    pub fn write(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open_file(name, OFlags::WRONLY)?;
        self.check(name, &file.metadata()?)?;
        Ok(file)
    }

    /// Opens a file to write to it. One that does not exist is created, and belongs to the owner of the folder: where root runs
    /// a command beside the service, the service must be able to go on writing.
    pub fn write_or_create(&self, name: &OsStr) -> io::Result<File> {
        self.open_or_create_file(name, OFlags::WRONLY)
    }

    /// The same, to read it and to add to its end.
    pub fn append_or_create(&self, name: &OsStr) -> io::Result<File> {
        self.open_or_create_file(name, OFlags::RDWR | OFlags::APPEND)
    }

    fn open_or_create_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        loop {
            match self.open_file(name, flags) {
                Ok(file) => {
                    self.check(name, &file.metadata()?)?;
                    return Ok(file);
                }
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            }
            let new = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&self.handle, name, new, MODE) {
                Ok(file) => {
                    let file = File::from(file);
                    self.hand_over(&file)?;
                    return Ok(file);
                }
                // Another program created it meanwhile.
                Err(Errno::EXIST) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }

    /// Opens what exists. `NONBLOCK`: a pipe of that name must not keep us waiting for its other end.
    fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::LOOP) => Err(io::Error::other(format!(
                "{} is a symbolic link, which is not followed; name the file itself",
                name.display()
            ))),
            // A pipe that nobody reads.
            Err(Errno::NXIO) => Err(no_file(name)),
            Err(why) => Err(why.into()),
        }
    }

    /// Refuses to write to what another may have put there to have it written to.
    fn check(&self, name: &OsStr, about: &Metadata) -> io::Result<()> {
        let checked = check(about, self.uid, geteuid().as_raw());
        checked.map_err(|why| io::Error::other(format!("{} {why}", name.display())))
    }

    fn hand_over(&self, file: &File) -> io::Result<()> {
        if file.metadata()?.uid() == self.uid {
            return Ok(());
        }
        match fchown(file, Some(self.uid), Some(self.gid)) {
            // Only root may, and only root needs to.
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            handed => handed,
        }
    }

    /// What a name stands for; a link for itself. Nothing where there is nothing of that name.
    pub fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about)),
            Err(Errno::NOENT) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// Gives a file another name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Removes a file, or a link itself.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Brings its names to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

/// Where a link leads that may be followed; nothing if `path` is no link.
fn trusted_target(path: &Path) -> io::Result<Option<PathBuf>> {
    let about = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    if about.st_uid != 0 && about.st_uid != geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "the folder {} is a symbolic link of user {}, which is not followed; name the folder itself",
            path.display(),
            about.st_uid
        )));
    }
    let target = readlinkat(CWD, path, Vec::new())?;
    let target = Path::new(OsStr::from_bytes(target.to_bytes()));
    Ok(Some(match path.parent() {
        Some(folder) => folder.join(target),
        None => target.to_owned(),
    }))
}

fn no_file(name: &OsStr) -> io::Error {
    io::Error::other(format!("{} is not a regular file", name.display()))
}

/// Why a file in a folder of the user `folder` is not written to by `me`.
fn check(about: &Metadata, folder: u32, me: u32) -> Result<(), String> {
    if !about.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if about.nlink() > 1 {
        return Err(format!(
            "has {} names (hard links), so it may be another file as well; remove it, or name another",
            about.nlink()
        ));
    }
    if ![0, folder, me].contains(&about.uid()) {
        return Err(format!(
            "belongs to user {}, and neither to root nor to the owner of its folder (user {folder}); chown it, or name another",
            about.uid()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_written_to_only_if_it_is_one_file_of_somebody_who_may_own_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let about = std::fs::metadata(&path).unwrap();
        let owner = about.uid();
        assert_eq!(check(&about, owner, 4711), Ok(()));
        assert_eq!(check(&about, 4711, owner), Ok(()));
        if owner == 0 {
            assert_eq!(check(&about, 4711, 4712), Ok(()), "root's");
        } else {
            assert!(check(&about, 4711, 4712).is_err());
        }
        std::fs::hard_link(&path, folder.path().join("other")).unwrap();
        let about = std::fs::metadata(&path).unwrap();
        assert!(check(&about, owner, owner).unwrap_err().contains("2 names"));
        let about = std::fs::metadata(folder.path()).unwrap();
        assert!(check(&about, owner, owner).is_err());
    }

    #[test]
    fn links_of_files_are_not_followed_and_those_of_folders_only_where_they_can_be_trusted() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        std::fs::create_dir(&real).unwrap();
        symlink("real", place.path().join("link")).unwrap();
        let folder = Folder::open(&place.path().join("link")).unwrap();
        symlink("/etc/hostname", real.join("planted")).unwrap();
        symlink("nowhere", real.join("dangling")).unwrap();
        for name in ["planted", "dangling"].map(OsStr::new) {
            assert!(folder.read(name).is_err());
            assert!(folder.append_or_create(name).is_err());
        }
        assert!(!real.join("nowhere").exists());
        symlink("circle", place.path().join("circle")).unwrap();
        assert!(Folder::open(&place.path().join("circle")).is_err());
        assert!(Folder::open(&real.join("planted")).is_err());
    }
}
