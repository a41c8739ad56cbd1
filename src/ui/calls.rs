//! The door to the server: the only server functions of the crate. Thin; what they may do is decided in operations.
#![expect(
    missing_docs,
    reason = "the macro makes a public field of each argument and drops the comments"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};

use crate::domain::{
    Fault, Fingerprint, Format, LockId, LockKey, Mine, MonitorSample, Picked, Released, SeenHold,
};

use super::wire::{Answer, Told, Wire};

impl FromServerFnError for Fault {
    type Encoder = Wire;

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

/// Who the page is shown to and what it shows of the board ([`Painted`](crate::domain::Painted)), with the place in the stream of changes. The
/// page is the address that is being painted, or this one.
#[server(input = Json, output = Answer)]
pub async fn board(page: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let asked = use_context::<axum::http::request::Parts>().map(|parts| parts.uri.to_string());
    let painted = asked.filter(|address| !address.starts_with("/_fn/"));
    let (view, also) = super::live::seen_from(painted.as_deref().unwrap_or(&page));
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    Told::of(&crate::domain::Painted {
        me: state.access.me(&actor),
        board: state.operations.board(&actor, view, also).await?,
    })
}

/// One [`Lock`](crate::domain::Lock) as its nodes show it right now. The name is percent-encoded.
#[server(name = AskForLock, input = Json, output = Answer)]
pub async fn lock(group: String, key: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let key = LockKey::decode(&key).ok_or_else(|| Fault::BadRequest {
        detail: "the lock's name is not percent-encoded".to_owned(),
    })?;
    let id = LockId { group, key };
    Told::of(&state.operations.inspect(&actor, &id).await?)
}

/// The first locks that a text finds in names, owners and fingerprints: a list of [`Found`](crate::domain::Found).
#[server(name = FindLocks, input = Json, output = Answer)]
pub async fn find(text: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let text: String = text.chars().take(200).collect();
    let view = super::query::Query::default().with_text(text).view(8);
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    let board = state.operations.board(&actor, view, Vec::new()).await?;
    let found = board.locks.iter().map(|lock| crate::domain::Found {
        id: lock.id.clone(),
        verdict: lock.verdict,
    });
    Told::of(&found.collect::<Vec<_>>())
}

/// The [`History`](crate::domain::History) of one lock: nothing is asked of the nodes. The name is percent-encoded.
#[server(name = AskForHistory, input = Json, output = Answer)]
pub async fn history(group: String, key: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let key = LockKey::decode(&key).ok_or_else(|| Fault::BadRequest {
        detail: "the lock's name is not percent-encoded".to_owned(),
    })?;
    let id = LockId { group, key };
    Told::of(&state.operations.history(&actor, &id)?)
}

/// One lock as its nodes have it right now, tokens masked: a list of [`RawNode`](crate::domain::raw::RawNode). The name is
/// percent-encoded.
#[server(input = Json, output = Answer)]
pub async fn raw(group: String, key: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let key = LockKey::decode(&key).ok_or_else(|| Fault::BadRequest {
        detail: "the lock's name is not percent-encoded".to_owned(),
    })?;
    let id = LockId { group, key };
    Told::of(&state.operations.raw(&actor, &id).await?)
}

/// Who waits for whom, in all groups: [`Waits`](crate::domain::Waits).
#[server(name = AskForWaits, input = Json, output = Answer)]
pub async fn waits() -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    Told::of(&state.operations.waits(&actor, None).await?)
}

/// Who did what to which lock: a part of the audit ([`AuditPage`](crate::domain::AuditPage)), as the query of its page says.
#[server(name = AskForAudit, input = Json, output = Answer)]
pub async fn audit(search: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let super::audit_query::AuditQuery { filter, cursor } =
        super::audit_query::AuditQuery::parse(&search);
    let operations = &state.operations;
    Told::of(&operations.audit(&actor, filter, 100, cursor).await?)
}

/// What is known of the chain of the audit: [`ChainCheck`](crate::domain::ChainCheck).
#[server(name = AskForChain, input = Json, output = Answer)]
pub async fn audit_chain() -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    Told::of(&state.operations.chain_check(&actor).await?)
}

/// Who holds what, in all groups: [`Owners`](crate::domain::Owners), as the query of its page says.
#[server(name = AskForOwners, input = Json, output = Answer)]
pub async fn owners(search: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let asked = super::owners_query::parse(&search);
    let _while_it_is_added_up = crate::server::state::place_to_query(&state)?;
    Told::of(&state.operations.owners(&actor, None, asked).await?)
}

/// How the nodes were that their page shows, and what the doctor says of their groups in the language of that page:
/// [`NodesTold`](crate::domain::NodesTold), as the query of the page says.
#[server(name = AskAboutNodes, input = Json, output = Answer)]
pub async fn nodes(search: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let query = super::nodes_query::NodesQuery::parse(&search);
    let (names, _) = query.shown(&state.operations.groups(&actor));
    let mut told = state.operations.nodes_told(&actor, &names).await;
    let worded = super::words::findings::worded;
    told.checkups = told.checkups.into_iter().map(worded).collect();
    Told::of(&told)
}

/// Acquires a lock for the person at this console; the token stays on the server.
#[server(input = Json, output = Answer)]
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

/// The locks acquired from this console: a list of [`Mine`].
#[server(name = ListMine, input = Json, output = Answer)]
pub async fn mine() -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    Told::of(&state.operations.mine(&actor))
}

/// Renews a lock acquired here.
#[server(input = Json, output = Answer)]
pub async fn extend_mine(id: LockId, ttl_ms: u64) -> Result<Mine, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.extend_mine(&actor, &id, ttl_ms).await
}

/// Releases a lock acquired here.
#[server(input = Json, output = Answer)]
pub async fn release_mine(id: LockId) -> Result<Released, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.release_mine(&actor, &id).await
}

/// Hands out the token of a lock acquired here, once.
#[server(input = Json, output = Answer)]
pub async fn take_token(id: LockId) -> Result<String, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    state.operations.take_token(&actor, &id).await
}

/// Releases somebody else's lock, if its owner is still the one that was seen.
#[server(input = Json, output = Answer)]
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
#[server(name = VouchForNode, input = Json, output = Answer)]
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

/// The first holds of a list that whoever asks may release in one go, as the query of its page says: a list of [`Picked`].
#[server(name = PickAll, input = Json, output = Answer)]
pub async fn pick(search: String) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    let mut view = super::query::Query::parse(&search).view(usize::MAX);
    (view.by, view.from) = (None, 0);
    let _while_it_is_looked_through = crate::server::state::place_to_query(&state)?;
    Told::of(&state.operations.pick(&actor, view).await?)
}

/// What would come of releasing these locks by force: a list of [`Rehearsed`](crate::domain::Rehearsed), in their order.
/// Nothing is touched on any node.
#[server(input = Json, output = Answer)]
pub async fn rehearse_releases(picked: Vec<Picked>) -> Result<Told, Fault> {
    let (state, actor) = crate::server::state::asked().await?;
    Told::of(&state.operations.rehearse_releases(&actor, picked).await?)
}

/// Records for some seconds who tries to take which lock on one node.
#[server(name = TakeSample, input = Json, output = Answer)]
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
