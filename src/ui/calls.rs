//! The door to the server: the only server functions of the crate. Thin; what they may do is decided in operations.
#![expect(
    missing_docs,
    reason = "the macro makes a public field of each argument and drops the comments"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::{Json, JsonEncoding};
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};

use crate::domain::raw::RawNode;
use crate::domain::{
    AuditPage, ChainCheck, Fault, Fingerprint, Format, Found, History, Lock, LockId, LockKey, Mine,
    MonitorSample, NodesTold, Owners, Painted, Picked, Rehearsed, Released, SeenHold, Waits,
};

impl FromServerFnError for Fault {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Request(detail)
            | ServerFnErrorErr::Response(detail)
            | ServerFnErrorErr::Deserialization(detail)
            | ServerFnErrorErr::UnsupportedRequestMethod(detail) => Self::Unanswered { detail },
            ServerFnErrorErr::Args(detail) | ServerFnErrorErr::MissingArg(detail) => {
                Self::BadRequest { detail }
            }
            ServerFnErrorErr::Registration(detail)
            | ServerFnErrorErr::ServerError(detail)
            | ServerFnErrorErr::MiddlewareError(detail)
            | ServerFnErrorErr::Serialization(detail) => Self::Internal { detail },
        }
    }
}

/// Who the page is shown to and what it shows of the board, with the place in the stream of changes. The
/// page is the address that is being painted, or this one.
#[server(input = Json, output = Json)]
pub async fn board(page: String) -> Result<Painted, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let asked = use_context::<axum::http::request::Parts>().map(|parts| parts.uri.to_string());
    let painted = asked.filter(|address| !address.starts_with("/_fn/"));
    let (view, also) = super::first_view::seen_from(painted.as_deref().unwrap_or(&page));
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    Ok(Painted {
        me: state.access.me(&actor),
        board: state.operations.board(&actor, view, also).await?,
    })
}

/// One lock as its nodes show it right now.
#[server(name = AskForLock, input = Json, output = Json)]
pub async fn lock(id: LockId) -> Result<Lock, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.inspect(&actor, &id).await
}

/// The first locks that a text finds in names, owners and fingerprints.
#[server(name = FindLocks, input = Json, output = Json)]
pub async fn find(text: String) -> Result<Vec<Found>, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let text: String = text.chars().take(200).collect();
    let view = super::query::Query::default().with_text(text).view(8);
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    let board = state.operations.board(&actor, view, Vec::new()).await?;
    let found = board.locks.iter().map(|lock| Found {
        id: lock.id.clone(),
        verdict: lock.verdict,
    });
    Ok(found.collect())
}

/// The history of one lock: nothing is asked of the nodes.
#[server(name = AskForHistory, input = Json, output = Json)]
pub async fn history(id: LockId) -> Result<History, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.history(&actor, &id)
}

/// One lock as its nodes have it right now, tokens masked.
#[server(input = Json, output = Json)]
pub async fn raw(id: LockId) -> Result<Vec<RawNode>, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.raw(&actor, &id).await
}

/// Who waits for whom, in all groups.
#[server(name = AskForWaits, input = Json, output = Json)]
pub async fn waits() -> Result<Waits, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.waits(&actor, None).await
}

/// Who did what to which lock: a part of the audit, as the query of its page says.
#[server(name = AskForAudit, input = Json, output = Json)]
pub async fn audit(search: String) -> Result<AuditPage, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let super::audit_query::AuditQuery { filter, cursor } =
        super::audit_query::AuditQuery::parse(&search);
    let operations = &state.operations;
    operations.audit(&actor, filter, 100, cursor).await
}

/// What is known of the chain of the audit.
#[server(name = AskForChain, input = Json, output = Json)]
pub async fn audit_chain() -> Result<ChainCheck, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.chain_check(&actor).await
}

/// Who holds what, in all groups, as the query of its page says.
#[server(name = AskForOwners, input = Json, output = Json)]
pub async fn owners(search: String) -> Result<Owners, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let asked = super::owners_query::parse(&search);
    let _while_it_is_added_up = crate::server::state::place_to_query(&state)?;
    state.operations.owners(&actor, None, asked).await
}

/// How the nodes were that their page shows, and what the doctor says of their groups in the language of that page,
/// as the query of the page says.
#[server(name = AskAboutNodes, input = Json, output = Json)]
pub async fn nodes(search: String) -> Result<NodesTold, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let query = super::nodes_query::NodesQuery::parse(&search);
    let (names, _) = query.shown(&state.operations.groups(&actor));
    let mut told = state.operations.nodes_told(&actor, &names).await;
    let worded = super::words::findings::worded;
    told.checkups = told.checkups.into_iter().map(worded).collect();
    Ok(told)
}

/// Acquires a lock for the person at this console; the token stays on the server.
#[server(input = Json, output = Json)]
pub async fn acquire(
    group: String,
    key: LockKey,
    format: Format,
    ttl_ms: u64,
    wait_ms: u64,
    label: Option<String>,
    auto_renew: bool,
) -> Result<Mine, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let request = crate::server::operations::AcquireRequest {
        ttl_ms,
        wait_ms,
        label,
        format,
        token: None,
        auto_renew,
    };
    let id = LockId { group, key };
    let _while_it_waits = crate::server::state::place_to_wait(&state, wait_ms)?;
    let acquiring = state.operations.acquire_mine(&actor, id, &request);
    state.access.while_admitted(&actor, acquiring).await
}

/// The locks acquired from this console.
#[server(name = ListMine, input = Json, output = Json)]
pub async fn mine() -> Result<Vec<Mine>, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    Ok(state.operations.mine(&actor))
}

/// Renews a lock acquired here.
#[server(input = Json, output = Json)]
pub async fn extend_mine(id: LockId, ttl_ms: u64) -> Result<Mine, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.extend_mine(&actor, &id, ttl_ms).await
}

/// Releases a lock acquired here.
#[server(input = Json, output = Json)]
pub async fn release_mine(id: LockId) -> Result<Released, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.release_mine(&actor, &id).await
}

/// Hands out the token of a lock acquired here, once.
#[server(input = Json, output = Json)]
pub async fn take_token(id: LockId) -> Result<String, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.take_token(&actor, &id).await
}

/// Releases somebody else's lock, if its owner is still the one that was seen.
#[server(input = Json, output = Json)]
pub async fn force_release(
    id: LockId,
    fingerprint: Fingerprint,
    seen: SeenHold,
    reason: String,
    confirm: Option<String>,
) -> Result<Released, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let request = crate::server::operations::ForceRelease {
        fingerprint: &fingerprint,
        seen,
        reason: &reason,
        confirm: confirm.as_deref(),
    };
    state.operations.force_release(&actor, &id, request).await
}

/// Vouches for a node that may have lost locks: it takes new ones at once.
#[server(name = VouchForNode, input = Json, output = Json)]
pub async fn vouch_for_node(
    group: String,
    node: String,
    reason: String,
    confirm: Option<String>,
) -> Result<(), Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let operations = &state.operations;
    let vouching = operations.vouch(&actor, &group, &node, &reason, confirm.as_deref());
    vouching.await.map(|_| ())
}

/// The first holds of a list that whoever asks may release in one go, as the query of its page says.
#[server(name = PickAll, input = Json, output = Json)]
pub async fn pick(search: String) -> Result<Vec<Picked>, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let mut view = super::query::Query::parse(&search).view(usize::MAX);
    (view.by, view.from) = (None, 0);
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    state.operations.pick(&actor, view).await
}

/// What would come of releasing these locks by force, in their order.
/// Nothing is touched on any node.
#[server(input = Json, output = Json)]
pub async fn rehearse_releases(picked: Vec<Picked>) -> Result<Vec<Rehearsed>, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.rehearse_releases(&actor, picked).await
}

/// Records for some seconds who tries to take which lock on one node.
#[server(name = TakeSample, input = Json, output = Json)]
pub async fn monitor_sample(
    group: String,
    node: String,
    seconds: u32,
) -> Result<MonitorSample, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let how_long = std::time::Duration::from_secs(seconds.into());
    let operations = &state.operations;
    operations
        .monitor_sample(&actor, &group, &node, how_long)
        .await
}
