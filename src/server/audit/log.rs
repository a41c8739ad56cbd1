//! The log that lines are added to: one writer at a time, also among several programs; full files make room for new ones.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backwards::Backwards;
use super::chain::Head;
use super::folder::Folder;
use super::runs;
use super::tail::Tail;
use super::volumes::Volumes;

/// What the line about an act's end takes beyond the one about its beginning, as a rule.
const END: u64 = 4 * 1024;
/// What is kept free beside that.
const SPARE: u64 = 64 * 1024;
/// So many lines about what was over at once (somebody signed in) wait to be written, at most.
const MOST_LATE: usize = 10_000;
/// Refusals take at most one in so many bytes of a file: whoever may do nothing decides how many there are.
const REFUSED_SHARE: u64 = 8;
/// What the chain adds to a line.
const CHAIN: u64 = 256;

/// So long everything else here may wait for a line to be written; others need a hundredth of it for theirs.
const A_MOMENT: Duration = Duration::from_millis(2);
/// So long nobody looks again who else writes.
const A_LOOK: Duration = Duration::from_millis(50);

/// Why a line was not written.
#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another program writes at this moment.
    Busy,
    /// It cannot be written, in words.
    Broken(String),
}

/// The files, and what is still to be written to them.
pub struct Log {
    volumes: Volumes,
    largest: u64,
    /// Locked while we write, and beyond that where nobody else is there.
    lock: Option<File>,
    /// It is locked now, and nobody else was there when it was.
    is_kept: bool,
    /// When we last looked whether somebody else is there, and whether we were alone.
    company: Option<(Instant, bool)>,
    /// Locked while we live.
    alive: Option<File>,
    run: String,
    tail: Option<Tail>,
    /// Ends of acts that could not be written when they ended.
    late: VecDeque<Vec<u8>>,
    /// The acts that are in progress, and the bytes that their ends were promised.
    open: HashSet<u64>,
    promised: u64,
    /// The bytes of the file that are about refusals; not known before somebody asks.
    refused: Option<u64>,
    /// Why what was written is not on disk.
    unsynced: Option<String>,
    /// Full files that are to be brought to disk.
    filled: Vec<Arc<File>>,
}

/// Room for the end of an act.
#[derive(Debug)]
pub struct Promise {
    act: u64,
    bytes: u64,
}

/// What is to be brought to disk.
pub struct Unsynced {
    /// The files.
    pub files: Vec<Arc<File>>,
    /// A file became full: another has its name.
    pub is_another: bool,
}

impl Log {
    /// Nothing is opened yet. A file larger than `largest` bytes is full.
    pub fn new(volumes: Volumes, run: String, largest: u64) -> Self {
        Self {
            volumes,
            largest,
            lock: None,
            is_kept: false,
            company: None,
            alive: None,
            run,
            tail: None,
            late: VecDeque::new(),
            open: HashSet::new(),
            promised: 0,
            refused: None,
            unsynced: None,
            filled: Vec::new(),
        }
    }

    /// How many bytes make a file full.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Writes that an act begins, if its end will find room as well.
    pub fn begin(&mut self, act: u64, body: &[u8]) -> Result<Promise, Trouble> {
        if let Some(why) = &self.unsynced {
            return Err(Trouble::Broken(why.clone()));
        }
        let length = body.len() as u64;
        let bytes = length + END;
        let needed = length + bytes + self.promised + SPARE;
        self.with_the_lock(|log| {
            log.write_late()?;
            log.make_room_for(length)?;
            log.tail()?.reserve(needed)?;
            log.tail()?.write(body)
        })?;
        self.open.insert(act);
        self.promised += bytes;
        Ok(Promise { act, bytes })
    }

    /// Writes something that was not begun; later, if it cannot be written now.
    pub fn tell(&mut self, body: Vec<u8>) -> Result<(), Trouble> {
        if self.late.len() >= MOST_LATE {
            let why =
                "who signs in or out is not written down any more until it can be written again";
            return Err(Trouble::Broken(why.to_owned()));
        }
        self.late.push_back(body);
        self.settle_within(A_MOMENT)
    }

    /// Writes down a refusal, if there is room for it now: in its share of the file, and beside what ends were promised. It begins
    /// no other file, so that no operation that was done makes room for it.
    pub fn tell_refused(&mut self, body: &[u8]) -> Result<bool, Trouble> {
        let end = Instant::now() + A_MOMENT;
        loop {
            let mut is_written = false;
            let told = self.with_the_lock(|log| {
                log.write_late()?;
                is_written = log.write_refused(body)?;
                Ok(())
            });
            match told {
                Err(Trouble::Busy) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_micros(20));
                }
                told => return told.map(|()| is_written),
            }
        }
    }

    fn write_refused(&mut self, body: &[u8]) -> io::Result<bool> {
        let length = body.len() as u64 + CHAIN;
        let (largest, needed) = (self.largest, length + self.promised + SPARE);
        let tail = self.tail.as_mut();
        let tail = tail.ok_or_else(|| io::Error::other("not open"))?;
        let refused = match self.refused {
            Some(refused) => refused,
            None => refused_in(&tail.file())?,
        };
        self.refused = Some(refused);
        if refused + length > largest / REFUSED_SHARE || tail.size() + length > largest {
            return Ok(false);
        }
        match tail.reserve(needed) {
            Ok(()) => {}
            Err(why) if is_full(&why) => return Ok(false),
            Err(why) => return Err(why),
        }
        tail.write(body)?;
        self.refused = Some(refused + length);
        Ok(true)
    }

    /// Writes how an act ended; later, if it cannot be written now.
    pub fn end(&mut self, promise: &Promise, body: Vec<u8>) -> Result<(), Trouble> {
        self.open.remove(&promise.act);
        self.promised = self.promised.saturating_sub(promise.bytes);
        self.late.push_back(body);
        self.settle_within(A_MOMENT)
    }

    /// Writes what is late; waits for so long where somebody else writes.
    pub fn settle_within(&mut self, longest: Duration) -> Result<(), Trouble> {
        let end = Instant::now() + longest;
        loop {
            match self.settle() {
                Err(Trouble::Busy) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_micros(20));
                }
                settled => return settled,
            }
        }
    }

    /// Writes what is late.
    pub fn settle(&mut self) -> Result<(), Trouble> {
        if self.late.is_empty() {
            return Ok(());
        }
        self.with_the_lock(Self::write_late)
    }

    /// Whether everything that ended is written.
    pub fn is_settled(&self) -> bool {
        self.late.is_empty()
    }

    /// The acts that are in progress.
    pub fn open(&self) -> &HashSet<u64> {
        &self.open
    }

    /// Lets others write who came meanwhile. Called soon after each line, so that they wait no longer than that.
    pub fn let_go(&mut self) {
        if std::mem::take(&mut self.is_kept)
            && let Some(lock) = &self.lock
            && lock.unlock().is_err()
        {
            self.lock = None;
        }
    }

    /// What was written since the last time.
    pub fn unsynced(&mut self) -> Unsynced {
        let is_another = !self.filled.is_empty();
        let mut files = std::mem::take(&mut self.filled);
        files.extend(self.tail.as_ref().map(Tail::file));
        Unsynced { files, is_another }
    }

    /// How bringing it to disk went. Until it goes well again, nothing is begun.
    pub fn synced(&mut self, how: Result<(), String>) {
        self.unsynced = how.err();
    }

    /// Takes our mark away: nothing of ours is open any more.
    pub fn leave(&mut self) {
        self.let_go();
        if self.late.is_empty() && self.open.is_empty() && self.alive.take().is_some() {
            // Whoever looks for programs that were killed takes it away, if we cannot.
            let folder = self.volumes.folder();
            let _left_there = folder.and_then(|folder| folder.remove(&self.volumes.run(&self.run)));
        }
    }

    fn tail(&mut self) -> io::Result<&mut Tail> {
        self.tail
            .as_mut()
            .ok_or_else(|| io::Error::other("not open"))
    }

    fn write_late(&mut self) -> io::Result<()> {
        while let Some(body) = self.late.front() {
            let length = body.len() as u64;
            self.make_room_for(length)?;
            if let (Some(tail), Some(body)) = (&mut self.tail, self.late.front()) {
                tail.write(body)?;
            }
            self.late.pop_front();
        }
        Ok(())
    }

    /// Does it while nobody else writes. To lock the file and to look at it for each line is a third of what an act costs here,
    /// so the lock is kept where no other program has left its mark, until [`let_go`](Self::let_go).
    fn with_the_lock(
        &mut self,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let done = self.opened().and_then(|()| {
            if self.is_kept {
                return write(self).map(Some);
            }
            let lock = self.lock.as_ref().expect("it was opened");
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(why)) => return Err(why),
            }
            let done = self.catch_up().and_then(|()| write(self));
            self.is_kept = done.is_ok() && self.is_alone();
            if !self.is_kept
                && let Some(lock) = &self.lock
            {
                lock.unlock()?;
            }
            done.map(Some)
        });
        match done {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(Trouble::Busy),
            Err(why) => {
                // Whatever it was, the next one looks afresh.
                self.lock = None;
                self.is_kept = false;
                let path = self.volumes.current().display();
                Err(Trouble::Broken(format!("{path}: {why}")))
            }
        }
    }

    /// Whether no other program has left its mark. Each leaves it before it writes for the first time.
    fn is_alone(&mut self) -> bool {
        if let Some((at, alone)) = self.company
            && at.elapsed() < A_LOOK
        {
            return alone;
        }
        let runs = self.volumes.all_runs();
        let alone = runs.is_ok_and(|runs| runs.iter().all(|run| *run == self.run));
        self.company = Some((Instant::now(), alone));
        alone
    }

    /// Opens what is to be locked, and leaves our mark.
    fn opened(&mut self) -> io::Result<()> {
        if self.lock.is_some() && self.alive.is_some() {
            return Ok(());
        }
        let folder = Folder::open_or_create(self.volumes.place())?;
        if self.alive.is_none() {
            self.alive = Some(runs::leave_mark(&folder, &self.volumes, &self.run)?);
        }
        self.lock = Some(folder.write_or_create(&self.volumes.lock())?);
        Ok(())
    }

    /// Sees what others wrote since.
    fn catch_up(&mut self) -> io::Result<()> {
        let about = self.volumes.folder()?.stat(self.volumes.name())?;
        let known = match (&self.tail, about) {
            (Some(tail), Some(about)) if tail.is_up_to_date(&about) => return Ok(()),
            (Some(tail), Some(_) | None) => Some(tail.head().clone()),
            (None, Some(_) | None) => None,
        };
        self.open_tail(known)
    }

    fn open_tail(&mut self, known: Option<Head>) -> io::Result<()> {
        let before = self.tail.take().map(|tail| tail.file());
        self.tail = Some(Tail::open(&self.volumes, known)?);
        self.refused = None;
        self.filled.extend(before);
        Ok(())
    }

    /// A file that is full gets another name, and a new one takes its place. The chain goes on.
    fn make_room_for(&mut self, bytes: u64) -> io::Result<()> {
        let largest = self.largest;
        let tail = self.tail()?;
        if tail.size() == 0 || tail.size() + bytes <= largest {
            return Ok(());
        }
        let head = tail.head().clone();
        let (folder, full) = (self.volumes.folder()?, self.volumes.full(head.number));
        if folder.stat(&full)?.is_some() {
            return Err(io::Error::other(format!(
                "{} is there already: two audits have the same name",
                self.volumes.path_of(&full).display()
            )));
        }
        // Gives back what was set aside and not needed.
        let (size, file) = (self.tail()?.size(), self.tail()?.file());
        let _not_everywhere = file.set_len(size);
        folder.rename(self.volumes.name(), &full)?;
        self.open_tail(Some(head))
    }
}

/// The bytes of a file's lines that are about refusals.
fn refused_in(file: &File) -> io::Result<u64> {
    const REFUSED: &[u8] = br#""end":"refused""#;
    let (mut lines, mut bytes) = (Backwards::through(file.try_clone()?)?, 0);
    while let Some(line) = lines.next_line()? {
        if line.windows(REFUSED.len()).any(|part| part == REFUSED) {
            bytes += line.len() as u64;
        }
    }
    Ok(bytes)
}

fn is_full(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
