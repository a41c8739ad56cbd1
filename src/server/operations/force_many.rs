//! Releasing many locks by force: each as if it were asked for alone, a few at a time, and each with an outcome of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde::Deserialize;
use utoipa::ToSchema;

use super::act::impossible;
use super::force::check_reason;
use super::{ForceRelease, Operations};
use crate::domain::bulk::MOST_AT_ONCE;
use crate::domain::{
    Fault, Fingerprint, Lock, LockId, LockKey, Picked, Place, Rehearsed, Released, SeenHold, Verb,
    View,
};
use crate::server::access::Actor;

/// So many are on their way at the same time: few enough for a node that serves others, too.
const TOGETHER: usize = 16;

/// What forced releases ask for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleases {
    /// Which locks, 1 to 500 of any groups.
    #[schema(min_items = 1, max_items = 500)]
    pub items: Vec<ForceItem>,
    /// Why they are broken.
    pub reason: String,
    /// `true`: nothing is done on any node, and the answer tells what would come of it.
    #[serde(default)]
    pub dry_run: bool,
}

/// One of the locks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceItem {
    /// The group's name.
    pub group: String,
    /// The lock's name.
    pub key: String,
    /// The lock's name as one percent-encoded path segment, for names that are not UTF-8; it wins.
    #[serde(default)]
    pub key_encoded: Option<String>,
    /// The fingerprint of the owner that was seen: anybody else is left alone.
    pub fingerprint: String,
    /// As for a single `force-release`: the lock's name once more, in `production` and where a release does harm.
    #[serde(default)]
    pub confirm: Option<String>,
    /// As for a single `force-release`: the hold that was seen.
    #[serde(default)]
    pub seen: SeenHold,
}

/// What became of one of the locks.
#[derive(Clone, Debug)]
pub struct ForcedItem {
    /// Which.
    pub id: LockId,
    /// For which owner.
    pub fingerprint: Fingerprint,
    /// What was done, or why nothing was.
    pub end: Result<Released, Fault>,
}

/// An item that can be understood.
#[derive(Clone)]
struct Condemned {
    id: LockId,
    fingerprint: Fingerprint,
    confirm: Option<String>,
    seen: SeenHold,
}

impl Operations {
    /// Releases these locks, or says of each what would come of it; in the order of the items.
    ///
    /// Whoever stops waiting stops it: what was begun comes to its end, and no other is begun.
    pub async fn force_releases(
        self: &Arc<Self>,
        actor: &Actor,
        request: ForceReleases,
    ) -> Result<Vec<ForcedItem>, Fault> {
        // Each item is asked about again, in its own group and by its own name.
        actor.may(Verb::ForceRelease, Place::console())?;
        let items = read(request.items)?;
        check_reason(&request.reason)?;
        let (reason, dry_run): (Arc<str>, bool) = (request.reason.into(), request.dry_run);
        let each = items.into_iter().map(|item| {
            let (operations, reason) = (Arc::clone(self), Arc::clone(&reason));
            let actor = actor.clone();
            let (id, fingerprint) = (item.id.clone(), item.fingerprint.clone());
            async move {
                let end = operations.force_one(&actor, &item, &reason, dry_run).await;
                ForcedItem {
                    id,
                    fingerprint,
                    end,
                }
            }
        });
        Ok(stream::iter(each).buffered(TOGETHER).collect().await)
    }

    /// The holds of a list that they may pick to be released in one go: the first ones, in its order.
    pub async fn pick(&self, actor: &Actor, mut view: View) -> Result<Vec<Picked>, Fault> {
        view.filter.sight = actor.rights().sight();
        let looking = self
            .index()
            .query(move |index, now| view.among(index.locks(), None, now).locks);
        let locks = looking.await?;
        let groups = self.all_groups();
        let may = |lock: &Lock| {
            let group = groups
                .iter()
                .find(|group| group.config.name == lock.id.group);
            group.is_some_and(|group| {
                let place = Place::lock(&lock.id).read_only(group.config.read_only);
                actor.may(Verb::ForceRelease, place).is_ok()
            })
        };
        let picked = locks.iter().filter(|lock| may(lock));
        let picked = picked.filter_map(|lock| lock.hold_to_pick());
        Ok(picked.take(MOST_AT_ONCE).collect())
    }

    /// Says of each of these locks what would come of releasing it; in their order. Nothing is touched, and nothing written down.
    pub async fn rehearse_releases(
        self: &Arc<Self>,
        actor: &Actor,
        picked: Vec<Picked>,
    ) -> Result<Vec<Rehearsed>, Fault> {
        let items = picked.into_iter().map(ForceItem::of).collect();
        let request = ForceReleases {
            items,
            reason: "to see what would happen".to_owned(),
            dry_run: true,
        };
        let ends = self.force_releases(actor, request).await?.into_iter();
        let rehearsed = ends.map(|ForcedItem { id, end, .. }| Rehearsed {
            id,
            end: end.map(|released| released.nodes),
        });
        Ok(rehearsed.collect())
    }

    async fn force_one(
        self: &Arc<Self>,
        actor: &Actor,
        item: &Condemned,
        reason: &str,
        dry_run: bool,
    ) -> Result<Released, Fault> {
        let request = ForceRelease {
            fingerprint: &item.fingerprint,
            seen: item.seen,
            reason,
            confirm: item.confirm.as_deref(),
        };
        if !dry_run {
            return self.force_release(actor, &item.id, request).await;
        }
        let nodes = self.rehearse_release(actor, &item.id, request).await?;
        Ok(Released {
            nodes,
            at: self.index().now(),
            holds: None,
            seen_after: None,
        })
    }
}

fn read(items: Vec<ForceItem>) -> Result<Vec<Condemned>, Fault> {
    let wrong = |detail: String| Err(impossible("items", detail));
    if items.is_empty() {
        return wrong("is empty; name the locks that are to be released".into());
    }
    if items.len() > MOST_AT_ONCE {
        let many = items.len();
        return wrong(format!(
            "has {many}; at most {MOST_AT_ONCE} are released in one go"
        ));
    }
    let items = items.into_iter().enumerate();
    let items: Vec<Condemned> = items
        .map(|(nth, item)| item.read(nth))
        .collect::<Result<_, _>>()?;
    let mut named = BTreeSet::new();
    let mut twice = items
        .iter()
        .filter(|item| !named.insert((&item.id, &item.fingerprint)));
    match twice.next() {
        None => Ok(items),
        Some(item) => {
            let (key, group) = (item.id.key.text(), &item.id.group);
            wrong(format!(
                "names {key:?} of {group:?} twice for the same owner"
            ))
        }
    }
}

impl ForceItem {
    /// What somebody picked on a page, who will be asked to confirm it there.
    fn of(picked: Picked) -> Self {
        let Picked {
            id,
            fingerprint,
            seen,
            label: _,
            format: _,
        } = picked;
        Self {
            key: id.key.text().into_owned(),
            key_encoded: Some(id.key.encoded()),
            confirm: Some(id.key.text().into_owned()),
            group: id.group,
            fingerprint: fingerprint.as_str().to_owned(),
            seen,
        }
    }

    fn read(self, nth: usize) -> Result<Condemned, Fault> {
        let wrong = |field: &str, detail: &str| {
            impossible(&format!("items[{nth}].{field}"), detail.to_owned())
        };
        let fingerprint = Fingerprint::parse(&self.fingerprint)
            .ok_or_else(|| wrong("fingerprint", "must be 16 hex digits"))?;
        let key = match &self.key_encoded {
            None => LockKey::new(self.key),
            Some(encoded) => LockKey::decode(encoded).ok_or_else(|| {
                wrong(
                    "key_encoded",
                    "has a `%` that is not followed by two hex digits",
                )
            })?,
        };
        Ok(Condemned {
            id: LockId {
                group: self.group,
                key,
            },
            fingerprint,
            confirm: self.confirm,
            seen: self.seen,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &str, fingerprint: &str) -> ForceItem {
        ForceItem {
            group: "orders".into(),
            key: key.into(),
            key_encoded: None,
            fingerprint: fingerprint.into(),
            confirm: None,
            seen: SeenHold::default(),
        }
    }

    const ONE: &str = "0123456789abcdef";
    const OTHER: &str = "1123456789abcdef";

    #[test]
    fn a_list_has_some_locks_not_too_many_and_each_owner_once() {
        let many = |n: usize| (0..n).map(|n| item(&n.to_string(), ONE)).collect();
        let broken = ForceItem {
            key_encoded: Some("%F".into()),
            ..item("a", ONE)
        };
        for (items, wrong) in [
            (vec![], Some("items: is empty")),
            (many(1), None),
            (many(MOST_AT_ONCE), None),
            (many(MOST_AT_ONCE + 1), Some("items: has 501; at most 500")),
            (
                vec![item("a", ONE), item("a", ONE)],
                Some("items: names \"a\" of \"orders\" twice"),
            ),
            (vec![item("a", ONE), item("a", OTHER)], None),
            (
                vec![item("a", ONE), item("b", "nobody")],
                Some("items[1].fingerprint: must be"),
            ),
            (vec![broken], Some("items[0].key_encoded: has a `%`")),
        ] {
            let said = read(items).err().map(|fault| fault.to_string());
            let is_as_wanted = match (&said, wrong) {
                (None, None) => true,
                (Some(said), Some(wrong)) => said.starts_with(wrong),
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(is_as_wanted, "{said:?}, not {wrong:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_given_encoded() {
        let binary = ForceItem {
            key_encoded: Some("lock%FF".into()),
            ..item("lock%FF", ONE)
        };
        let read = read(vec![binary, item("lock%FF", ONE)]).unwrap();
        assert_eq!(read[0].id.key, LockKey::new(*b"lock\xff"));
        assert_eq!(read[1].id.key, LockKey::from("lock%FF"));
    }
}
