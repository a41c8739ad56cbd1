//! The folder of an SQLite file: what is in it is looked at relative to a handle of the folder, and never through a link.
//!
//! Where root runs a command beside the service, the folder belongs to the service's account. Whoever has that account could
//! plant links there, so nothing is given to it but what was created here, and no file is opened that another put there. SQLite itself
//! follows no link when it opens a file.

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

/// The mode of files that are created.
const MODE: Mode = Mode::from_raw_mode(0o600);
/// The state folder of a service with a dynamic user is a link to another folder; more of them in a row mean a circle.
const MAX_LINKS: usize = 8;

/// An open folder.
pub struct Folder {
    handle: File,
    path: PathBuf,
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
                    return Ok(Self {
                        handle,
                        path,
                        uid,
                        gid,
                    });
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is such a file, and it may be written to.
    ///
    /// # Errors
    /// There is something of that name that another may have put there to have it written to.
    pub fn is_ours(&self, name: &OsStr) -> io::Result<bool> {
        let about = match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) => return Ok(false),
            Err(why) => return Err(why.into()),
        };
        let checked = check(&about, self.uid, geteuid().as_raw());
        checked.map_err(|why| io::Error::other(format!("{} {why}", name.display())))?;
        Ok(true)
    }

    /// Creates a file that belongs to the owner of the folder: where root runs a command beside the service, the service must be
    /// able to go on writing.
    pub fn create(&self, name: &OsStr) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&self.handle, name, flags | OFlags::CLOEXEC, MODE)?;
        self.hand_over(&File::from(file))
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

    /// Gives a file another name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Locks it for as long as this is open, among those who ask for that.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.handle.try_lock()
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

/// Why a file in a folder of the user `folder` is not written to by `me`.
fn check(about: &Stat, folder: u32, me: u32) -> Result<(), String> {
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            return Err(
                "is a symbolic link, which is not followed; name the file itself".to_owned(),
            );
        }
        _ => return Err("is not a regular file".to_owned()),
    }
    if about.st_nlink > 1 {
        return Err(format!(
            "has {} names (hard links), so it may be another file as well; remove it, or name another",
            about.st_nlink
        ));
    }
    if ![0, folder, me].contains(&about.st_uid) {
        return Err(format!(
            "belongs to user {}, and neither to root nor to the owner of its folder (user {folder}); chown it, or name another",
            about.st_uid
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_opened_only_if_it_is_one_file_of_somebody_who_may_own_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, "").unwrap();
        let stat = |path: &Path| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let about = stat(&path);
        let owner = about.st_uid;
        assert_eq!(check(&about, owner, 4711), Ok(()));
        assert_eq!(check(&about, 4711, owner), Ok(()));
        assert_eq!(check(&about, 4711, 4712).is_ok(), owner == 0, "root's");
        std::fs::hard_link(&path, place.path().join("other")).unwrap();
        let why = check(&stat(&path), owner, owner).unwrap_err();
        assert!(why.contains("2 names"), "{why}");
        assert!(check(&stat(place.path()), owner, owner).is_err());
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
            assert!(folder.is_ours(name).is_err());
            assert!(folder.create(name).is_err());
        }
        assert!(!real.join("nowhere").exists());
        symlink("circle", place.path().join("circle")).unwrap();
        assert!(Folder::open(&place.path().join("circle")).is_err());
        assert!(Folder::open(&real.join("planted")).is_err());
    }
}
