//! A file's lines, the last one first, without holding more of it than a block and a line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

const BLOCK: usize = 64 * 1024;

/// A file that is read from its end.
pub struct Backwards {
    file: File,
    /// Where `held` begins in the file.
    at: u64,
    /// What was read and not handed out yet: ends where the last line that was handed out begins.
    held: Vec<u8>,
    /// In `held`, no line end is from here on.
    searched: usize,
    is_torn: bool,
    line: Vec<u8>,
}

impl Backwards {
    /// From the end that the file has now.
    pub fn through(file: File) -> io::Result<Self> {
        let end = file.metadata()?.len();
        Self::from(file, end)
    }

    /// From there: the end of a line, or of the file.
    pub fn from(file: File, end: u64) -> io::Result<Self> {
        let mut lines = Self {
            file,
            at: end,
            held: Vec::new(),
            searched: 0,
            is_torn: false,
            line: Vec::new(),
        };
        if end > 0 {
            lines.read_block()?;
            lines.is_torn = lines.held.last() != Some(&b'\n');
            if !lines.is_torn {
                lines.held.pop();
            }
            lines.searched = lines.held.len();
        }
        Ok(lines)
    }

    /// Whether the file ends in a line without its end.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The line before the one that was handed out last, without its line end; nothing before the first.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let before = &self.held[..self.searched];
            if let Some(end) = before.iter().rposition(|byte| *byte == b'\n') {
                self.line.clear();
                self.line.extend_from_slice(&self.held[end + 1..]);
                self.held.truncate(end);
                self.searched = end;
                return Ok(Some(&self.line));
            }
            self.searched = 0;
            if self.at > 0 {
                self.searched = self.read_block()?;
                continue;
            }
            if self.held.is_empty() {
                return Ok(None);
            }
            self.line = std::mem::take(&mut self.held);
            return Ok(Some(&self.line));
        }
    }

    /// Reads what comes before; says how much.
    fn read_block(&mut self) -> io::Result<usize> {
        let length = BLOCK.min(usize::try_from(self.at).unwrap_or(BLOCK));
        let from = self.at - length as u64;
        let mut block = vec![0; length];
        self.file.read_exact_at(&mut block, from)?;
        block.append(&mut self.held);
        (self.held, self.at) = (block, from);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn backwards(text: &str) -> (Vec<String>, bool) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut lines = Backwards::through(file).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(String::from_utf8(line.to_vec()).unwrap());
        }
        (found, lines.is_torn())
    }

    #[test]
    fn lines_come_last_first_and_none_is_lost_where_blocks_meet() {
        for lengths in [
            vec![],
            vec![0],
            vec![1, 0, 0, 5],
            vec![BLOCK - 1; 3],
            vec![BLOCK; 3],
            vec![3 * BLOCK, 1],
        ] {
            let lines: Vec<String> = lengths.iter().map(|&length| "x".repeat(length)).collect();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (mut found, is_torn) = backwards(&text);
            found.reverse();
            // A line that is empty and alone cannot be told from none.
            if lengths != [0] {
                assert_eq!(found, lines, "{lengths:?}");
            }
            assert!(!is_torn, "{lengths:?}");
        }
    }

    #[test]
    fn a_last_line_without_its_end_is_there_and_told() {
        assert_eq!(
            backwards("a\nb\nc"),
            (["c", "b", "a"].map(String::from).to_vec(), true)
        );
    }
}
