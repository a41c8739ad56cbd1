//! The file in the state directory that keeps what is known of nodes' restarts, so that a restart of the console does not
//! forget which nodes came back empty.
//!
//! Several programs may write it: each replaces the records of its own groups under a lock of the file system. Calls from the
//! command line read it. A file that cannot be read is kept aside, and nodes that have not been running for the longest
//! lease are then taken to have lost locks. Where it cannot be written, the console says so and goes on: what it knows then
//! ends with it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::nodes::Group;
use super::nodes::history::{NodeRecord, RestartHistory};
use super::operations::Operations;
use crate::domain::Timestamp;

/// How often it is looked whether there is something to write or to read.
const EVERY: Duration = Duration::from_millis(500);

/// Records of groups that nobody writes any more are dropped after this.
const REMEMBERED: Duration = Duration::from_hours(24 * 30);

/// Records are written again after this, although they are the same, so that they are not dropped.
const REFRESHED: Duration = Duration::from_hours(24);

/// The most records that a file may have, and its size: far more than any console has nodes.
const MOST_RECORDS: usize = 16_384;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The file's content.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    nodes: Vec<NodeRecord>,
}

const VERSION: u32 = 1;

/// The file with the records.
#[derive(Clone, Debug)]
pub struct RestartFile {
    path: PathBuf,
    clock: Clock,
}

impl RestartFile {
    /// The file at this path; it need not exist.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { path, clock }
    }

    /// What is known from before. A file that cannot be read is kept aside.
    pub fn read(&self) -> RestartHistory {
        match self.records() {
            Ok(records) => RestartHistory::of(records),
            Err(why) => {
                let aside = self.beside(".broken");
                let kept = fs::rename(&self.path, &aside);
                let kept = kept.map(|()| aside.display().to_string());
                tracing::error!(
                    file = %self.path.display(),
                    kept_as = ?kept,
                    "the record of restarts cannot be read: {why}. Nodes that started within the longest lease take no new locks until it is over; vouch for those that lost nothing"
                );
                RestartHistory::lost()
            }
        }
    }

    /// The same for a command, which leaves the file as it is.
    pub fn peek(&self) -> RestartHistory {
        match self.records() {
            Ok(records) => RestartHistory::of(records),
            Err(why) => {
                tracing::warn!(
                    file = %self.path.display(),
                    "the record of restarts cannot be read: {why}"
                );
                RestartHistory::lost()
            }
        }
    }

    fn records(&self) -> io::Result<Vec<NodeRecord>> {
        let text = match File::open(&self.path) {
            Ok(file) if file.metadata()?.len() > MOST_BYTES => {
                return Err(io::Error::other(format!(
                    "it has more than {MOST_BYTES} bytes"
                )));
            }
            Ok(_) => fs::read_to_string(&self.path)?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let content: Content = serde_json::from_str(&text)?;
        if content.version != VERSION {
            return Err(io::Error::other(format!(
                "its version is {}, and this program reads version {VERSION}",
                content.version
            )));
        }
        Ok(content.nodes)
    }

    /// Writes the records of these groups; those of others stay.
    pub fn replace(
        &self,
        groups: &BTreeSet<String>,
        mut records: Vec<NodeRecord>,
    ) -> io::Result<()> {
        let _until_written = self.lock()?;
        let now = self.clock.now();
        // A file that became unreadable meanwhile is replaced: what this program knows is newer.
        let before = self.records().unwrap_or_default();
        for record in &mut records {
            // Whoever vouched through the file while this was collected is heard at the next round.
            let same_run = before.iter().find(|one| is_same(one, record));
            let vouched = same_run.and_then(|one| one.vouched_run_id.clone());
            if vouched.is_some() && vouched == record.run_id {
                record.vouched_run_id = vouched;
            }
        }
        let is_others = |record: &NodeRecord| {
            !groups.contains(&record.group) && now.since(record.recorded_at) < REMEMBERED
        };
        records.extend(before.into_iter().filter(is_others));
        records.truncate(MOST_RECORDS);
        self.write(records)
    }

    /// Notes that an operator vouches for a node as it runs now.
    pub fn vouch(&self, record: NodeRecord) -> io::Result<()> {
        let _until_written = self.lock()?;
        let mut records = self.records().unwrap_or_default();
        match records.iter_mut().find(|one| is_same(one, &record)) {
            Some(known) => {
                known.vouched_run_id = record.vouched_run_id;
                known.recorded_at = record.recorded_at;
            }
            // Which nodes a group has, only a console says.
            None => records.push(NodeRecord {
                is_member: false,
                ..record
            }),
        }
        self.write(records)
    }

    /// When it was last written.
    fn modified(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).ok()?.modified().ok()
    }

    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let lock = options().open(self.beside(".lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Written beside it, then put in its place: whoever reads it finds all of it.
    fn write(&self, nodes: Vec<NodeRecord>) -> io::Result<()> {
        let new = self.beside(".new");
        let content = Content {
            version: VERSION,
            nodes,
        };
        let text = serde_json::to_vec_pretty(&content)?;
        let mut file = options().truncate(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options
}

fn is_same(one: &NodeRecord, other: &NodeRecord) -> bool {
    one.group == other.group && one.address == other.address
}

/// Keeps the file as the groups are, and hears of nodes that were vouched for through it, until `stop` is cancelled.
pub async fn keep(file: RestartFile, operations: Arc<Operations>, stop: CancellationToken) {
    let mut keeper = Keeper {
        file,
        written: Vec::new(),
        groups: BTreeSet::new(),
        written_at: None,
        modified: None,
        has_failed: false,
    };
    loop {
        let is_over = stop.is_cancelled();
        keeper = match spawn_blocking({
            let groups = operations.running_groups();
            move || {
                keeper.round(&groups);
                keeper
            }
        })
        .await
        {
            Ok(keeper) => keeper,
            Err(_stopping) => return,
        };
        if is_over {
            return;
        }
        let _over = stop.run_until_cancelled(sleep(EVERY)).await;
    }
}

struct Keeper {
    file: RestartFile,
    /// What was written last, and when.
    written: Vec<NodeRecord>,
    groups: BTreeSet<String>,
    written_at: Option<Timestamp>,
    /// The file's own time then.
    modified: Option<SystemTime>,
    has_failed: bool,
}

impl Keeper {
    fn round(&mut self, groups: &[Arc<Group>]) {
        let modified = self.file.modified();
        if modified != self.modified {
            self.modified = modified;
            self.hear(groups);
        }
        let now = self.file.clock.now();
        let records: Vec<NodeRecord> = groups.iter().flat_map(|group| group.records()).collect();
        let names: BTreeSet<String> = groups
            .iter()
            .map(|group| group.config.name.clone())
            .collect();
        let is_old = self.written_at.is_none_or(|at| now.since(at) >= REFRESHED);
        if !is_old && are_alike(&self.written, &records) {
            return;
        }
        // Groups that are gone are written without records.
        self.groups.extend(names.iter().cloned());
        match self.file.replace(&self.groups, records.clone()) {
            Ok(()) => {
                self.written = records;
                self.groups = names;
                self.written_at = Some(now);
                self.modified = self.file.modified();
                self.has_failed = false;
            }
            Err(why) if !self.has_failed => {
                self.has_failed = true;
                tracing::warn!(
                    file = %self.file.path.display(),
                    "the record of restarts cannot be written: {why}. Make its folder writable; until then a restart of the console forgets which nodes came back empty"
                );
            }
            Err(_already_said) => {}
        }
    }

    /// Somebody else wrote the file.
    fn hear(&self, groups: &[Arc<Group>]) {
        let Ok(records) = self.file.records() else {
            return;
        };
        for record in records {
            let group = groups
                .iter()
                .find(|group| group.config.name == record.group);
            if let (Some(group), Some(run_id)) = (group, &record.vouched_run_id)
                && group.adopt_vouch(&record.address, run_id)
            {
                tracing::warn!(
                    group = record.group,
                    node = record.node,
                    "an operator vouched for the node on the command line: it takes new locks again"
                );
            }
        }
    }
}

/// Whether two sets of records differ in nothing but when they were made. Moments are told by clocks that drift.
fn are_alike(before: &[NodeRecord], now: &[NodeRecord]) -> bool {
    let is_near = |one: Option<Timestamp>, other: Option<Timestamp>| match (one, other) {
        (Some(one), Some(other)) => one.millis_since(other).abs() < 1_000,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    before.len() == now.len()
        && before.iter().zip(now).all(|(one, other)| {
            is_near(one.hazard_until, other.hazard_until)
                && is_near(one.ran_since, other.ran_since)
                && *one
                    == NodeRecord {
                        hazard_until: one.hazard_until,
                        ran_since: one.ran_since,
                        recorded_at: one.recorded_at,
                        ..other.clone()
                    }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(group: &str, address: &str) -> NodeRecord {
        NodeRecord {
            group: group.to_owned(),
            node: "a".to_owned(),
            address: address.to_owned(),
            run_id: Some("x".to_owned()),
            keeps_every_write: false,
            hazard_until: None,
            ran_since: None,
            had_kept_everything: false,
            restarted_at: None,
            moved: None,
            vouched_run_id: None,
            is_member: true,
            recorded_at: Clock::real().now(),
        }
    }

    fn addresses(file: &RestartFile) -> Vec<String> {
        let history = file.read();
        let records = history.records().iter();
        records.map(|record| record.address.clone()).collect()
    }

    #[test]
    fn each_program_replaces_the_records_of_its_own_groups() {
        let folder = tempfile::tempdir().unwrap();
        let file = RestartFile::new(folder.path().join("new/restarts.json"), Clock::real());
        assert!(addresses(&file).is_empty(), "there is none yet");
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        file.replace(&names(&["a"]), vec![record("a", "h:1"), record("a", "h:2")])
            .unwrap();
        file.replace(&names(&["b"]), vec![record("b", "h:3")])
            .unwrap();
        file.replace(&names(&["a"]), vec![record("a", "h:2")])
            .unwrap();
        assert_eq!(addresses(&file), ["h:2", "h:3"]);
    }

    #[test]
    fn who_is_vouched_for_stays_so_while_the_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = RestartFile::new(folder.path().join("restarts.json"), Clock::real());
        let names = BTreeSet::from(["a".to_owned()]);
        file.replace(&names, vec![record("a", "h:1")]).unwrap();
        let vouched = NodeRecord {
            vouched_run_id: Some("x".to_owned()),
            ..record("a", "h:1")
        };
        file.vouch(vouched).unwrap();
        let after = |run_id: &str| {
            let now = NodeRecord {
                run_id: Some(run_id.to_owned()),
                ..record("a", "h:1")
            };
            file.replace(&names, vec![now]).unwrap();
            file.read().records()[0].vouched_run_id.clone()
        };
        assert_eq!(after("x").as_deref(), Some("x"));
        assert_eq!(after("y"), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("restarts.json");
        let file = RestartFile::new(path.clone(), Clock::real());
        for text in ["{", "{\"version\":2,\"nodes\":[]}"] {
            fs::write(&path, text).unwrap();
            let history = file
                .read()
                .of_node(&crate::server::config::GroupConfig::new("a", []), "h:1");
            assert!(history.is_lost);
            let aside = folder.path().join("restarts.json.broken");
            assert_eq!(fs::read_to_string(aside).unwrap(), text);
            assert!(!path.exists());
        }
    }
}
