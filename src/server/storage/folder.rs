//! The folder of an SQLite file. Files in it are accessed relative to an open handle of the folder
//! and never through symbolic links.
//!
//! When root runs a command beside the service, the folder belongs to the service's account. A
//! process of that account could plant links there. Therefore only files created here change their
//! owner, and files planted by other users are not opened. SQLite itself opens files without
//! following links.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, readlinkat, renameat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The mode of created files.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// With `DynamicUser=`, systemd makes the state folder a link to another folder. More links in a
/// row are treated as a loop.
const MAX_LINKS: usize = 8;

/// An open folder.
pub struct Folder {
    handle: File,
    path: PathBuf,
    uid: u32,
    gid: u32,
}

impl Folder {
    /// Opens the folder at `path`. A link is followed only if it belongs to root or to the user of
    /// this process.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(CWD, &path, flags, Mode::empty()) {
                Ok(handle) => {
                    let handle = File::from(handle);
                    let stat = handle.metadata()?;
                    let (uid, gid) = (stat.uid(), stat.gid());
                    return Ok(Self {
                        handle,
                        path,
                        uid,
                        gid,
                    });
                }
                // The error for a link depends on the operating system.
                Err(error @ (Errno::LOOP | Errno::NOTDIR)) => match trusted_target(&path)? {
                    Some(target) => path = target,
                    None => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::LOOP.into())
    }

    /// The same, but creates a missing folder with mode 0700.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(path)?;
                Self::open(path)
            }
            opened => opened,
        }
    }

    /// The path, with trusted links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file exists. An existing file is checked before it is written to.
    ///
    /// # Errors
    /// The name exists but may have been planted: it is a link, not a regular file, or belongs to
    /// another user.
    pub fn check_file(&self, name: &OsStr) -> io::Result<bool> {
        let stat = match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let checked = check_ownership(&stat, self.uid, geteuid().as_raw());
        checked.map_err(|error| io::Error::other(format!("{} {error}", name.display())))?;
        Ok(true)
    }

    /// Creates a file that belongs to the owner of the folder. When root runs a command beside the
    /// service, the service must still be able to write the file.
    pub fn create(&self, name: &OsStr) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&self.handle, name, flags | OFlags::CLOEXEC, FILE_MODE)?;
        self.set_owner(&File::from(file))
    }

    fn set_owner(&self, file: &File) -> io::Result<()> {
        if file.metadata()?.uid() == self.uid {
            return Ok(());
        }
        match fchown(file, Some(self.uid), Some(self.gid)) {
            // Only root may change the owner, and only root creates files for another user.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            result => result,
        }
    }

    /// Renames a file within the folder.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Takes an advisory lock on the folder, held until the handle is closed.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.handle.try_lock()
    }

    /// Syncs the directory entries to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

/// The target of a trusted link; `None` if `path` is not a link.
fn trusted_target(path: &Path) -> io::Result<Option<PathBuf>> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    if stat.st_uid != 0 && stat.st_uid != geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "the folder {} is a symbolic link owned by user {} and is not followed; configure its target instead",
            path.display(),
            stat.st_uid
        )));
    }
    let target = readlinkat(CWD, path, Vec::new())?;
    let target = Path::new(OsStr::from_bytes(target.to_bytes()));
    Ok(Some(match path.parent() {
        Some(folder) => folder.join(target),
        None => target.to_owned(),
    }))
}

/// Checks that a file in a folder of `folder_uid` may be written by `process_uid`.
fn check_ownership(stat: &Stat, folder_uid: u32, process_uid: u32) -> Result<(), String> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            return Err(
                "is a symbolic link, which is not followed; configure its target instead"
                    .to_owned(),
            );
        }
        _ => return Err("is not a regular file".to_owned()),
    }
    if stat.st_nlink > 1 {
        return Err(format!(
            "has {} hard links, so it may also be another file; remove it or configure another path",
            stat.st_nlink
        ));
    }
    if ![0, folder_uid, process_uid].contains(&stat.st_uid) {
        return Err(format!(
            "belongs to user {}, not to root or the owner of its folder (user {folder_uid}); change its owner or configure another path",
            stat.st_uid
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_with_one_link_and_a_trusted_owner_are_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "").unwrap();
        let stat_of = |path: &Path| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let stat = stat_of(&path);
        let owner = stat.st_uid;
        assert_eq!(check_ownership(&stat, owner, 4711), Ok(()));
        assert_eq!(check_ownership(&stat, 4711, owner), Ok(()));
        assert_eq!(
            check_ownership(&stat, 4711, 4712).is_ok(),
            owner == 0,
            "root's"
        );
        std::fs::hard_link(&path, dir.path().join("other")).unwrap();
        let error = check_ownership(&stat_of(&path), owner, owner).unwrap_err();
        assert!(error.contains("2 hard links"), "{error}");
        assert!(check_ownership(&stat_of(dir.path()), owner, owner).is_err());
    }

    #[test]
    fn links_to_files_are_rejected_and_links_to_folders_followed_only_if_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        let folder = Folder::open(&dir.path().join("link")).unwrap();
        symlink("/etc/hostname", real.join("planted")).unwrap();
        symlink("nowhere", real.join("dangling")).unwrap();
        for name in ["planted", "dangling"].map(OsStr::new) {
            assert!(folder.check_file(name).is_err());
            assert!(folder.create(name).is_err());
        }
        assert!(!real.join("nowhere").exists());
        symlink("circle", dir.path().join("circle")).unwrap();
        assert!(Folder::open(&dir.path().join("circle")).is_err());
        assert!(Folder::open(&real.join("planted")).is_err());
    }
}
