//! The end of the file that is written: where the chain stands, whether its last line is whole, and room for what follows.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, Stat, fallocate};
use rustix::io::Errno;

use super::backwards::Backwards;
use super::chain::{self, Head};
use super::volumes::Volumes;

/// How much more than needed is reserved in one go.
const AHEAD: u64 = 256 * 1024;

/// The end of a file.
pub struct Tail {
    file: Arc<File>,
    /// Device and file: another one may take its name.
    identity: (u64, u64),
    size: u64,
    /// Up to where the disk has set space aside; all of it where that cannot be asked for.
    reserved: u64,
    head: Head,
    is_torn: bool,
    line: Vec<u8>,
}

impl Tail {
    /// Opens the current file, or makes it. `known` is where the chain stood as far as we know.
    pub fn open(volumes: &Volumes, known: Option<Head>) -> io::Result<Self> {
        let file = volumes.folder()?.append_or_create(volumes.name())?;
        let meta = file.metadata()?;
        let before = volumes.head_of_full()?.into_iter().chain(known);
        let before = before.max_by_key(|head| head.number);
        let mut tail = Self {
            identity: (meta.dev(), meta.ino()),
            file: Arc::new(file),
            size: 0,
            reserved: 0,
            head: before.unwrap_or(Head::START),
            is_torn: false,
            line: Vec::new(),
        };
        tail.look_again(meta.len())?;
        Ok(tail)
    }

    /// Whether this is still the file of that name, with nothing added by others.
    pub fn is_up_to_date(&self, about: &Stat) -> bool {
        let size = u64::try_from(about.st_size).ok();
        self.identity == (about.st_dev, about.st_ino) && Some(self.size) == size
    }

    /// Where the chain stands.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How long the file is.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file, to be brought to disk.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Somebody else wrote, or nobody here has looked yet: finds the last whole line.
    fn look_again(&mut self, size: u64) -> io::Result<()> {
        let mut lines = Backwards::through(self.file.try_clone()?)?;
        self.is_torn = lines.is_torn();
        (self.size, self.reserved) = (size, self.reserved.min(size));
        let mut torn = 0_u32;
        while let Some(line) = lines.next_line()? {
            if let Some(head) = chain::parts(line).and_then(Head::at) {
                self.head = head;
                return Ok(());
            }
            // A program that is killed, or a full disk, leaves a piece of a line; nothing else belongs here.
            let is_piece = line.starts_with(b"{\"number\":") || b"{\"number\":".starts_with(line);
            torn += 1;
            if !is_piece || torn > 10_000 {
                return Err(io::Error::other(
                    "it ends in something that is no audit line; move the file away, or name another",
                ));
            }
        }
        Ok(())
    }

    /// Sets space aside for so many bytes: what is promised to be written must not meet a full disk.
    pub fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.size.saturating_add(bytes);
        if end <= self.reserved {
            return Ok(());
        }
        let ask = |length| fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.size, length);
        let (reserved, asked) = match ask(bytes + AHEAD) {
            Err(Errno::NOSPC | Errno::DQUOT) => (end, ask(bytes)),
            asked => (end + AHEAD, asked),
        };
        self.reserved = match asked {
            Ok(()) => reserved,
            // A file system that knows no such thing: the disk is full when it is.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NODEV | Errno::INVAL) => u64::MAX,
            Err(why) => return Err(why.into()),
        };
        Ok(())
    }

    /// Writes the next line. What could not be written whole stays as a piece that no reader takes for a line.
    pub fn write(&mut self, body: &[u8]) -> io::Result<()> {
        self.line.clear();
        if self.is_torn {
            self.line.push(b'\n');
        }
        let head = chain::write(&self.head, body, &mut self.line);
        let mut rest = self.line.as_slice();
        while !rest.is_empty() {
            match (&*self.file).write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.size += written as u64;
                    self.is_torn = true;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        (self.head, self.is_torn) = (head, false);
        Ok(())
    }
}
