//! Writes what waits to the stream, in order, and says that this program lives.
//!
//! A line carries the hash of the one before, so lines are made for one end of the stream and added only if it still ends there;
//! where another console was faster, they are made again. Whether lines whose answer got lost are there is looked up before any
//! other is written.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::{Ledger, Waiting};
use crate::server::audit::chain::{self, Head};
use crate::server::shared::Gone;
use crate::server::shared::lines::End;

/// So many lines are added at once.
const AT_ONCE: usize = 100;
/// How long a program counts as alive after it said so.
pub(super) const ALIVE: Duration = Duration::from_secs(10);
/// How often it says so.
const BEAT: Duration = Duration::from_secs(3);
/// How soon what could not be written is tried again.
const AGAIN: Duration = Duration::from_millis(250);

/// Writes for as long as anybody has the ledger.
pub(super) async fn write(ledger: Weak<Ledger>, rung: Arc<Notify>) {
    let mut writer = Writer::default();
    let mut pause = BEAT;
    loop {
        let _rung_or_not = timeout(pause, rung.notified()).await;
        let Some(ledger) = ledger.upgrade() else {
            return;
        };
        pause = match writer.write_all(&ledger).await {
            Ok(()) => BEAT,
            Err(why) => {
                ledger.trouble(&why.to_string());
                AGAIN
            }
        };
    }
}

#[derive(Default)]
struct Writer {
    /// Where the stream ended last, as far as we know.
    head: Option<Head>,
    /// Where it would end if lines are there whose answer got lost, and those of them that must be.
    unsure: Option<(Head, Vec<Waiting>)>,
    /// When we said last that we live, and the number before our first line.
    marked: Option<(Instant, u64)>,
}

impl Writer {
    async fn write_all(&mut self, ledger: &Ledger) -> Result<(), Gone> {
        loop {
            let mut lines = take(ledger);
            let written = match self.get_ready(ledger, &lines).await {
                Ok(()) => self.write(ledger, &mut lines).await,
                Err(gone) => Err(gone),
            };
            match written {
                Ok(()) if lines.is_empty() => {
                    ledger.queue().is_writing = false;
                    return Ok(());
                }
                Ok(()) => {
                    ledger.is_well();
                    for line in lines {
                        line.tell_written();
                    }
                }
                Err(gone) => {
                    give_back(ledger, refuse(lines, &gone));
                    return Err(gone);
                }
            }
        }
    }

    /// What must be so before anything is written.
    async fn get_ready(&mut self, ledger: &Ledger, lines: &[Waiting]) -> Result<(), Gone> {
        self.look_up_what_is_unsure(ledger).await?;
        let since = match self.marked {
            Some((at, _)) if at.elapsed() < BEAT => return Ok(()),
            Some((_, since)) => since,
            // Who has nothing to write need not be known.
            None if lines.is_empty() => return Ok(()),
            None => self.head(ledger).await?.number,
        };
        ledger.shared.mark_run(&ledger.run, since, ALIVE).await?;
        self.marked = Some((Instant::now(), since));
        Ok(())
    }

    async fn look_up_what_is_unsure(&mut self, ledger: &Ledger) -> Result<(), Gone> {
        let Some((head, _)) = &self.unsure else {
            return Ok(());
        };
        let there = ledger.shared.lines_from(head.number).await?;
        let is_there = there.first().is_some_and(|(number, line)| {
            let link = chain::parts(line);
            *number == head.number && link.is_some_and(|link| link.hash == head.hash)
        });
        if let Some((_, lines)) = self.unsure.take()
            && !is_there
        {
            give_back(ledger, lines);
        }
        Ok(())
    }

    /// Where the stream ends.
    async fn head(&mut self, ledger: &Ledger) -> Result<Head, Gone> {
        if let Some(head) = &self.head {
            return Ok(head.clone());
        }
        let head = end_of_stream(ledger).await?;
        self.head = Some(head.clone());
        Ok(head)
    }

    /// Writes these lines. What fails is what may be there all the same is remembered for later.
    async fn write(&mut self, ledger: &Ledger, lines: &mut Vec<Waiting>) -> Result<(), Gone> {
        if lines.is_empty() {
            return Ok(());
        }
        loop {
            let before = self.head(ledger).await?;
            let (mut text, mut at) = (Vec::new(), before.clone());
            for line in lines.iter() {
                at = chain::write(&at, &line.body, &mut text);
            }
            let each: Vec<&[u8]> = text
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .collect();
            let added = ledger
                .shared
                .add_lines(&end_of(&before), &each, ledger.most_lines)
                .await;
            match added {
                Ok(None) => {
                    self.head = Some(at);
                    return Ok(());
                }
                Ok(Some(end)) => self.head = Some(head_of(&end)?),
                Err(gone) => {
                    self.head = None;
                    self.unsure = Some((at, refuse(std::mem::take(lines), &gone)));
                    return Err(gone);
                }
            }
        }
    }
}

/// Where the stream ends.
pub(super) async fn end_of_stream(ledger: &Ledger) -> Result<Head, Gone> {
    // Nothing ends like this, so it tells where it does.
    let nowhere = End {
        number: u64::MAX,
        hash: String::new(),
    };
    let end = ledger.shared.add_lines(&nowhere, &[], None).await?;
    end.map_or(Ok(Head::START), |end| head_of(&end))
}

impl Waiting {
    fn tell_written(self) {
        if let Some(waits) = self.waits {
            // Nobody who waits any longer has done anything.
            let _gone = waits.send(Ok(()));
        }
    }
}

/// The next lines; those that nobody waits for any more are not written.
fn take(ledger: &Ledger) -> Vec<Waiting> {
    let mut queue = ledger.queue();
    let mut lines = Vec::new();
    while lines.len() < AT_ONCE
        && let Some(line) = queue.lines.pop_front()
    {
        if line.waits.as_ref().is_none_or(|waits| !waits.is_closed()) {
            lines.push(line);
        }
    }
    queue.is_writing = true;
    lines
}

/// Tells those who wait that it cannot be written; the other lines still must be.
fn refuse(lines: Vec<Waiting>, gone: &Gone) -> Vec<Waiting> {
    let mut left = Vec::new();
    for line in lines {
        match line.waits {
            Some(waits) => drop(waits.send(Err(gone.to_string()))),
            None => left.push(line),
        }
    }
    left
}

fn give_back(ledger: &Ledger, lines: Vec<Waiting>) {
    let mut queue = ledger.queue();
    for line in lines.into_iter().rev() {
        queue.lines.push_front(line);
    }
    queue.is_writing = false;
}

fn end_of(head: &Head) -> End {
    End {
        number: head.number,
        hash: head.digits().to_owned(),
    }
}

fn head_of(end: &End) -> Result<Head, Gone> {
    let hash = end.hash.as_bytes().try_into();
    let hash = hash.map_err(|_| Gone::because("the last line of the audit is not one of ours"))?;
    Ok(Head {
        number: end.number,
        hash,
    })
}
