//! What is known of who else wants a lock: what the sensors of the nodes tell, and who asked this console for it.

mod sensing;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::wants::Wants;
use crate::domain::{Evidence, LockId, LockKey, SampledLock};
use crate::server::clock::Steady;
use crate::server::nodes::touch::{Blind, Figure};
use crate::server::nodes::waiters::Waiters;
pub(super) use sensing::sense_all;

/// What a sample showed is told for so long.
const SAMPLE_HOLDS_FOR: Duration = Duration::from_mins(1);

/// The signs of contention of all locks that have any.
#[derive(Debug)]
pub(super) struct Contention {
    wants: Arc<Wants>,
    signs: Mutex<HashMap<LockId, Signs>>,
}

/// The signs of one lock.
#[derive(Debug, Default)]
struct Signs {
    /// By the node's place in the configuration.
    nodes: BTreeMap<usize, OfNode>,
    sample: Option<Sample>,
    /// Somebody touched the lock and has perhaps been blocking since: those who block are told of until none does.
    somebody_came: bool,
}

/// What one node shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfNode {
    touch: Figure,
    waiters: Waiters,
    doubt: Option<Blind>,
}

#[derive(Debug)]
struct Sample {
    until: Steady,
    failed: u64,
    window: Duration,
}

impl OfNode {
    fn is_nothing(&self) -> bool {
        self.touch.contended == 0 && self.waiters == Waiters::default() && self.doubt.is_none()
    }

    /// Whether people would see no difference: a window that grows is told with the next figure.
    fn looks_like(&self, other: &Self) -> bool {
        let window = self.touch.watched.abs_diff(other.touch.watched);
        self.touch.contended == other.touch.contended
            && (self.touch.contended == 0 || window < 5)
            && self.waiters == other.waiters
            && self.doubt == other.doubt
    }
}

impl Contention {
    pub(super) fn new(wants: Arc<Wants>) -> Self {
        Self {
            wants,
            signs: Mutex::default(),
        }
    }

    /// What is known about this lock, and why touches cannot be told if that is so for each node that has it.
    pub(super) fn evidence(&self, id: &LockId, now: Steady) -> (Vec<Evidence>, Option<String>) {
        let mut signs = self.signs();
        let Some(signs) = signs.get_mut(id) else {
            return (self.wants.evidence(id, 0, now), None);
        };
        let most = |figure: fn(&OfNode) -> u64| signs.nodes.values().map(figure).max().unwrap_or(0);
        // Whoever wants a lock of several nodes asks each of them: they are the same ones.
        let queue = most(|node| node.waiters.queue);
        let subscribers = most(|node| node.waiters.subscribers);
        let mut evidence = self.wants.evidence(id, queue, now);
        if subscribers > 0 {
            evidence.push(sign("subscribers", subscribers, Duration::ZERO));
        }
        let touched = signs.nodes.values().map(|node| node.touch);
        if let Some(touch) = touched
            .max_by_key(|touch| touch.contended)
            .filter(|touch| touch.contended > 0)
        {
            let window = Duration::from_secs(touch.watched.into());
            evidence.push(sign("idle-touch", touch.contended.into(), window));
        }
        let blocked = most(|node| node.waiters.blocked);
        let is_touched = evidence.iter().any(|sign| sign.kind == "idle-touch");
        signs.somebody_came = blocked > 0 && (signs.somebody_came || is_touched);
        if signs.somebody_came {
            evidence.push(sign("blocked", blocked, Duration::ZERO));
        }
        signs.sample.take_if(|sample| sample.until < now);
        if let Some(sample) = signs.sample.as_ref().filter(|sample| sample.failed > 0) {
            evidence.push(sign("monitor-sample", sample.failed, sample.window));
        }
        let mut doubts = signs.nodes.values().map(|node| node.doubt);
        let doubt = doubts
            .next()
            .flatten()
            .filter(|_| doubts.all(|doubt| doubt.is_some()));
        (evidence, doubt.map(Blind::words))
    }

    /// A sample of what clients do showed this.
    pub(super) fn sampled(
        &self,
        group: &str,
        locks: &[SampledLock],
        window: Duration,
        now: Steady,
    ) {
        let mut signs = self.signs();
        for lock in locks.iter().filter(|lock| lock.failed > 0) {
            let id = LockId {
                group: group.to_owned(),
                key: lock.key.clone(),
            };
            signs.entry(id).or_default().sample = Some(Sample {
                until: now.plus(SAMPLE_HOLDS_FOR),
                failed: lock.failed,
                window,
            });
        }
    }

    /// Forgets a lock that is gone.
    pub(super) fn forget(&self, id: &LockId) {
        self.signs().remove(id);
    }

    /// What a node showed of a lock before.
    fn of_node(&self, group: &str, key: &LockKey, place: usize) -> OfNode {
        let id = LockId {
            group: group.to_owned(),
            key: key.clone(),
        };
        let signs = self.signs();
        let node = signs.get(&id).and_then(|signs| signs.nodes.get(&place));
        node.copied().unwrap_or_default()
    }

    /// Takes what one node showed of a lock. Whether that looks different.
    fn note(&self, group: &str, key: &LockKey, place: usize, now: OfNode) -> bool {
        let id = LockId {
            group: group.to_owned(),
            key: key.clone(),
        };
        let mut all = self.signs();
        let Some(signs) = all.get_mut(&id) else {
            if now.is_nothing() {
                return false;
            }
            all.entry(id).or_default().nodes.insert(place, now);
            return true;
        };
        let before = signs.nodes.get(&place).copied().unwrap_or_default();
        let differs = !now.looks_like(&before);
        if now.is_nothing() {
            signs.nodes.remove(&place);
            if signs.nodes.is_empty() && signs.sample.is_none() {
                all.remove(&id);
            }
        } else if differs {
            signs.nodes.insert(place, now);
        }
        differs
    }

    /// What a node showed of touches counts no longer. The locks of which it had shown any.
    fn forget_touches(&self, group: &str, place: usize) -> Vec<LockKey> {
        let mut changed = Vec::new();
        for (id, signs) in self.signs().iter_mut() {
            if id.group == group
                && let Some(node) = signs.nodes.get_mut(&place)
                && (node.touch.contended > 0 || node.doubt.is_some())
            {
                node.touch = Figure::default();
                node.doubt = None;
                changed.push(id.key.clone());
            }
        }
        changed
    }

    fn signs(&self) -> MutexGuard<'_, HashMap<LockId, Signs>> {
        self.signs.lock()
    }
}

fn sign(kind: &str, value: u64, window: Duration) -> Evidence {
    Evidence {
        kind: kind.to_owned(),
        value,
        window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_show_the_same_contenders_and_those_in_our_own_line_are_others() {
        let wants = Arc::new(Wants::default());
        let contention = Contention::new(Arc::clone(&wants));
        let now = Steady::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let told = || {
            let (evidence, doubt) = contention.evidence(&id, now);
            let words = evidence.into_iter();
            let words = words.map(|one| format!("{} {} {}", one.kind, one.value, one.window_ms));
            (words.collect::<Vec<_>>().join(", "), doubt)
        };
        let of_node = |contended, queue| OfNode {
            touch: Figure {
                contended,
                watched: 60,
            },
            waiters: Waiters {
                queue,
                subscribers: 1,
                blocked: 0,
            },
            doubt: None,
        };
        assert!(contention.note("default", &id.key, 0, of_node(7, 2)));
        assert!(!contention.note("default", &id.key, 0, of_node(7, 2)));
        assert!(contention.note("default", &id.key, 1, of_node(6, 2)));
        wants.waiting(&id, 3, 0);
        let all = "queue 5 0, subscribers 1 0, idle-touch 7 60000";
        assert_eq!(told(), (all.to_owned(), None));
        let blind = OfNode {
            doubt: Some(Blind::SharedNumber),
            ..OfNode::default()
        };
        contention.note("default", &id.key, 0, blind);
        assert!(told().1.is_none(), "one node can still tell");
        contention.note("default", &id.key, 1, blind);
        assert!(told().1.is_some());
        assert_eq!(
            contention.forget_touches("default", 0),
            vec![id.key.clone()]
        );
        contention.forget(&id);
        assert_eq!(told().0, "queue 3 0");
    }

    #[test]
    fn who_blocks_counts_from_when_somebody_came_until_nobody_does() {
        let contention = Contention::new(Arc::default());
        let now = Steady::default();
        let id = LockId {
            group: "default".into(),
            key: "lock:a".into(),
        };
        let told = |contended, blocked| {
            let shown = OfNode {
                touch: Figure {
                    contended,
                    watched: 60,
                },
                waiters: Waiters {
                    blocked,
                    ..Waiters::default()
                },
                doubt: None,
            };
            contention.note("default", &id.key, 0, shown);
            let evidence = contention.evidence(&id, now).0.into_iter();
            let words = evidence.map(|one| format!("{} {}", one.kind, one.value));
            words.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(0, 5), "", "they wait for jobs, as always");
        assert_eq!(told(1, 6), "idle-touch 1, blocked 6");
        assert_eq!(told(0, 6), "blocked 6", "it came a while ago, and waits");
        assert_eq!(told(0, 0), "");
        assert_eq!(told(0, 5), "");
    }
}
