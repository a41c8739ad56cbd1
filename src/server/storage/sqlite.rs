//! The SQLite file: created for its owner alone, opened only if it is one file of somebody who may own it, checked, and set aside
//! under another name where it is broken.

use std::ffi::{OsStr, OsString};
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::time::sleep;

use super::folder::Folder;
use super::options::quiet;
use super::{StorageError, migrations};
use crate::server::clock::Clock;

/// Readers do not write; a moment's patience for a checkpoint of another program.
pub const FOR_READING: &str = "PRAGMA busy_timeout = 1500; PRAGMA query_only = ON";
/// In WAL mode readers and the writer do not wait for each other. `NORMAL`: a commit survives the death of every program, and is
/// brought to disk with the next one that is synced. Programs that wait for each other have no queue: with twenty of them one in
/// some hundred writes waited for longer than 1.5 s.
const FOR_WRITING: &str =
    "PRAGMA busy_timeout = 4000; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON";
/// Changes the file, which another program may hold locked.
const WAL: &str = "PRAGMA journal_mode = WAL";
/// Larger files are not checked when they are opened, which would take seconds; `lockkeeper check` does it.
const MAX_CHECKED_BYTES: i64 = 512 << 20;
/// How long another program may take to open the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// What SQLite has beside the file.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Opens the file, which is created where it does not exist, and brings its schema up to date. One that is broken is set aside.
pub async fn open(
    path: &Path,
    is_checked: bool,
) -> Result<(AnyConnection, AnyConnectOptions), StorageError> {
    let unusable = |why: io::Error| {
        let text = format!("{}: {why}", path.display());
        match why.kind() {
            io::ErrorKind::StorageFull => StorageError::Full(text),
            io::ErrorKind::ReadOnlyFilesystem => StorageError::ReadOnly(text),
            _ => StorageError::Unavailable(text),
        }
    };
    let path = std::path::absolute(path).map_err(unusable)?;
    let (Some(place), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StorageError::Unavailable(format!(
            "{} is no file",
            path.display()
        )));
    };
    let folder = Folder::open_or_create(place).map_err(unusable)?;
    // One program at a time creates it, checks it or sets it aside.
    lock(&folder).await.map_err(unusable)?;
    prepare(&folder, name).map_err(unusable)?;
    let bytes = percent_encode(path.as_os_str().as_encoded_bytes(), NON_ALPHANUMERIC);
    let options = quiet(&format!("sqlite://{bytes}?mode=rw"))?;
    match connect(&options, is_checked).await {
        Err(StorageError::Damaged(why)) => {
            set_aside(&folder, name, &why).map_err(unusable)?;
            prepare(&folder, name).map_err(unusable)?;
            Ok((connect(&options, false).await?, options))
        }
        opened => Ok((opened.map_err(|why| why.about(&path))?, options)),
    }
}

async fn connect(
    options: &AnyConnectOptions,
    is_checked: bool,
) -> Result<AnyConnection, StorageError> {
    let mut db = options.connect().await?;
    match make_ready(&mut db, is_checked).await {
        Ok(()) => Ok(db),
        Err(why) => {
            // The file may get another name now.
            let _closed = db.close().await;
            Err(why)
        }
    }
}

async fn make_ready(db: &mut AnyConnection, is_checked: bool) -> Result<(), StorageError> {
    db.execute(FOR_WRITING).await?;
    db.execute(WAL).await?;
    let pages =
        sqlx::query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    let bytes: i64 = pages.fetch_one(&mut *db).await?.try_get(0)?;
    if is_checked
        && bytes <= MAX_CHECKED_BYTES
        && let Some(flaw) = flaw(db, "PRAGMA quick_check(1)").await?
    {
        return Err(StorageError::Damaged(flaw));
    }
    let migrated = migrations::run(db, false).await;
    migrated.map_err(|why| StorageError::of(&why.into()))
}

/// What such a check finds; nothing where the file is as it should be.
pub async fn flaw(
    db: &mut AnyConnection,
    check: &'static str,
) -> Result<Option<String>, sqlx::Error> {
    let found: String = sqlx::query(check).fetch_one(db).await?.try_get(0)?;
    Ok((found != "ok").then_some(found))
}

async fn lock(folder: &Folder) -> io::Result<()> {
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                sleep(Duration::from_millis(5)).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another program keeps its folder locked"));
            }
            Err(TryLockError::Error(why)) => return Err(why),
        }
    }
}

/// Creates the file, or sees that what is there may be opened. It is not opened here: closing it would let go of the locks that
/// SQLite has on it in this process.
fn prepare(folder: &Folder, name: &OsStr) -> io::Result<()> {
    if !folder.is_ours(name)? {
        folder.create(name)?;
    }
    for end in BESIDE {
        folder.is_ours(&named(name, end))?;
    }
    Ok(())
}

/// Gives a broken file another name, with what is beside it.
fn set_aside(folder: &Folder, name: &OsStr, why: &str) -> io::Result<()> {
    let now = Clock::real().now().millis();
    let aside = named(name, &format!(".damaged-{now}"));
    for end in BESIDE {
        match folder.rename(&named(name, end), &named(&aside, end)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
    }
    folder.rename(name, &aside)?;
    folder.sync()?;
    tracing::error!(
        file = %folder.path().join(name).display(),
        kept_as = %folder.path().join(&aside).display(),
        "the storage was damaged and a new one is begun; what was in it is in the file that was kept: {why}"
    );
    Ok(())
}

fn named(name: &OsStr, end: &str) -> OsString {
    let mut whole = name.to_owned();
    whole.push(end);
    whole
}
