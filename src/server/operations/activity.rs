//! What happened to the locks and nodes of the visible groups in a range of time.

use std::time::Duration;

use tokio::time::timeout;

use super::Operations;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{
    Activity, ActivityQuery, HistorySource, LockId, NodeOutage, NodeState, OperationError,
    Permission, RecordedLock, Timestamp,
};
use crate::server::access::Principal;
use crate::server::history::Recording;

/// How long the database may take. After that, the history in memory is returned.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

impl Operations {
    /// The time of the server.
    pub fn now(&self) -> Timestamp {
        self.index().now()
    }

    /// The recorded history of a range of time, in one group or all visible ones.
    ///
    /// # Errors
    /// A hidden or unknown group, a name without a group, or a range that ends before it starts.
    pub async fn activity(
        &self,
        principal: &Principal,
        query: ActivityQuery,
    ) -> Result<Activity, OperationError> {
        match (&query.group, &query.key) {
            (Some(group), Some(key)) => {
                let id = LockId {
                    group: group.clone(),
                    key: key.clone(),
                };
                self.group_for_read(principal, Permission::View, &id)?;
            }
            (Some(group), None) => {
                self.visible_group(principal, group)?;
            }
            (None, Some(_)) => {
                return Err(OperationError::invalid_field("group", InvalidValue::Empty));
            }
            (None, None) => {}
        }
        if let Some(recorded) = &self.recorded {
            let (visible, now) = (principal.grant().visible_groups(), self.index().now());
            let reading = recorded.activity(&query, &visible, Recording::Expected, now);
            match timeout(READ_TIMEOUT, reading).await {
                Ok(Ok(mut activity)) => {
                    if query.owner.is_some() {
                        activity.keep_related();
                    }
                    return Ok(activity);
                }
                // Logged by the recorder, too, which cannot write either.
                Ok(Err(error)) => tracing::debug!("the history cannot be read: {error}"),
                Err(_) => tracing::debug!("the history cannot be read within {READ_TIMEOUT:?}"),
            }
        }
        self.activity_in_memory(principal, query).await
    }

    /// A lock at a time in the past, as far as the history recorded it.
    ///
    /// # Errors
    /// A hidden or unknown group, or a name that the configuration excludes.
    pub async fn recorded_lock(
        &self,
        principal: &Principal,
        id: LockId,
        at: Timestamp,
    ) -> Result<RecordedLock, OperationError> {
        let now = self.now();
        let around = RecordedLock::around_query(&id, at, now);
        let around = self.activity(principal, around).await?;
        let moment = RecordedLock::moment_query(&id, at);
        let moment = self.activity(principal, moment).await?;
        Ok(RecordedLock::new(id, at, now, moment, around))
    }

    /// What the memory of this console has of the range.
    async fn activity_in_memory(
        &self,
        principal: &Principal,
        query: ActivityQuery,
    ) -> Result<Activity, OperationError> {
        let visible = principal.grant().visible_groups();
        let mut holds = self.index().recorded_holds(query.clone(), visible).await?;
        let is_truncated = holds.len() > query.max_holds();
        holds.truncate(query.max_holds());
        let outages = self.outages_in_memory(principal, &query);
        let mut activity = Activity {
            from: query.from,
            to: query.to,
            holds,
            flags: Vec::new(),
            outages,
            gaps: Vec::new(),
            is_truncated,
            source: HistorySource::Memory,
            recorded_since: Some(self.index().recorded_since()),
            counters: Vec::new(),
            made_up_until: None,
        };
        if query.owner.is_some() {
            activity.keep_related();
        }
        Ok(activity)
    }

    fn outages_in_memory(&self, principal: &Principal, query: &ActivityQuery) -> Vec<NodeOutage> {
        let names: Vec<String> = self
            .groups(principal)
            .into_iter()
            .map(|view| view.name)
            .filter(|name| query.matches_group(name))
            .collect();
        let mut outages = Vec::new();
        for group in self.node_histories(principal, &names) {
            for node in group.nodes {
                let changes = &node.state_changes;
                let ends = changes.iter().skip(1).map(|change| Some(change.at));
                let ends = ends.chain([None::<Timestamp>]);
                let periods = changes.iter().zip(ends);
                let down = periods.filter(|(change, to)| {
                    change.state != NodeState::Up && query.overlaps(change.at, *to)
                });
                outages.extend(down.map(|(change, to)| NodeOutage {
                    group: group.group.clone(),
                    node: node.node.clone(),
                    state: change.state,
                    from: change.at,
                    to,
                }));
            }
        }
        outages
    }
}
