//! Keeps a node's feed up: chooses its level by trying, notices when it ends, and begins again with everything looked at.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::super::node::Node;
use super::super::trouble::Trouble;
use super::interest::Interest;
use super::probe::{is_forbidden, not_allowed};
use super::session::Session;
use super::{Covers, FeedState, prefixes};
use crate::domain::{FeedLevel, MissingPermission};
use crate::server::config::FeedChoice;

/// How often a quiet connection is asked whether it is still there.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The first and the longest pause before connecting again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A server that would not tell is asked again after this time: a permission may be granted.
const ASK_AGAIN: Duration = Duration::from_secs(15);

/// Where patterns begin with anything, every write of the server is told to us and sorted here: 22 bytes and some 0.4 µs
/// of its time each. Beyond so many a second it is asked for less.
const MOST_NAMES_A_SECOND: u64 = 5_000;

/// So many seconds in a row have to be too much.
const TOO_MUCH_FOR: u32 = 5;

/// After this time every write is asked for once more.
const ALL_AGAIN: Duration = Duration::from_mins(10);

/// Events come without word of FLUSHALL: everything is looked at this often.
const EVENTS_TRUSTED_FOR: Duration = Duration::from_secs(30);

/// What is told on an armed connection.
enum Armed {
    /// All that the patterns match: they begin literally.
    ByPrefix(Vec<Vec<u8>>),
    /// Every write.
    All,
    /// Keyspace notifications.
    Events,
    /// Nothing.
    Nothing(String),
}

impl Node {
    /// Keeps the feed up for ever.
    pub(in super::super) async fn keep_feed(&self, interest: Arc<Interest>, choice: FeedChoice) {
        let mut pause = PAUSES.0;
        loop {
            self.until_up().await;
            let began = Instant::now();
            let trouble = self.feed_once(&interest, choice).await;
            tracing::debug!(node.name = %self.name(), reason = %trouble.reason, "the feed ended");
            self.sink(format!("the feed's connection: {}", trouble.reason), None);
            if began.elapsed() > PAUSES.1 {
                pause = PAUSES.0;
            }
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Connects, has itself told, and listens until something goes wrong.
    async fn feed_once(&self, interest: &Arc<Interest>, choice: FeedChoice) -> Trouble {
        let mut session = match Session::open(self, Arc::clone(interest)).await {
            Ok(session) => session,
            Err(trouble) => return trouble,
        };
        match self.listen(&mut session, interest, choice).await {
            Ok(never) => match never {},
            Err(trouble) => trouble,
        }
    }

    async fn listen(
        &self,
        session: &mut Session,
        interest: &Interest,
        choice: FeedChoice,
    ) -> Result<std::convert::Infallible, Trouble> {
        loop {
            let mut missing = session.introduce(&self.acl_user()).await?;
            let armed = self.arm(session, interest, choice, &mut missing).await?;
            match armed {
                Armed::Nothing(reason) => {
                    self.sink(reason, Some(missing));
                    self.while_it_lasts(session, ASK_AGAIN).await?;
                }
                Armed::ByPrefix(starts) => {
                    let told = format!("names that begin with {}", words(&starts));
                    self.rise(FeedLevel::Tracking, told, Covers::Everything, missing);
                    self.while_it_lasts(session, Duration::MAX).await?;
                }
                Armed::Events => {
                    let told = "by the notifications that are on".to_owned();
                    self.rise(FeedLevel::Keyspace, told, Covers::Everything, missing);
                    loop {
                        self.while_it_lasts(session, EVENTS_TRUSTED_FOR).await?;
                        self.feed().has_a_gap(self.clock().steady());
                    }
                }
                Armed::All => {
                    let told =
                        "every write of the server, sorted here: the patterns begin with anything";
                    self.rise(
                        FeedLevel::Tracking,
                        told.to_owned(),
                        Covers::Everything,
                        missing.clone(),
                    );
                    self.until_too_much(session).await?;
                    self.listen_to_learnt(session, &missing).await?;
                }
            }
        }
    }

    /// Tries one level after the other.
    async fn arm(
        &self,
        session: &mut Session,
        interest: &Interest,
        choice: FeedChoice,
        missing: &mut Vec<MissingPermission>,
    ) -> Result<Armed, Trouble> {
        let mut why = "the configuration asks for it".to_owned();
        if matches!(choice, FeedChoice::Auto | FeedChoice::Tracking) {
            let starts = prefixes::of_patterns(interest.patterns());
            match self
                .arm_tracking(session, starts.as_deref().unwrap_or_default(), missing)
                .await?
            {
                None => return Ok(starts.map_or(Armed::All, Armed::ByPrefix)),
                Some(refusal) => why = refusal,
            }
        }
        if matches!(choice, FeedChoice::Auto | FeedChoice::Keyspace) {
            match self.arm_events(session, missing).await? {
                None => return Ok(Armed::Events),
                Some(refusal) if choice == FeedChoice::Auto => why = format!("{why}; {refusal}"),
                Some(refusal) => why = refusal,
            }
        }
        Ok(Armed::Nothing(why))
    }

    /// Nothing where the server tells now; else why it does not.
    pub(super) async fn arm_tracking(
        &self,
        session: &mut Session,
        starts: &[Vec<u8>],
        missing: &mut Vec<MissingPermission>,
    ) -> Result<Option<String>, Trouble> {
        const COSTS: &str = "news of every change at once";
        let joined = session.join_the_subscribers().await?;
        if let Err(error) = joined {
            if is_forbidden(&Err::<(), _>(error.clone())) {
                let channel = "&__redis__:invalidate";
                missing.push(not_allowed(&self.acl_user(), "subscribe", channel, COSTS));
            }
            // Untold, the server would keep for us without limit what we are too slow to read.
            return Ok(Some(format!(
                "SUBSCRIBE was refused: {}",
                Trouble::of(&error).reason
            )));
        }
        match session.track(starts).await? {
            Ok(()) => Ok(None),
            Err(error) => {
                if is_forbidden(&Err::<(), _>(error.clone())) {
                    missing.push(not_allowed(&self.acl_user(), "client|tracking", "", COSTS));
                }
                let reason = Trouble::of(&error).reason;
                Ok(Some(format!("CLIENT TRACKING was refused: {reason}")))
            }
        }
    }

    /// Nothing where the server tells now; else why it does not.
    async fn arm_events(
        &self,
        session: &mut Session,
        missing: &mut Vec<MissingPermission>,
    ) -> Result<Option<String>, Trouble> {
        let Some(flags) = session.notifications().await? else {
            return Ok(Some(
                "whether keyspace notifications are on may not be asked (CONFIG GET)".to_owned(),
            ));
        };
        if !tells_everything(&flags) {
            return Ok(Some(
                "keyspace notifications are off (notify-keyspace-events needs K and A)".to_owned(),
            ));
        }
        let heard = session.hear_events(self.reach.database()).await?;
        Ok(heard.err().map(|error| {
            if is_forbidden(&Err::<(), _>(error.clone())) {
                let costs = "news of every change at once";
                missing.push(not_allowed(
                    &self.acl_user(),
                    "psubscribe",
                    "allchannels",
                    costs,
                ));
            }
            format!("PSUBSCRIBE was refused: {}", Trouble::of(&error).reason)
        }))
    }

    /// Checks the connection until it is lost, or for this long.
    async fn while_it_lasts(
        &self,
        session: &mut Session,
        how_long: Duration,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        while began.elapsed() < how_long {
            self.one_second(session).await?;
        }
        Ok(())
    }

    async fn one_second(&self, session: &mut Session) -> Result<(), Trouble> {
        match timeout(CHECK_EVERY, session.lost()).await {
            Ok(()) => Err(Trouble::down("it was closed")),
            Err(_) if !session.is_of_the_read(self) => {
                Err(Trouble::down("another server is read now"))
            }
            Err(_) => session.ping().await,
        }
    }

    /// Listens to every write until the server has written too much for some seconds.
    async fn until_too_much(&self, session: &mut Session) -> Result<(), Trouble> {
        let mut too_much_for = 0;
        while too_much_for < TOO_MUCH_FOR {
            let (before, began) = (session.names_told(), Instant::now());
            self.one_second(session).await?;
            let told = (session.names_told() - before) as f64 / began.elapsed().as_secs_f64();
            too_much_for = if told > MOST_NAMES_A_SECOND as f64 {
                too_much_for + 1
            } else {
                0
            };
        }
        Ok(())
    }

    /// Listens to names that begin like known locks, for a while; ends with nothing told.
    async fn listen_to_learnt(
        &self,
        session: &mut Session,
        missing: &[MissingPermission],
    ) -> Result<(), Trouble> {
        let until = Instant::now() + ALL_AGAIN;
        let mut learnt = self.feed().inbox.learnt();
        while Instant::now() < until {
            session.stop_tracking().await?;
            let starts: Arc<[Vec<u8>]> = learnt.borrow_and_update().clone();
            if !starts.is_empty() {
                session
                    .track(&starts)
                    .await?
                    .map_err(|error| Trouble::of(&error))?;
            }
            let told = format!(
                "the server writes more than {MOST_NAMES_A_SECOND} keys a second, so only names that begin like known \
                 locks are told ({}); others are looked at every second",
                words(&starts)
            );
            self.rise(
                FeedLevel::Tracking,
                told,
                Covers::Prefixes(starts),
                missing.to_vec(),
            );
            loop {
                tokio::select! {
                    changed = learnt.changed() => {
                        changed.map_err(|_| Trouble::down("the group is let go"))?;
                        break;
                    }
                    () = sleep_until(until) => break,
                    second = self.one_second(session) => second?,
                }
            }
        }
        session.stop_tracking().await
    }

    /// Changes are told from now on. What happened before has to be looked at.
    fn rise(
        &self,
        level: FeedLevel,
        told: String,
        covers: Covers,
        missing: Vec<MissingPermission>,
    ) {
        let now = self.clock().steady();
        *self.feed().locked() = FeedState {
            level,
            reason: Some(told),
            covers,
            since: now,
            missing,
        };
        self.feed().has_a_gap(now);
        self.feed().settle();
    }

    /// Nothing is told, because of this.
    fn sink(&self, reason: String, missing: Option<Vec<MissingPermission>>) {
        let mut state = self.feed().locked();
        state.level = FeedLevel::Poll;
        state.reason = Some(reason);
        state.covers = Covers::Nothing;
        if let Some(missing) = missing {
            state.missing = missing;
        }
        drop(state);
        self.feed().settle();
    }

    pub(in super::super) fn acl_user(&self) -> String {
        self.reach.acl_user()
    }
}

/// Whether these flags of `notify-keyspace-events` have every event of a lock told with its name.
fn tells_everything(flags: &str) -> bool {
    let has = |flag| flags.contains(flag);
    has('K') && (has('A') || ['g', '$', 'x', 'h', 'z', 'l'].into_iter().all(has))
}

fn words(starts: &[Vec<u8>]) -> String {
    let texts: Vec<_> = starts
        .iter()
        .map(|start| String::from_utf8_lossy(start).into_owned())
        .collect();
    texts.join(", ")
}
