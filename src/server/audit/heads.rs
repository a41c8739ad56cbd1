//! The head of the chain, told to the log from time to time.
//!
//! Whoever can write the audit can write another chain, and cut its end off, but not what a log elsewhere has noted of it.
//! `lockkeeper audit verify --head` compares both.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::chain::Head;
use super::volumes::{self, Volumes};
use super::{Audit, Kind};

/// How often the head is told.
const EVERY: Duration = Duration::from_hours(1);

impl Audit {
    /// Tells the head now, and then every hour for as long as it is polled.
    pub async fn tell_heads(&self) {
        let mut told = None;
        self.tell_head(&mut told).await;
        let mut hours = interval_at(Instant::now() + EVERY, EVERY);
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            self.tell_head(&mut told).await;
        }
    }

    /// Tells the head when the console stops.
    pub async fn tell_last_head(&self) {
        self.tell_head(&mut None).await;
    }

    /// Tells the head in the log, unless it is the one that was told last, or nothing was written yet.
    async fn tell_head(&self, told: &mut Option<Head>) {
        match self.head().await {
            Ok(Some(head)) if told.as_ref() != Some(&head) => {
                let place = self.place().unwrap_or_default();
                tracing::info!(
                    audit = place,
                    number = head.number,
                    head = head.digits(),
                    "the head of the audit's chain; `lockkeeper audit verify --head` finds whether anything up to it was changed or cut off"
                );
                *told = Some(head);
            }
            Ok(_) => {}
            Err(why) => tracing::warn!("the head of the audit's chain cannot be told: {why}"),
        }
    }

    /// Where the chain stands; nothing before the first line.
    async fn head(&self) -> Result<Option<Head>, String> {
        let head = match &self.0 {
            Kind::Off => None,
            Kind::Stream(ledger) => Some(ledger.head().await.map_err(|why| why.to_string())?),
            Kind::File(book) => {
                let volumes = book.shelf.volumes.clone();
                let read = tokio::task::spawn_blocking(move || head_of(&volumes)).await;
                read.map_err(|why| why.to_string())?
                    .map_err(|why| why.to_string())?
            }
        };
        Ok(head.filter(|head| *head != Head::START))
    }
}

fn head_of(volumes: &Volumes) -> io::Result<Option<Head>> {
    // The latest file may be empty: then the one before it has the last line.
    for (_, file) in volumes.open()?.iter().rev() {
        if let Some(head) = volumes::last_line(file)? {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::domain::ActKind;
    use crate::server::audit::{Asked, By, End};
    use crate::server::clock::Clock;
    use crate::server::config::AuditConfig;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn heads(&self) -> usize {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            text.matches("the head of the audit's chain").count()
        }
    }

    #[tokio::test]
    async fn a_head_is_told_once_while_it_stays_and_again_at_the_end() {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone());
        let _log = tracing::subscriber::set_default(log.finish());
        let folder = tempfile::tempdir().unwrap();
        let config = AuditConfig::to(folder.path().join("audit.jsonl"));
        let audit = Audit::new(&config, None, Clock::real());
        let by = By {
            who: "somebody",
            subject: None,
            via: "browser",
            address: None,
            request: None,
        };
        let write = || audit.tell(&Asked::new(ActKind::SignIn, by), &End::done(&[]));

        let mut told = None;
        audit.tell_head(&mut told).await;
        assert_eq!(lines.heads(), 0, "nothing was written yet");
        write();
        audit.tell_head(&mut told).await;
        audit.tell_head(&mut told).await;
        assert_eq!(lines.heads(), 1, "it stayed as it was");
        write();
        audit.tell_head(&mut told).await;
        assert_eq!(lines.heads(), 2, "after another line");
        audit.tell_last_head().await;
        assert_eq!(lines.heads(), 3, "at the end");
    }
}
