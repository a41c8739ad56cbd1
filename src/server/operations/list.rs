//! Lists locks with filter, order and paging.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::domain::operation_error::RequestError;
use crate::domain::{
    Buckets, Filter, GroupBy, Lock, OperationError, Sort, SortKey, SortOrder, Timestamp,
    WindowQuery,
};
use crate::server::access::Principal;

/// The filter, order and page of a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The filter.
    pub filter: Filter,
    /// The sort column.
    pub sort: Sort,
    /// The sort direction.
    pub order: SortOrder,
    /// Groups the locks by this; the response then contains buckets instead of locks.
    pub group_by: Option<GroupBy>,
    /// The maximum number of locks.
    pub limit: usize,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of locks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Listing {
    /// The locks of this page.
    #[schema(value_type = Vec<Lock>)]
    pub locks: Vec<Arc<Lock>>,
    /// The number of locks that match the filter, over all pages.
    pub total: u32,
    /// The cursor of the next page; null on the last one.
    pub next_cursor: Option<String>,
    /// The server's time when the list was made. Each lock contains the time at which it was
    /// observed itself.
    pub observed_at: Timestamp,
    /// The number of nodes of the listed groups that are reachable now.
    pub nodes_reached: u32,
    /// The number of nodes of the listed groups.
    pub nodes_total: u32,
    /// With `group_by`: the buckets, instead of `locks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
}

impl Operations {
    /// Lists locks from the index. For unreachable nodes it contains the last known state.
    pub async fn list(
        &self,
        principal: &Principal,
        query: &ListQuery,
    ) -> Result<Listing, OperationError> {
        if let Some(group) = &query.filter.group {
            self.visible_group(principal, group)?;
        }
        let after = query.cursor.as_deref().map(read_cursor).transpose()?;
        let view = WindowQuery {
            filter: Filter {
                visible_groups: principal.grant().visible_groups(),
                ..query.filter.clone()
            },
            sort: query.sort,
            order: query.order,
            group_by: query.group_by,
            offset: 0,
            limit: query.limit,
        };
        let evaluating = self.index().query(move |index, now| {
            (view.evaluate_locks(index.locks(), after.as_ref(), now), now)
        });
        let (page, now) = evaluating.await?;
        let next_cursor = page
            .locks
            .last()
            .filter(|_| page.remaining > super::count(page.locks.len()))
            .map(|lock| write_cursor(&query.sort.sort_key(lock)));
        let mut groups = self.groups(principal);
        groups.retain(|view| {
            query
                .filter
                .group
                .as_ref()
                .is_none_or(|group| *group == view.name)
        });
        let (nodes_reached, nodes_total) = Self::count_nodes(&groups);
        Ok(Listing {
            total: page.total,
            locks: page.locks,
            next_cursor,
            observed_at: now,
            nodes_reached,
            nodes_total,
            buckets: page.buckets,
        })
    }
}

/// A cursor contains the sort position of the last lock of a page, so it stays valid when locks
/// come and go. Hex makes it opaque and URL-safe.
fn write_cursor(rank: &SortKey<'_>) -> String {
    let json = serde_json::to_vec(rank).expect("a rank has no maps with odd keys");
    HEXLOWER.encode(&json)
}

fn read_cursor(text: &str) -> Result<SortKey<'static>, OperationError> {
    let invalid = || OperationError::BadRequest {
        cause: RequestError::InvalidCursor,
    };
    let json = HEXLOWER.decode(text.as_bytes()).map_err(|_| invalid())?;
    serde_json::from_slice(&json).map_err(|_| invalid())
}
