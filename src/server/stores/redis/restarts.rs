//! The file in the state directory that stores the restart history of nodes, so that after a
//! restart of the console it is still known which nodes came back without their data.
//!
//! Several processes may write it: each replaces the records of its own groups, under a file
//! lock. Commands only read it. An unreadable file is renamed, and every node with an uptime below
//! the longest lease is then assumed to have lost locks. If the file cannot be written, the console
//! logs a warning and continues; the history is then lost with the process.

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

use super::nodes::Group;
use super::nodes::restart_history::{NodeRecord, RestartHistory};
use crate::domain::Timestamp;
use crate::server::clock::Clock;
use crate::server::stores::{self, Store};

/// How often the file and the groups are checked for changes.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// Records of groups that no process updates are dropped after this time.
const RECORD_RETENTION: Duration = Duration::from_hours(24 * 30);

/// Unchanged records are rewritten after this time, so that they are not dropped.
const REFRESH_INTERVAL: Duration = Duration::from_hours(24);

/// Limits on the number of records and the size of the file, far above the number of nodes of
/// any console.
const MAX_RECORDS: usize = 16_384;
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct FileContent {
    version: u32,
    nodes: Vec<NodeRecord>,
}

const VERSION: u32 = 2;

/// The restart history file.
#[derive(Clone, Debug)]
pub struct RestartFile {
    path: PathBuf,
    clock: Clock,
}

impl RestartFile {
    /// The file need not exist.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { path, clock }
    }

    /// Loads the history. An unreadable file is renamed, and the history counts as lost.
    pub fn load_or_move_aside(&self) -> RestartHistory {
        match self.read_records() {
            Ok(records) => RestartHistory::from_records(records),
            Err(error) => {
                let aside = self.with_suffix(".broken");
                let moved = fs::rename(&self.path, &aside);
                let moved_to = moved.map(|()| aside.display().to_string());
                tracing::error!(
                    file = %self.path.display(),
                    moved_to = ?moved_to,
                    "restart history not readable: {error}. Nodes with an uptime below the longest lease are excluded from new locks until it has passed. Clear the restart hazard of nodes that lost no locks"
                );
                RestartHistory::unreadable()
            }
        }
    }

    /// Loads the history without renaming an unreadable file; for commands.
    pub fn load(&self) -> RestartHistory {
        match self.read_records() {
            Ok(records) => RestartHistory::from_records(records),
            Err(error) => {
                tracing::warn!(
                    file = %self.path.display(),
                    "restart history not readable: {error}"
                );
                RestartHistory::unreadable()
            }
        }
    }

    fn read_records(&self) -> io::Result<Vec<NodeRecord>> {
        let text = match File::open(&self.path) {
            Ok(file) if file.metadata()?.len() > MAX_FILE_BYTES => {
                return Err(io::Error::other(format!(
                    "it has more than {MAX_FILE_BYTES} bytes"
                )));
            }
            Ok(_) => fs::read_to_string(&self.path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let content: FileContent = serde_json::from_str(&text)?;
        if content.version != VERSION {
            return Err(io::Error::other(format!(
                "unsupported version {} (supported: {VERSION})",
                content.version
            )));
        }
        Ok(content.nodes)
    }

    /// Replaces the records of these groups and keeps those of other groups.
    pub fn replace_records(
        &self,
        groups: &BTreeSet<String>,
        mut records: Vec<NodeRecord>,
    ) -> io::Result<()> {
        let _lock = self.lock()?;
        let now = self.clock.now();
        // A file that has become unreadable is replaced: this process has newer records.
        let before = self.read_records().unwrap_or_default();
        for record in &mut records {
            // Keeps a clearance that was written to the file after these records were collected; the
            // next sync adopts it.
            let same_run = before.iter().find(|one| is_same_node(one, record));
            let cleared = same_run.and_then(|one| one.cleared_run_id.clone());
            if cleared.is_some() && cleared == record.run_id {
                record.cleared_run_id = cleared;
            }
        }
        let is_others = |record: &NodeRecord| {
            !groups.contains(&record.group) && now.since(record.recorded_at) < RECORD_RETENTION
        };
        records.extend(before.into_iter().filter(is_others));
        records.truncate(MAX_RECORDS);
        self.write(records)
    }

    /// Records that an operator cleared the restart hazard of the current run of a node.
    pub fn record_cleared_hazard(&self, record: NodeRecord) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut records = self.read_records().unwrap_or_default();
        match records.iter_mut().find(|one| is_same_node(one, &record)) {
            Some(known) => {
                known.cleared_run_id = record.cleared_run_id;
                known.recorded_at = record.recorded_at;
            }
            // Only a console knows the members of a group.
            None => records.push(NodeRecord {
                is_member: false,
                ..record
            }),
        }
        self.write(records)
    }

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
        // A separate file, because `write` replaces the data file and with it its lock.
        let lock = open_options().open(self.with_suffix(".lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Writes a temporary file and renames it, so that readers never see a partial file.
    fn write(&self, nodes: Vec<NodeRecord>) -> io::Result<()> {
        let new = self.with_suffix(".new");
        let content = FileContent {
            version: VERSION,
            nodes,
        };
        let text = serde_json::to_vec_pretty(&content)?;
        let mut file = open_options().truncate(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        // The rename is durable only after the directory is synced.
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn with_suffix(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options
}

fn is_same_node(one: &NodeRecord, other: &NodeRecord) -> bool {
    one.group == other.group && one.address == other.address
}

/// Keeps the file up to date, and adopts clearances that commands wrote to it, until `stop` is
/// cancelled.
pub async fn sync_restart_file(
    file: RestartFile,
    running_groups: impl Fn() -> Arc<Vec<Arc<stores::Group>>>,
    stop: CancellationToken,
) {
    let mut sync = RestartFileSync {
        file,
        written: Vec::new(),
        groups: BTreeSet::new(),
        written_at: None,
        modified: None,
        has_failed: false,
    };
    loop {
        // Read before the sync, so that there is a last sync after `stop`.
        let is_over = stop.is_cancelled();
        sync = match spawn_blocking({
            let groups = redis_groups(&running_groups());
            move || {
                sync.sync_once(&groups);
                sync
            }
        })
        .await
        {
            Ok(sync) => sync,
            Err(_stopping) => return,
        };
        if is_over {
            return;
        }
        let _over = stop.run_until_cancelled(sleep(SYNC_INTERVAL)).await;
    }
}

fn redis_groups(groups: &[Arc<stores::Group>]) -> Vec<Arc<Group>> {
    let redis = groups.iter().filter_map(|group| match group.store() {
        Store::Redis(redis) => Some(Arc::clone(redis)),
        Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => None,
    });
    redis.collect()
}

struct RestartFileSync {
    file: RestartFile,
    /// The records that were written last.
    written: Vec<NodeRecord>,
    groups: BTreeSet<String>,
    written_at: Option<Timestamp>,
    /// The modification time of the file after the last write or read.
    modified: Option<SystemTime>,
    has_failed: bool,
}

impl RestartFileSync {
    fn sync_once(&mut self, groups: &[Arc<Group>]) {
        let modified = self.file.modified();
        if modified != self.modified {
            self.modified = modified;
            self.adopt_cleared_hazards(groups);
        }
        let now = self.file.clock.now();
        let records: Vec<NodeRecord> = groups
            .iter()
            .flat_map(|group| group.node_records())
            .collect();
        let names: BTreeSet<String> = groups
            .iter()
            .map(|group| group.config.name.clone())
            .collect();
        let is_old = self
            .written_at
            .is_none_or(|at| now.since(at) >= REFRESH_INTERVAL);
        if !is_old && have_same_content(&self.written, &records) {
            return;
        }
        // Includes groups that were removed since the last write, so that their records are
        // deleted.
        self.groups.extend(names.iter().cloned());
        match self.file.replace_records(&self.groups, records.clone()) {
            Ok(()) => {
                self.written = records;
                self.groups = names;
                self.written_at = Some(now);
                self.modified = self.file.modified();
                self.has_failed = false;
            }
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                tracing::warn!(
                    file = %self.file.path.display(),
                    "restart history not writable: {error}. Make its directory writable; until then the history is lost when the console restarts"
                );
            }
            Err(_already_logged) => {}
        }
    }

    /// Another process wrote the file: adopts clearances of running nodes.
    fn adopt_cleared_hazards(&self, groups: &[Arc<Group>]) {
        let Ok(records) = self.file.read_records() else {
            return;
        };
        for record in records {
            let group = groups
                .iter()
                .find(|group| group.config.name == record.group);
            if let (Some(group), Some(run_id)) = (group, &record.cleared_run_id)
                && group.adopt_cleared_hazard(&record.address, run_id)
            {
                tracing::warn!(
                    group = record.group,
                    node = record.node,
                    "an operator cleared for the node on the command line; it accepts new locks again"
                );
            }
        }
    }
}

/// Whether two sets of records are equal except for `recorded_at`. Times are compared with a
/// tolerance of 1 s, because they are computed from clocks that drift.
fn have_same_content(before: &[NodeRecord], now: &[NodeRecord]) -> bool {
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
            fsyncs_every_write: false,
            hazard_until: None,
            ran_since: None,
            had_kept_everything: false,
            restarted_at: None,
            moved: None,
            cleared_run_id: None,
            is_member: true,
            recorded_at: Clock::system().now(),
        }
    }

    fn addresses(file: &RestartFile) -> Vec<String> {
        let history = file.load_or_move_aside();
        let records = history.records().iter();
        records.map(|record| record.address.clone()).collect()
    }

    #[test]
    fn each_process_replaces_the_records_of_its_own_groups() {
        let folder = tempfile::tempdir().unwrap();
        let file = RestartFile::new(folder.path().join("new/restarts.json"), Clock::system());
        assert!(addresses(&file).is_empty(), "the file does not exist yet");
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        file.replace_records(&names(&["a"]), vec![record("a", "h:1"), record("a", "h:2")])
            .unwrap();
        file.replace_records(&names(&["b"]), vec![record("b", "h:3")])
            .unwrap();
        file.replace_records(&names(&["a"]), vec![record("a", "h:2")])
            .unwrap();
        assert_eq!(addresses(&file), ["h:2", "h:3"]);
    }

    #[test]
    fn a_cleared_hazard_stays_cleared_until_the_redis_server_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let file = RestartFile::new(folder.path().join("restarts.json"), Clock::system());
        let names = BTreeSet::from(["a".to_owned()]);
        file.replace_records(&names, vec![record("a", "h:1")])
            .unwrap();
        let cleared = NodeRecord {
            cleared_run_id: Some("x".to_owned()),
            ..record("a", "h:1")
        };
        file.record_cleared_hazard(cleared).unwrap();
        let after = |run_id: &str| {
            let now = NodeRecord {
                run_id: Some(run_id.to_owned()),
                ..record("a", "h:1")
            };
            file.replace_records(&names, vec![now]).unwrap();
            file.load_or_move_aside().records()[0]
                .cleared_run_id
                .clone()
        };
        assert_eq!(after("x").as_deref(), Some("x"));
        assert_eq!(after("y"), None);
    }

    #[test]
    fn an_unreadable_file_is_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("restarts.json");
        let file = RestartFile::new(path.clone(), Clock::system());
        for text in ["{", "{\"version\":1,\"nodes\":[]}"] {
            fs::write(&path, text).unwrap();
            let history = file
                .load_or_move_aside()
                .for_node(&crate::server::config::GroupConfig::new("a", []), "h:1");
            assert!(history.is_unreadable);
            let aside = folder.path().join("restarts.json.broken");
            assert_eq!(fs::read_to_string(aside).unwrap(), text);
            assert!(!path.exists());
        }
    }
}
