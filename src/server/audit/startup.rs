//! What is looked at when the console starts: whether the audit can be written, and whether the disk has room for all that it may
//! become. Nothing is created by looking.

use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::volumes::Volumes;
use super::{Audit, Book};

impl Audit {
    /// Says in the log what will keep acts from being written down.
    pub async fn check_place(&self) {
        let Some(book) = self.book().cloned() else {
            return;
        };
        // What ends it is said by whoever writes next.
        let _ended = tokio::task::spawn_blocking(move || book.check_place()).await;
    }
}

impl Book {
    fn check_place(&self) {
        let volumes = &self.shelf.volumes;
        let file = volumes.current().display();
        if let Err(why) = can_be_written(volumes) {
            return tracing::warn!(
                "acts will be refused, for the audit cannot be written: {file}: {why}. Let the user of the console write there, \
                 or name another `file` in [audit]; watching works without it"
            );
        }
        let largest = self.shelf.largest_total();
        match missing_bytes(volumes, largest) {
            Ok(0) => {}
            Ok(missing) => tracing::warn!(
                "the audit may take {} MB and its disk lacks {} MB for that: {file}. Once the disk is full, acts are refused. Make \
                 room, or have less kept (`largest_mb`, `keep` in [audit])",
                largest.div_ceil(1 << 20),
                missing.div_ceil(1 << 20)
            ),
            Err(why) => tracing::warn!("how much room the audit has cannot be told: {file}: {why}"),
        }
    }
}

/// Whether the file can be opened, or created where it does not exist.
fn can_be_written(volumes: &Volumes) -> io::Result<()> {
    match volumes.folder() {
        Ok(folder) => match folder.write(volumes.name()) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => may_write_in(volumes.place()),
            opened => opened.map(drop),
        },
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            may_write_in(existing(volumes.place()))
        }
        Err(why) => Err(why),
    }
}

/// The nearest folder above that exists: the others are created in it.
fn existing(path: &Path) -> &Path {
    let above = path.ancestors().find(|above| above.exists());
    let here = Path::new(".");
    above
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(here)
}

fn may_write_in(folder: &Path) -> io::Result<()> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    Ok(accessat(CWD, folder, access, AtFlags::EACCESS)?)
}

/// How much less is free than the audit may still take. What its files have already, it needs no more.
fn missing_bytes(volumes: &Volumes, largest: u64) -> io::Result<u64> {
    let used = volumes.size()?;
    let about = rustix::fs::statvfs(existing(volumes.place()))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    Ok(largest.saturating_sub(used).saturating_sub(free))
}
