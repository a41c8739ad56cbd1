//! Acts of programs that were killed: begun, and never ended. What is there is looked at and written down as their end.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::time::Duration;

use super::runs::{self, Dead};
use super::{Audit, Book, End, Kind, chain};
use crate::domain::{Audited, LockId, NodeAnswer};

/// A file that was written last so long before a program began has nothing of it; clocks of files are coarse.
const COARSE: Duration = Duration::from_secs(60);

impl Audit {
    /// Gives every act of a program that was killed its end: what the nodes show of its lock now. Where the audit is shared, for
    /// as long as this goes on: others may be killed meanwhile.
    pub async fn close_what_was_left<F>(&self, look: impl Fn(LockId) -> F)
    where
        F: Future<Output = Vec<NodeAnswer>>,
    {
        if let Kind::Stream(ledger) = &self.0 {
            return ledger.close_what_is_left(look).await;
        }
        let Some(book) = self.book().cloned() else {
            return;
        };
        let found = tokio::task::spawn_blocking(move || left(&book)).await;
        let (dead, acts) = match found {
            Ok(Ok(found)) => found,
            Ok(Err(why)) => {
                return tracing::warn!(
                    "the audit cannot be searched for acts without an end: {why}"
                );
            }
            Err(why) => return tracing::warn!("the audit was not searched: {why}"),
        };
        for act in acts {
            let seen = match act.lock() {
                Some(lock) => look(lock).await,
                None => Vec::new(),
            };
            tracing::warn!(
                act = act.act.slug(), who = act.who, lock.group = act.group, lock.key = ?act.key,
                "the program was killed before this act had ended; what the nodes show now is in the audit"
            );
            let why = "the program was killed before it ended; `seen` is what was found afterwards";
            self.close(&act, &End::unknown(why.to_owned(), seen));
        }
        let is_written = self.book().is_some_and(|book| book.log().is_settled());
        for dead in dead.into_iter().filter(|_| is_written) {
            if let Err(why) = dead.bury() {
                tracing::warn!("a mark beside the audit cannot be removed: {why}");
            }
        }
    }
}

/// The programs that are no more, and their acts without an end.
fn left(book: &Book) -> io::Result<(Vec<Dead>, Vec<Audited>)> {
    let dead = Dead::all(&book.shelf.volumes)?;
    let Some(oldest) = dead.iter().map(|dead| dead.since).min() else {
        return Ok((dead, Vec::new()));
    };
    let mut open: HashMap<String, Vec<u8>> = HashMap::new();
    for (_, file) in book.shelf.volumes.open()? {
        if file.metadata()?.modified()? + COARSE >= oldest {
            note_what_is_open(&file, &dead, &mut open)?;
        }
    }
    let read = |line: Vec<u8>| serde_json::from_slice::<Audited>(&line).ok();
    let mut acts: Vec<Audited> = open.into_values().filter_map(read).collect();
    acts.sort_by_key(|act| act.number);
    Ok((dead, acts))
}

fn note_what_is_open(
    file: &File,
    dead: &[Dead],
    open: &mut HashMap<String, Vec<u8>>,
) -> io::Result<()> {
    let (mut lines, mut line) = (BufReader::with_capacity(64 * 1024, file), Vec::new());
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Some((is_end, id)) = chain::front(&line) else {
            continue;
        };
        let is_theirs = |run: &str| dead.iter().any(|dead| dead.run == run);
        if !runs::parts(id).is_some_and(|(run, _)| is_theirs(run)) {
            continue;
        }
        if is_end {
            open.remove(id);
        } else {
            open.insert(id.to_owned(), line.clone());
        }
    }
}
