//! Which program an act was done by, and whether it still lives: each holds its mark locked for as long as it does.

use std::fs::{File, TryLockError};
use std::io;
use std::time::SystemTime;

use super::folder::Folder;
use super::volumes::Volumes;

/// The name of a program that begins now.
pub fn new() -> String {
    format!("{:012x}", rand::random::<u64>() >> 16)
}

/// What an act is called.
pub fn id(run: &str, act: u64) -> String {
    format!("{run}-{act}")
}

/// The program and the number of an act.
pub fn parts(id: &str) -> Option<(&str, u64)> {
    let (run, act) = id.rsplit_once('-')?;
    Some((run, act.parse().ok()?))
}

/// Leaves the mark of a program, and holds it for as long as the file is open. The mark gets its name only when it is locked:
/// nobody ever sees it without its program, and takes that for dead.
pub fn leave_mark(folder: &Folder, volumes: &Volumes, run: &str) -> io::Result<File> {
    let unnamed = volumes.unlocked_run(run);
    let mark = folder.write_or_create(&unnamed)?;
    mark.lock()?;
    folder.rename(&unnamed, &volumes.run(run))?;
    Ok(mark)
}

/// Whether a program still lives.
pub fn is_alive(volumes: &Volumes, run: &str) -> io::Result<bool> {
    Ok(match open(volumes, run)? {
        Some(mark) => matches!(mark.try_lock(), Err(TryLockError::WouldBlock)),
        None => false,
    })
}

/// A program that left its mark and is no more. Nobody else takes care of it while this lives.
pub struct Dead {
    /// Its name.
    pub run: String,
    /// When it began.
    pub since: SystemTime,
    volumes: Volumes,
    _mark: File,
}

impl Dead {
    /// Every program that is no more.
    pub fn all(volumes: &Volumes) -> io::Result<Vec<Self>> {
        let mut dead = Vec::new();
        for run in volumes.all_runs()? {
            let Some(mark) = open(volumes, &run)? else {
                continue;
            };
            match mark.try_lock() {
                Ok(()) => dead.push(Self {
                    since: mark.metadata()?.modified()?,
                    run,
                    volumes: volumes.clone(),
                    _mark: mark,
                }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) => return Err(why),
            }
        }
        Ok(dead)
    }

    /// All of its acts have an end: its mark is taken away.
    pub fn bury(self) -> io::Result<()> {
        self.volumes.folder()?.remove(&self.volumes.run(&self.run))
    }
}

fn open(volumes: &Volumes, run: &str) -> io::Result<Option<File>> {
    let folder = volumes.folder();
    match folder.and_then(|folder| folder.write(&volumes.run(run))) {
        Ok(mark) => Ok(Some(mark)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn who_looks_for_dead_programs_never_takes_one_that_begins_for_dead() {
        let place = tempfile::tempdir().unwrap();
        let volumes = Volumes::at(place.path().join("audit.jsonl"));
        let folder = volumes.folder().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut found = 0;
                while !is_over.load(Ordering::Relaxed) {
                    found += Dead::all(&volumes).unwrap().len();
                }
                found
            });
            let begin = |_| leave_mark(&folder, &volumes, &new()).unwrap();
            let marks: Vec<File> = (0..500).map(begin).collect();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(looking.join().unwrap(), 0);
            drop(marks);
        });
        assert_eq!(Dead::all(&volumes).unwrap().len(), 500);
    }
}
