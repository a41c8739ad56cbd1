//! What has been observed: the board, its changes, and a way to look at one lock right now.

mod contention;
mod due;
pub mod event;
mod fold;
mod full;
mod history;
mod holders;
mod inspection;
mod lately;
mod lead;
mod merge;
mod observer;
mod pace;
mod published;
mod queries;
mod registries;
mod renewed_here;
mod renewing;
mod report;
mod seats;
mod semaphores;
mod snapshot;
pub mod stream;
mod subscription;
mod survey;
mod told;
mod views;
mod wants;
mod watched;
mod watcher;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{
    Answer, Change, Fingerprint, GroupView, History, Lock, LockId, LockKey, MonitorSample,
    NodeAnswer, Timestamp,
};
use crate::server::clock::{Clock, Steady};
use crate::server::config::Naming;
use crate::server::nodes::{Group, Look, coverage_before_the_first_pass};
use contention::Contention;
use event::EventId;
use full::LatestFull;
use history::Histories;
use merge::Entry;
use observer::Observer;
use queries::Queries;
use renewed_here::RenewedHere;
use report::Report;
use seats::Seats;
use semaphores::Semaphores;
pub use snapshot::IndexSnapshot;
use stream::Stream;
pub use subscription::{Subject, Subscription};
pub use survey::Survey;
use views::ViewCache;
use wants::Wants;
pub use watched::Watched;

/// So many locks that something was done to are kept in mind for the next look.
const ACTED_AT_ONCE: usize = 512;

/// A cheap handle to everything that has been observed.
#[derive(Clone)]
pub struct Index {
    stream: Arc<Stream>,
    queries: Queries,
    views: ViewCache,
    full: LatestFull,
    reports: mpsc::Sender<Report>,
    seats: Seats,
    wants: Arc<Wants>,
    contention: Arc<Contention>,
    gone: broadcast::WeakSender<LockId>,
    histories: Arc<Histories>,
    renewed_here: Arc<RenewedHere>,
    semaphores: Arc<Semaphores>,
    clock: Clock,
}

/// What a fresh look at one lock showed.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The lock as it stands on the board now; nothing where it is not observed.
    pub lock: Option<Lock>,
    /// What each configured node answered.
    pub nodes: Vec<NodeAnswer>,
}

impl Index {
    /// Starts observing the groups; ends when `stop` is cancelled.
    pub fn start(
        groups: &[Arc<Group>],
        clock: Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        let index = Self::quiet(groups, clock, stop, tasks);
        for group in groups {
            index.watch(group, stop, tasks);
        }
        index
    }

    /// Begins to observe a group; ends when `stop` is cancelled.
    pub fn watch(&self, group: &Arc<Group>, stop: &CancellationToken, tasks: &TaskTracker) {
        let (acted, inbox) = mpsc::channel(ACTED_AT_ONCE);
        self.seats.put(group, Some(acted));
        let (index, group) = (self.clone(), Arc::clone(group));
        tasks.spawn(contention::sense_all(
            index.clone(),
            Arc::clone(&group),
            stop.clone(),
        ));
        tasks.spawn(watcher::watch(index, group, inbox, stop.clone()));
    }

    /// These are the groups from now on. The locks of those that are gone, or that are named as changed, leave the board; everybody
    /// who watches is told the whole board anew.
    pub async fn replace_groups(&self, groups: &[Arc<Group>], changed: &[String]) {
        let names: Vec<&str> = groups
            .iter()
            .map(|group| group.config.name.as_str())
            .collect();
        self.seats.keep(&names);
        let report = Report::Groups {
            views: groups.iter().map(|group| view_of(group)).collect(),
            changed: changed.to_vec(),
        };
        // Fails only while the server stops: then nobody watches any more.
        let _stopping = self.reports.send(report).await;
    }

    /// The same without watchers: nothing is scanned, and only what is asked for is looked at.
    pub fn quiet(
        groups: &[Arc<Group>],
        clock: Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        // The epoch of the changes is another one with every start.
        let first = EventId {
            epoch: clock.now().millis(),
            seq: 0,
        };
        let groups_at_first = groups.iter().map(|group| view_of(group)).collect();
        let first = IndexSnapshot::new(groups_at_first, first);
        let stream = Arc::new(Stream::new(first));
        let views = ViewCache::default();
        // A full queue slows the watchers down, and nobody else.
        let (reports, inbox) = mpsc::channel(64);
        let wants = Arc::new(Wants::default());
        let contention = Arc::new(Contention::new(Arc::clone(&wants)));
        let (gone, _) = broadcast::channel(1024);
        let gone_weak = gone.downgrade();
        let seats = Seats::default();
        for group in groups {
            seats.put(group, None);
        }
        let histories = Arc::new(Histories::new(clock.now()));
        let renewed_here = Arc::new(RenewedHere::default());
        let observer = Observer::new(
            Arc::clone(&stream),
            views.clone(),
            Arc::clone(&contention),
            gone,
            seats.clone(),
            Arc::clone(&histories),
            Arc::clone(&renewed_here),
        );
        tasks.spawn(observer.run(inbox, stop.clone()));
        Self {
            stream,
            queries: Queries::default(),
            views,
            full: LatestFull::default(),
            reports,
            seats,
            wants,
            contention,
            gone: gone_weak,
            histories,
            renewed_here,
            semaphores: Arc::default(),
            clock,
        }
    }

    /// Goes over every node of a group once, for those who want to see its locks now and do not stay to watch. Ends when
    /// each node that can be asked had a whole pass, or at `deadline`; what was found is on the board then.
    pub async fn survey(&self, group: &Arc<Group>, deadline: tokio::time::Instant) -> Survey {
        survey::survey(self.clone(), Arc::clone(group), deadline).await
    }

    /// Waits until everything that was reported so far is on the board: reports are taken in order, and one about no
    /// lock has no answer.
    async fn is_told(&self) {
        let (reply, answer) = oneshot::channel();
        let report = Report::Looked {
            group: String::new(),
            asked: self.clock.moment(),
            entries: Vec::new(),
            reply: Some(reply),
        };
        if self.reports.send(report).await.is_ok() {
            let _never_answered = answer.await;
        }
    }

    /// What is observed, as it is now.
    pub fn snapshot(&self) -> Arc<IndexSnapshot> {
        self.stream.snapshot()
    }

    /// What is observed, and its changes.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The server's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The server's steady clock.
    pub fn steady(&self) -> Steady {
        self.clock.steady()
    }

    /// Has the nodes asked about a lock soon, because something was done to it. Never waits: under a flood of acts some
    /// locks are seen only when they are looked at anyway.
    pub fn look_soon(&self, id: &LockId) {
        let acted = self.seats.of(&id.group).and_then(|seat| seat.acted);
        if let Some(acted) = acted {
            // A full one drops it.
            let _full = acted.try_send(id.key.clone());
        }
    }

    /// Tells everybody who watches what is not seen on the nodes: that a lock was lost.
    pub async fn tell(&self, change: Change) {
        let report = Report::Told(Box::new(change));
        // Fails only while the server stops: then nobody watches any more.
        let _stopping = self.reports.send(report).await;
    }

    /// Has it remembered that an owner's lease was renewed through this console, so many times.
    pub fn renewed_here(&self, id: &LockId, owner: &Fingerprint, times: u32) {
        self.renewed_here.note(id, owner, times);
    }

    /// Has it remembered that an owner's lock was released by force, and not by itself.
    pub async fn forced(&self, id: &LockId, owner: &Fingerprint) {
        let report = Report::Forced {
            id: id.clone(),
            owner: owner.clone(),
            at: self.now(),
        };
        // Fails only while the server stops: then nobody asks any more.
        let _stopping = self.reports.send(report).await;
    }

    /// Who held this lock, as far as it was seen.
    pub fn history(&self, id: &LockId) -> History {
        self.histories.of(id, self.now())
    }

    /// Told of every lock that was seen to be gone; ends with the observer.
    pub fn gone(&self) -> broadcast::Receiver<LockId> {
        let ended = || broadcast::channel(1).1;
        self.gone
            .upgrade()
            .map_or_else(ended, |gone| gone.subscribe())
    }

    /// Takes what a sample showed as evidence.
    pub async fn sampled(&self, group: &str, sample: &MonitorSample) {
        if sample.failures_unknown.is_some() {
            return;
        }
        let now = self.steady();
        let window = std::time::Duration::from_millis(sample.took_ms);
        self.contention.sampled(group, &sample.locks, window, now);
        let report = Report::Signs {
            group: group.to_owned(),
            at: now,
            keys: sample.locks.iter().map(|lock| lock.key.clone()).collect(),
        };
        // Fails only while the server stops.
        let _stopping = self.reports.send(report).await;
    }

    /// Who wants which lock through this console.
    pub fn wants(&self) -> &Wants {
        &self.wants
    }

    /// One entry for each key of a look, by what the operator said about names and what is known of them besides.
    fn merged(&self, group: &Group, look: Look, keys: &[LockKey]) -> Vec<Entry> {
        let asked_at = look.asked.wall;
        let entries = self.recognised(group, look, keys);
        let (now, longest) = (Instant::now(), group.config.locking.longest_lease);
        let answers = entries.iter().flat_map(|entry| &entry.nodes);
        let leases = answers.filter_map(|node| match &node.answer {
            Answer::Holds { lease, .. } => Some(lease.remaining_ms(asked_at)),
            Answer::Absent | Answer::Unreachable { .. } => None,
        });
        // One that does not end by itself may be relied on for as long as any.
        let left = |left_ms: Option<u64>| left_ms.map_or(longest, Duration::from_millis);
        if let Some(most) = leases.map(left).max() {
            group.leases().note(most, now);
        }
        entries
    }

    fn recognised(&self, group: &Group, look: Look, keys: &[LockKey]) -> Vec<Entry> {
        let (naming, known) = (
            group.config.naming(),
            self.semaphores.pins(&group.config.name),
        );
        if known.is_empty() {
            return merge::merge(look, keys, naming);
        }
        let pins = [naming.pins, &known].concat();
        let naming = Naming {
            pins: &pins,
            ..naming
        };
        merge::merge(look, keys, naming)
    }

    /// Somebody waits for a permit of a semaphore of Redisson's.
    fn is_a_semaphore(&self, group: &Group, key: &LockKey) {
        let config = &group.config;
        let is_meant = config.outside(key.as_bytes()).is_none();
        if is_meant && self.semaphores.note(&config.name, key) {
            self.look_soon(&LockId {
                group: config.name.clone(),
                key: key.clone(),
            });
        }
    }
}

/// A group as it stands before anything was observed.
fn view_of(group: &Group) -> GroupView {
    let config = &group.config;
    GroupView {
        name: config.name.clone(),
        kind: config.kind,
        environment: config.environment,
        quorum: u32::try_from(group.quorum()).unwrap_or(u32::MAX),
        read_only: config.read_only,
        nodes: group.nodes(),
        coverage: coverage_before_the_first_pass(config),
        looked_at: None,
    }
}
