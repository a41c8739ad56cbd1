//! Sessions of people who signed in, as several consoles share them: digests, persons and ends, and never what a browser has.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Gone, OurScript, Shared};

static BEGIN: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/session_begin.lua")));
static LOAD: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/session_load.lua")));
static END: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/sessions_end.lua")));

/// So many sessions of one person; the one that ends first makes room.
const MOST_OF_ONE: &[u8] = b"50";

/// A session as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub person: String,
    /// What their password was known by when they signed in.
    pub stamp: String,
}

impl Shared {
    /// Begins the session with this digest.
    pub async fn begin_session(
        &self,
        digest: &str,
        person: &str,
        stamp: &str,
        (idle, longest): (Duration, Duration),
    ) -> Result<(), Gone> {
        let (session, all) = (self.key("session", digest), self.key("sessions-of", person));
        self.run(
            &BEGIN,
            &[&session, &all],
            &[
                digest.as_bytes(),
                person.as_bytes(),
                stamp.as_bytes(),
                millis(idle).as_bytes(),
                millis(longest).as_bytes(),
                MOST_OF_ONE,
                self.key("session", "").as_bytes(),
            ],
        )
        .await
    }

    /// The session with this digest, if it goes on; with `idle`, it is in use and may be idle for so long from now on.
    pub async fn load_session(
        &self,
        digest: &str,
        idle: Option<Duration>,
    ) -> Result<Option<Found>, Gone> {
        let idle = millis(idle.unwrap_or_default());
        let session = self.key("session", digest);
        let found: Option<(String, String)> =
            self.run(&LOAD, &[&session], &[idle.as_bytes()]).await?;
        Ok(found.map(|(person, stamp)| Found { person, stamp }))
    }

    /// Ends a session of a person, or all of theirs.
    pub async fn end_sessions(&self, person: &str, digest: Option<&str>) -> Result<(), Gone> {
        let (all, begins) = (self.key("sessions-of", person), self.key("session", ""));
        let mut arguments = vec![begins.as_bytes()];
        arguments.extend(digest.map(str::as_bytes));
        self.run(&END, &[&all], &arguments).await
    }
}

fn millis(span: Duration) -> String {
    span.as_millis().to_string()
}
