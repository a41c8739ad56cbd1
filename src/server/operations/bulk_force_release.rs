//! Bulk force-release: each lock is released as by a single request, with limited concurrency and a
//! result of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde::Deserialize;
use utoipa::ToSchema;

use super::force_release::check_reason;
use super::{ForceReleaseRequest, Operations};
use crate::domain::bulk_release::MAX_BULK_RELEASE;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{
    AdviceLevel, Fingerprint, Lock, LockId, LockKey, ObservedHold, OperationError, Permission,
    ReleaseDryRun, ReleaseMethod, ReleaseResult, ReleaseTarget, Scope, WindowQuery,
};
use crate::server::access::Principal;

/// The number of concurrent releases, limited so that the nodes can still serve other clients.
const MAX_CONCURRENT: usize = 16;

/// A bulk force-release request.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceReleases {
    /// 1 to 500 locks of any groups.
    #[schema(min_items = 1, max_items = 500)]
    pub items: Vec<ForceItem>,
    /// The reason for the release.
    pub reason: String,
    /// If `true`, nothing is changed on any node, and the response contains the expected outcome.
    #[serde(default)]
    pub dry_run: bool,
}

/// One lock of a bulk force-release.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceItem {
    /// The group's name.
    pub group: String,
    /// The lock's name.
    pub key: String,
    /// The lock's name as one percent-encoded path segment, for names that are not UTF-8. Takes
    /// precedence over `key`.
    #[serde(default)]
    pub key_encoded: Option<String>,
    /// The fingerprint of the expected owner. A lock of any other owner is left alone.
    pub fingerprint: String,
    /// As for a single `force-release`: the lock's name as confirmation, in `production` and for
    /// formats in which a release does harm.
    #[serde(default)]
    pub confirm: Option<String>,
    /// The hold that the client observed, as in a single `force-release`.
    #[serde(default)]
    pub expected_hold: ObservedHold,
}

/// The result for one lock.
#[derive(Clone, Debug)]
pub struct ForceItemResult {
    /// The lock.
    pub id: LockId,
    /// The expected owner.
    pub fingerprint: Fingerprint,
    /// The release, or the error.
    pub result: Result<ReleaseResult, OperationError>,
    /// In a dry run, whether the owner shows signs of life; `None` if nothing would be released.
    pub advice: Option<AdviceLevel>,
}

/// A parsed item.
#[derive(Clone)]
struct ParsedForceItem {
    id: LockId,
    fingerprint: Fingerprint,
    confirm: Option<String>,
    expected_hold: ObservedHold,
}

impl Operations {
    /// Force-releases these locks, or with `dry_run` returns the expected outcomes, in the order of
    /// the items.
    ///
    /// If the caller disconnects, releases in progress are completed and no further one is started.
    pub async fn bulk_force_release(
        self: &Arc<Self>,
        principal: &Principal,
        request: ForceReleases,
    ) -> Result<Vec<ForceItemResult>, OperationError> {
        // Each item is authorized again for its own group and lock.
        principal.authorize(Permission::ForceRelease, Scope::console())?;
        let items = parse_items(request.items)?;
        check_reason(&request.reason)?;
        let (reason, dry_run): (Arc<str>, bool) = (request.reason.into(), request.dry_run);
        let releases = items.into_iter().map(|item| {
            let (operations, reason) = (Arc::clone(self), Arc::clone(&reason));
            let principal = principal.clone();
            let (id, fingerprint) = (item.id.clone(), item.fingerprint);
            async move {
                let result = operations
                    .force_release_item(&principal, &item, &reason, dry_run)
                    .await;
                let may_release = match &result {
                    Ok(_) => true,
                    Err(error) => matches!(error, OperationError::PartlyReleased { .. }),
                };
                let advice = match dry_run && may_release {
                    true => operations.advise_item(&principal, &item).await,
                    false => None,
                };
                ForceItemResult {
                    id,
                    fingerprint,
                    result,
                    advice,
                }
            }
        });
        Ok(stream::iter(releases)
            .buffered(MAX_CONCURRENT)
            .collect()
            .await)
    }

    /// The first holds of a list, in its order, that the principal may force-release in one
    /// request.
    pub async fn pick_holds(
        &self,
        principal: &Principal,
        mut view: WindowQuery,
    ) -> Result<Vec<ReleaseTarget>, OperationError> {
        view.filter.visible_groups = principal.grant().visible_groups();
        let locks = self
            .index()
            .query(move |index, now| view.evaluate_locks(index.locks(), None, now).locks);
        let locks = locks.await?;
        let groups = self.all_groups();
        let is_allowed = |lock: &Lock| {
            let group = groups
                .iter()
                .find(|group| group.config.name == lock.id.group);
            group.is_some_and(|group| {
                let scope = Scope::lock(&lock.id).with_read_only(group.config.read_only);
                principal.authorize(Permission::ForceRelease, scope).is_ok()
            })
        };
        let targets = locks.iter().filter(|lock| is_allowed(lock));
        let targets = targets.filter_map(|lock| lock.bulk_release_target());
        Ok(targets.take(MAX_BULK_RELEASE).collect())
    }

    /// Returns the expected outcome of releasing each of these locks, in order. Changes nothing and
    /// writes no audit entry.
    pub async fn dry_run_bulk_force_release(
        self: &Arc<Self>,
        principal: &Principal,
        targets: Vec<ReleaseTarget>,
    ) -> Result<Vec<ReleaseDryRun>, OperationError> {
        let items = targets.into_iter().map(ForceItem::from_target).collect();
        let request = ForceReleases {
            items,
            reason: "dry run".to_owned(),
            dry_run: true,
        };
        let results = self
            .bulk_force_release(principal, request)
            .await?
            .into_iter();
        let rehearsed = results.map(|item| ReleaseDryRun {
            id: item.id,
            result: item.result.map(|released| released.nodes),
            advice: item.advice,
        });
        Ok(rehearsed.collect())
    }

    /// The level of the advice for an item that can be released. A lock that was not observed before
    /// is read from the nodes. `None` if it is gone or has another owner by now.
    async fn advise_item(
        &self,
        principal: &Principal,
        item: &ParsedForceItem,
    ) -> Option<AdviceLevel> {
        let group = self
            .group_for_read(principal, Permission::View, &item.id)
            .ok()?;
        let lock = match self.indexed_lock(&item.id) {
            Some(lock) => lock,
            None => Arc::new(self.inspect(principal, &item.id).await.ok()?),
        };
        let mut owners = lock.owners.iter();
        if !owners.any(|owner| owner.fingerprint == item.fingerprint) {
            return None;
        }
        Some(self.advice_level(&group, &lock, &item.fingerprint).await)
    }

    async fn force_release_item(
        self: &Arc<Self>,
        principal: &Principal,
        item: &ParsedForceItem,
        reason: &str,
        dry_run: bool,
    ) -> Result<ReleaseResult, OperationError> {
        let request = ForceReleaseRequest {
            fingerprint: &item.fingerprint,
            expected_hold: item.expected_hold,
            reason,
            confirm: item.confirm.as_deref(),
            method: &ReleaseMethod::Lock,
        };
        if !dry_run {
            return self.force_release(principal, &item.id, request).await;
        }
        let nodes = self
            .dry_run_force_release(principal, &item.id, request)
            .await?;
        Ok(ReleaseResult {
            nodes,
            at: self.index().now(),
            hold_count: None,
            observed_after: None,
        })
    }
}

fn parse_items(items: Vec<ForceItem>) -> Result<Vec<ParsedForceItem>, OperationError> {
    let invalid = |cause| Err(OperationError::invalid_field("items", cause));
    if items.is_empty() {
        return invalid(InvalidValue::NoItems);
    }
    if items.len() > MAX_BULK_RELEASE {
        return invalid(InvalidValue::TooManyItems {
            count: items.len(),
            max: MAX_BULK_RELEASE,
        });
    }
    let items = items.into_iter().enumerate();
    let items: Vec<ParsedForceItem> = items
        .map(|(index, item)| item.parse(index))
        .collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    let mut duplicates = items
        .iter()
        .filter(|item| !seen.insert((&item.id, &item.fingerprint)));
    match duplicates.next() {
        None => Ok(items),
        Some(item) => invalid(InvalidValue::Duplicate {
            group: item.id.group.clone(),
            key: item.id.key.text().into_owned(),
        }),
    }
}

impl ForceItem {
    /// Converts a selection from a page. The confirmation is requested there afterwards.
    fn from_target(target: ReleaseTarget) -> Self {
        let ReleaseTarget {
            id,
            fingerprint,
            observed_hold: seen,
            label: _,
            format: _,
        } = target;
        Self {
            key: id.key.text().into_owned(),
            key_encoded: Some(id.key.encoded()),
            confirm: Some(id.key.text().into_owned()),
            group: id.group,
            fingerprint: fingerprint.as_str().to_owned(),
            expected_hold: seen,
        }
    }

    fn parse(self, index: usize) -> Result<ParsedForceItem, OperationError> {
        let invalid = |field: &str, cause| {
            OperationError::invalid_field(format!("items[{index}].{field}"), cause)
        };
        let fingerprint = Fingerprint::parse(&self.fingerprint)
            .ok_or_else(|| invalid("fingerprint", InvalidValue::NotAFingerprint))?;
        let key = match &self.key_encoded {
            None => LockKey::new(self.key),
            Some(encoded) => LockKey::decode(encoded)
                .ok_or_else(|| invalid("key_encoded", InvalidValue::InvalidPercentEncoding))?,
        };
        Ok(ParsedForceItem {
            id: LockId {
                group: self.group,
                key,
            },
            fingerprint,
            confirm: self.confirm,
            expected_hold: self.expected_hold,
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
            expected_hold: ObservedHold::default(),
        }
    }

    const ONE: &str = "0123456789abcdef";
    const OTHER: &str = "1123456789abcdef";

    #[test]
    fn a_bulk_request_needs_between_1_and_500_distinct_items() {
        let count = |n: usize| (0..n).map(|n| item(&n.to_string(), ONE)).collect();
        let invalid_encoding = ForceItem {
            key_encoded: Some("%F".into()),
            ..item("a", ONE)
        };
        for (items, invalid) in [
            (vec![], Some("items: is empty")),
            (count(1), None),
            (count(MAX_BULK_RELEASE), None),
            (
                count(MAX_BULK_RELEASE + 1),
                Some("items: has 501 entries; at most 500"),
            ),
            (
                vec![item("a", ONE), item("a", ONE)],
                Some("items: contains \"a\" of \"orders\" twice"),
            ),
            (vec![item("a", ONE), item("a", OTHER)], None),
            (
                vec![item("a", ONE), item("b", "not-hex")],
                Some("items[1].fingerprint: must be"),
            ),
            (
                vec![invalid_encoding],
                Some("items[0].key_encoded: has a `%`"),
            ),
        ] {
            let message = parse_items(items).err().map(|error| error.to_string());
            let is_expected = match (&message, invalid) {
                (None, None) => true,
                (Some(message), Some(invalid)) => message.starts_with(invalid),
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(is_expected, "{message:?}, not {invalid:?}");
        }
    }

    #[test]
    fn a_key_that_is_not_utf_8_is_percent_encoded() {
        let binary = ForceItem {
            key_encoded: Some("lock%FF".into()),
            ..item("lock%FF", ONE)
        };
        let read = parse_items(vec![binary, item("lock%FF", ONE)]).unwrap();
        assert_eq!(read[0].id.key, LockKey::new(*b"lock\xff"));
        assert_eq!(read[1].id.key, LockKey::from("lock%FF"));
    }
}
