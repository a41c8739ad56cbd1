//! Listing: filter, order, page.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::domain::{Bundles, By, Fault, Filter, Lock, Order, Rank, Sort, Timestamp, View};
use crate::server::access::Actor;

/// Which locks, in which order, which page.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// What the list is narrowed to.
    pub filter: Filter,
    /// What it is sorted by.
    pub sort: Sort,
    /// Which end comes first.
    pub order: Order,
    /// What the locks are bundled by; then bundles are told in place of locks.
    pub by: Option<By>,
    /// How many at most.
    pub limit: usize,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// A page of locks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Listing {
    /// The locks of this page.
    #[schema(value_type = Vec<Lock>)]
    pub locks: Vec<Arc<Lock>>,
    /// How many pass the filter on all pages together.
    pub total: u32,
    /// Hand it back for the next page; null on the last one.
    pub next_cursor: Option<String>,
    /// The server's clock when the list was made. Each lock says when it was itself observed.
    pub observed_at: Timestamp,
    /// How many nodes of the groups asked for can be asked right now.
    pub nodes_reached: u32,
    /// How many there are.
    pub nodes_total: u32,
    /// With `by`: the bundles, in place of `locks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundles: Option<Bundles>,
}

impl Operations {
    /// Lists what is on the board: the last known locks where nodes cannot be asked.
    pub async fn list(&self, actor: &Actor, query: &ListQuery) -> Result<Listing, Fault> {
        if let Some(group) = &query.filter.group {
            self.group_to_see(actor, group)?;
        }
        let after = query.cursor.as_deref().map(read_cursor).transpose()?;
        let view = View {
            filter: Filter {
                sight: actor.rights().sight(),
                ..query.filter.clone()
            },
            sort: query.sort,
            order: query.order,
            by: query.by,
            from: 0,
            limit: query.limit,
        };
        let looking = self
            .index()
            .query(move |index, now| (view.among(index.locks(), after.as_ref(), now), now));
        let (page, now) = looking.await?;
        let next_cursor = page
            .locks
            .last()
            .filter(|_| page.rest > super::count(page.locks.len()))
            .map(|lock| write_cursor(&query.sort.rank(lock)));
        let mut groups = self.groups(actor);
        groups.retain(|view| {
            query
                .filter
                .group
                .as_ref()
                .is_none_or(|group| *group == view.name)
        });
        let (nodes_reached, nodes_total) = Self::reach(&groups);
        Ok(Listing {
            total: page.total,
            locks: page.locks,
            next_cursor,
            observed_at: now,
            nodes_reached,
            nodes_total,
            bundles: page.bundles,
        })
    }
}

/// A cursor is the place of the last lock of a page, so that it holds when locks come and go. Hex keeps it opaque and URL-safe.
fn write_cursor(rank: &Rank<'_>) -> String {
    let json = serde_json::to_vec(rank).expect("a rank has no maps with odd keys");
    HEXLOWER.encode(&json)
}

fn read_cursor(text: &str) -> Result<Rank<'static>, Fault> {
    let wrong = || Fault::BadRequest {
        detail: "`cursor` is not one that was handed out here".into(),
    };
    let json = HEXLOWER.decode(text.as_bytes()).map_err(|_| wrong())?;
    serde_json::from_slice(&json).map_err(|_| wrong())
}
