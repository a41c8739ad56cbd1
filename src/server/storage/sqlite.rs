//! Opens the SQLite file: creates it with mode 0600, checks its ownership and integrity, and moves
//! a damaged file to another name.

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
use super::options::connect_options;
use super::{StorageError, migrations};
use crate::server::clock::Clock;

/// Readers cannot write. The timeout covers a checkpoint by another process.
pub const READER_PRAGMAS: &str = "PRAGMA busy_timeout = 1500; PRAGMA query_only = ON";
/// In WAL mode, readers and the writer do not block each other. With `NORMAL`, a commit survives
/// the crash of any process, and is synced to disk with the next synced commit. SQLite has no queue
/// for waiting writers: with twenty processes, one in several hundred writes waited for longer than
/// 1.5 s.
const WRITER_PRAGMAS: &str =
    "PRAGMA busy_timeout = 4000; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON";
/// Modifies the file, which another process may have locked.
const ENABLE_WAL: &str = "PRAGMA journal_mode = WAL";
/// Larger files are not checked on opening, because that would take seconds; `lockkeeper check`
/// checks them.
const MAX_CHECKED_BYTES: i64 = 512 << 20;
/// How long to wait for another process that opens the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Suffixes of the files that SQLite keeps beside the database.
const SIDECAR_SUFFIXES: [&str; 2] = ["-wal", "-shm"];

/// Opens or creates the file and migrates its schema. A damaged file is moved to another name.
pub async fn open(
    path: &Path,
    is_checked: bool,
) -> Result<(AnyConnection, AnyConnectOptions), StorageError> {
    let to_storage_error = |error: io::Error| {
        let text = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::StorageFull => StorageError::Full(text),
            io::ErrorKind::ReadOnlyFilesystem => StorageError::ReadOnly(text),
            _ => StorageError::Unavailable(text),
        }
    };
    let path = std::path::absolute(path).map_err(to_storage_error)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StorageError::Unavailable(format!(
            "{} is not a file path",
            path.display()
        )));
    };
    let folder = Folder::open_or_create(parent).map_err(to_storage_error)?;
    // Only one process at a time may create, check or move the file.
    lock(&folder).await.map_err(to_storage_error)?;
    prepare_file(&folder, name).map_err(to_storage_error)?;
    let bytes = percent_encode(path.as_os_str().as_encoded_bytes(), NON_ALPHANUMERIC);
    let options = connect_options(&format!("sqlite://{bytes}?mode=rw"))?;
    match connect(&options, is_checked).await {
        Err(StorageError::Damaged(error)) => {
            move_damaged_file(&folder, name, &error).map_err(to_storage_error)?;
            prepare_file(&folder, name).map_err(to_storage_error)?;
            Ok((connect(&options, false).await?, options))
        }
        opened => Ok((opened.map_err(|error| error.with_path(&path))?, options)),
    }
}

async fn connect(
    options: &AnyConnectOptions,
    is_checked: bool,
) -> Result<AnyConnection, StorageError> {
    let mut db = options.connect().await?;
    match initialize(&mut db, is_checked).await {
        Ok(()) => Ok(db),
        Err(error) => {
            // Closed because the file may be renamed next.
            let _closed = db.close().await;
            Err(error)
        }
    }
}

async fn initialize(db: &mut AnyConnection, is_checked: bool) -> Result<(), StorageError> {
    db.execute(WRITER_PRAGMAS).await?;
    db.execute(ENABLE_WAL).await?;
    let pages =
        sqlx::query("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    let bytes: i64 = pages.fetch_one(&mut *db).await?.try_get(0)?;
    if is_checked
        && bytes <= MAX_CHECKED_BYTES
        && let Some(damage) = find_damage(db, "PRAGMA quick_check(1)").await?
    {
        return Err(StorageError::Damaged(damage));
    }
    let migrated = migrations::run(db, false).await;
    migrated.map_err(|error| StorageError::of(&error.into()))
}

/// Runs an integrity check. Returns the first problem found.
pub async fn find_damage(
    db: &mut AnyConnection,
    check: &'static str,
) -> Result<Option<String>, sqlx::Error> {
    let report: String = sqlx::query(check).fetch_one(db).await?.try_get(0)?;
    Ok((report != "ok").then_some(report))
}

async fn lock(folder: &Folder) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                sleep(Duration::from_millis(5)).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process has locked the folder"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Creates the file or checks an existing one. The file is not opened here: POSIX releases all of a
/// process's locks on a file when any of its descriptors is closed, including the locks of SQLite.
fn prepare_file(folder: &Folder, name: &OsStr) -> io::Result<()> {
    if !folder.check_file(name)? {
        folder.create(name)?;
    }
    for suffix in SIDECAR_SUFFIXES {
        folder.check_file(&with_suffix(name, suffix))?;
    }
    Ok(())
}

/// Renames a damaged file together with its WAL and shared-memory files.
fn move_damaged_file(folder: &Folder, name: &OsStr, error: &str) -> io::Result<()> {
    let now = Clock::system().now().millis();
    let backup = with_suffix(name, &format!(".damaged-{now}"));
    for suffix in SIDECAR_SUFFIXES {
        match folder.rename(&with_suffix(name, suffix), &with_suffix(&backup, suffix)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
    }
    folder.rename(name, &backup)?;
    folder.sync()?;
    tracing::error!(
        file = %folder.path().join(name).display(),
        kept_as = %folder.path().join(&backup).display(),
        "database damaged; it was renamed and a new one was created: {error}"
    );
    Ok(())
}

fn with_suffix(name: &OsStr, suffix: &str) -> OsString {
    let mut full_name = name.to_owned();
    full_name.push(suffix);
    full_name
}
