//! Searching the audit, the latest act first, for so long as there is time.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backwards::Backwards;
use super::runs;
use super::{Audit, Book, Kind, chain};
use crate::domain::role::Sight;
use crate::domain::{ActEnd, AuditFilter, AuditPage, Audited, Fault};

/// How long one search goes on.
pub(super) const LONGEST: Duration = Duration::from_secs(2);
/// So many ends are remembered while what only began is looked for.
const MOST_ENDS: usize = 100_000;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// Which acts.
    pub filter: AuditFilter,
    /// The groups that may be seen.
    pub sight: Sight,
    /// How many at most.
    pub limit: usize,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

impl Search {
    /// The number that a page goes back from.
    fn before(&self) -> Result<Option<u64>, Fault> {
        let read = |text: &String| {
            text.parse().map_err(|_| Fault::BadRequest {
                detail: "`cursor` is not one that was handed out here".into(),
            })
        };
        self.cursor.as_ref().map(read).transpose()
    }
}

/// Takes out of lines that come the latest first what is looked for.
pub(super) struct Sieve<'a> {
    search: &'a Search,
    /// The acts whose ends were seen; nothing where a cursor was given, for their ends may be beyond it.
    ended: Option<HashSet<String>>,
    /// What was found.
    pub found: Vec<Audited>,
}

/// A search in files that goes on.
struct Looking<'a> {
    book: &'a Book,
    sieve: Sieve<'a>,
    /// The number of the last line that was looked at.
    lowest: Option<u64>,
    stop_at: Instant,
}

enum Step {
    On,
    Full,
    OutOfTime,
}

impl Audit {
    /// Searches, on a thread of its own.
    pub async fn search(&self, search: Search) -> Result<AuditPage, Fault> {
        let before = search.before()?;
        if let Kind::Stream(ledger) = &self.0 {
            return Ok(ledger.search(&search, before).await?);
        }
        let Some(book) = self.book().cloned() else {
            return Err(Fault::Forbidden {
                why: "nothing is written down: the audit is off in the configuration".to_owned(),
            });
        };
        let looked = tokio::task::spawn_blocking(move || look(&book, &search, before)).await;
        match looked {
            Ok(Ok(page)) => Ok(page),
            Ok(Err(why)) => Err(Fault::Internal {
                detail: format!("the audit cannot be read: {why}"),
            }),
            Err(why) => Err(Fault::Internal {
                detail: format!("the search of the audit ended: {why}"),
            }),
        }
    }
}

fn look(book: &Arc<Book>, search: &Search, before: Option<u64>) -> io::Result<AuditPage> {
    let mut looking = Looking {
        book,
        sieve: Sieve::new(search, before.is_none()),
        lowest: before,
        stop_at: Instant::now() + LONGEST,
    };
    let mut end = Step::On;
    for (_, file) in book.shelf.volumes.open()?.into_iter().rev() {
        end = looking.through(&file)?;
        if !matches!(end, Step::On) {
            break;
        }
    }
    let cursor = looking.lowest.map(|number| number.to_string());
    Ok(AuditPage {
        acts: looking.sieve.found,
        next_cursor: cursor.filter(|_| !matches!(end, Step::On)),
        is_cut: matches!(end, Step::OutOfTime),
        read_at: book.clock.now(),
    })
}

impl Looking<'_> {
    fn through(&mut self, file: &File) -> io::Result<Step> {
        let end = match self.lowest {
            Some(number) => where_it_is(file, number)?,
            None => file.metadata()?.len(),
        };
        let mut lines = Backwards::from(file.try_clone()?, end)?;
        let mut since_asked = 0_u32;
        while let Some(line) = lines.next_line()? {
            since_asked += 1;
            // Asking for the time costs more than passing over a line.
            if since_asked.is_multiple_of(256) && Instant::now() > self.stop_at {
                return Ok(Step::OutOfTime);
            }
            let number = chain::number(line);
            let (Some(number), Some((is_end, id))) = (number, chain::front(line)) else {
                continue;
            };
            if self.lowest.is_some_and(|lowest| number >= lowest) {
                continue;
            }
            self.lowest = Some(number);
            let book = self.book;
            let (is_ours, is_going_on) = (
                |id: &str| is_ours(book, id),
                |id: &str| is_going_on(book, id),
            );
            self.sieve.read(line, is_end, id, &is_ours, &is_going_on);
            if self.sieve.is_full() {
                return Ok(Step::Full);
            }
        }
        Ok(Step::On)
    }
}

impl<'a> Sieve<'a> {
    /// Nothing was found yet; whether it begins at the end of the audit.
    pub fn new(search: &'a Search, is_from_the_end: bool) -> Self {
        Self {
            search,
            ended: is_from_the_end.then(HashSet::new),
            found: Vec::new(),
        }
    }

    /// Whether a page is full.
    pub fn is_full(&self) -> bool {
        self.found.len() >= self.search.limit
    }

    /// Looks at a line; of what only began, it is asked whether we do it, and whether anybody does.
    pub fn read(
        &mut self,
        line: &[u8],
        is_end: bool,
        id: &str,
        is_ours: &dyn Fn(&str) -> bool,
        is_going_on: &dyn Fn(&str) -> bool,
    ) {
        if is_end {
            if let Some(ended) = self.ended.as_mut().filter(|ended| ended.len() < MOST_ENDS) {
                ended.insert(id.to_owned());
            }
        } else if !self.only_began(id, is_ours) {
            return;
        }
        // A line that was changed may not be one any more: `verify` tells.
        let Ok(mut act) = serde_json::from_slice::<Audited>(line) else {
            return;
        };
        if !is_end && !is_going_on(id) {
            act.end = ActEnd::Unknown;
            act.detail = Some("the program that did it was killed".to_owned());
        }
        let is_seen = match &act.group {
            Some(group) => self.search.sight.shows(group),
            None => self.search.sight == Sight::Everything,
        };
        if is_seen && self.search.filter.matches(&act) {
            self.found.push(act);
        }
    }

    /// Whether no end of this act was written.
    fn only_began(&self, id: &str, is_ours: &dyn Fn(&str) -> bool) -> bool {
        match &self.ended {
            Some(ended) if ended.len() < MOST_ENDS => !ended.contains(id),
            // Its end may stand where was not looked: but not of an act that we know to be going on.
            Some(_) | None => is_ours(id),
        }
    }
}

fn is_ours(book: &Book, id: &str) -> bool {
    runs::parts(id).is_some_and(|(run, act)| run == book.run && book.log().open().contains(&act))
}

fn is_going_on(book: &Book, id: &str) -> bool {
    let alive = |run| runs::is_alive(&book.shelf.volumes, run).unwrap_or(true);
    is_ours(book, id) || runs::parts(id).is_some_and(|(run, _)| run != book.run && alive(run))
}

/// Where in a file the line with this number begins, or the first one after it.
fn where_it_is(file: &File, number: u64) -> io::Result<u64> {
    let (mut low, mut high) = (0, file.metadata()?.len());
    // Below a block, reading it all is as good.
    while high - low > 64 * 1024 {
        let middle = low + (high - low) / 2;
        match first_line_from(file, middle, high)? {
            Some((at, found)) if found < number => low = at,
            Some(_) | None => high = middle,
        }
    }
    // The lines of what is left over are passed over by their numbers.
    let mut end = high;
    while let Some((at, found)) = first_line_from(file, end, file.metadata()?.len())? {
        if found >= number {
            return Ok(at);
        }
        end = at + 1;
    }
    Ok(file.metadata()?.len())
}

/// The first line that begins at this place or later, and before that one.
fn first_line_from(file: &File, from: u64, until: u64) -> io::Result<Option<(u64, u64)>> {
    let (mut at, mut text) = (from.saturating_sub(1), Vec::new());
    let mut begins = (from == 0).then_some(0_usize);
    let start = at;
    while at < until {
        let mut block = [0; 4096];
        let length = file.read_at(&mut block, at)?;
        if length == 0 {
            break;
        }
        at += length as u64;
        text.extend_from_slice(&block[..length]);
        loop {
            match begins {
                None => match text.iter().position(|byte| *byte == b'\n') {
                    Some(end) => begins = Some(end + 1),
                    None => break,
                },
                Some(begin) => {
                    let Some(number) = chain::number(&text[begin..]) else {
                        match text[begin..].iter().position(|byte| *byte == b'\n') {
                            Some(end) => begins = Some(begin + end + 1),
                            None => break,
                        }
                        continue;
                    };
                    let place = start + begin as u64;
                    return Ok((place < until).then_some((place, number)));
                }
            }
        }
    }
    Ok(None)
}
