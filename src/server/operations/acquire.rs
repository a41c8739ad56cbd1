//! Acquiring: what is asked for, checked; one try, or a place among those who wait; and what is handed out.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::acquired::{AcquireRequest, Acquired};
use super::act::{Act, check_token, check_ttl, impossible, no_quorum, text, won};
use super::audited::{asked, refused};
use super::kept::{Place, Won};
use super::{Operations, check_key, millis};
use crate::domain::{ActKind, Fault, LockId, Verb};
use crate::server::access::{Actor, Via};
use crate::server::audit::End;
use crate::server::locking::wait::Named;
use crate::server::locking::{self, Attempt, Layout, StillHeld, Token, Want};
use crate::server::nodes::Group;
use crate::server::telemetry::traces;

/// The longest that an acquire may wait.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The longest label, in characters.
const LONGEST_LABEL: usize = 64;

/// An acquire that was found to be possible.
struct Wanted {
    group: Arc<Group>,
    want: Want,
    wait: Duration,
    label: String,
    place: Option<Place>,
}

impl Operations {
    pub(super) async fn take(
        &self,
        actor: &Actor,
        id: &LockId,
        request: &AcquireRequest,
    ) -> Result<Acquired, Fault> {
        let mut asked = asked(ActKind::Acquire, actor, id);
        asked.label = request.label.as_deref();
        asked.format = Some(request.format);
        Span::current().record("lockkeeper.format", request.format.slug());
        asked.ttl_ms = Some(request.ttl_ms);
        asked.auto_renew = request.auto_renew;
        let checked = self.to_be_acquired(actor, id, request);
        let wanted = self.checked(&asked, checked)?;
        asked.fingerprint = Some(wanted.want.token.fingerprint());
        let open = self.begin(asked, id).await?;
        let end = self.acquire_on(actor, id, request, wanted).await;
        open.end(&match &end {
            Ok(acquired) => End::done(&acquired.nodes).shown_as(acquired.fingerprint.clone()),
            Err(fault) => End::fault(fault),
        });
        end
    }

    /// Whether somebody may acquire the lock by their rights.
    pub(super) fn may_acquire(&self, actor: &Actor, id: &LockId) -> Result<(), Fault> {
        self.group_to_act_on(actor, Verb::Acquire, id).map(drop)
    }

    /// Writes down that the answer to an acquire, with its token, is given again.
    pub(super) async fn note_replay(
        &self,
        actor: &Actor,
        id: &LockId,
        acquired: &Acquired,
    ) -> Result<(), Fault> {
        let mut asked = asked(ActKind::Acquire, actor, id);
        asked.fingerprint = Some(acquired.fingerprint.clone());
        let replayed = "nothing was acquired: the answer to an earlier request with the same Idempotency-Key was given again";
        let open = self.begin(asked, id).await?;
        open.end(&End::done(&[]).saying(replayed.to_owned()));
        Ok(())
    }

    fn to_be_acquired(
        &self,
        actor: &Actor,
        id: &LockId,
        request: &AcquireRequest,
    ) -> Result<Wanted, Fault> {
        let group = self.group_to_act_on(actor, Verb::Acquire, id)?;
        check_key(&id.key)?;
        let ttl = check_ttl(&group, id, request.ttl_ms)?;
        let wait = Duration::from_millis(request.wait_ms);
        // Who waits at the command line costs the console nothing.
        if wait > LONGEST_WAIT && *actor.via() != Via::CommandLine {
            return Err(impossible(
                "wait_ms",
                format!("is longer than {} ms", LONGEST_WAIT.as_millis()),
            ));
        }
        let label = request.label.as_deref().unwrap_or("").trim();
        if label.chars().count() > LONGEST_LABEL {
            return Err(impossible(
                "label",
                format!("is longer than {LONGEST_LABEL} characters"),
            ));
        }
        let Some(layout) = Layout::of(request.format) else {
            return Err(impossible(
                "format",
                format!(
                    "{} cannot be acquired from here; `plain`, `redisson`, `redisson-fair` and `legacy-timestamp` can",
                    request.format
                ),
            ));
        };
        let token = match &request.token {
            Some(token) => {
                let token = check_token(token)?;
                if let Some(objection) = layout.objection(&token) {
                    return Err(impossible("token", objection.to_owned()));
                }
                token
            }
            None => layout.mint(if label.is_empty() { "console" } else { label }),
        };
        let want = Want {
            layout,
            key: id.key.clone(),
            token,
            ttl,
            brought: request.token.is_some(),
        };
        let place = self.place_to_keep(id, request, &want.token)?;
        Ok(Wanted {
            group,
            want,
            wait,
            label: label.to_owned(),
            place,
        })
    }

    async fn acquire_on(
        &self,
        actor: &Actor,
        id: &LockId,
        request: &AcquireRequest,
        wanted: Wanted,
    ) -> Result<Acquired, Fault> {
        let Wanted {
            group,
            mut want,
            wait,
            label,
            place,
        } = wanted;
        let attempt = self.attempt(&group, id, &want, wait, &label).await;
        if !wait.is_zero() && attempt.valid_until().is_none() && group.closing().is_cancelled() {
            let fault = Fault::Stopping;
            self.refused_acquire(id, &fault);
            return Err(fault);
        }
        let fencing_token = attempt.fence;
        if let Some(written) = &attempt.token {
            want.token = written.clone();
        }
        let (validity, nodes) = won(&group, attempt, Act::Acquire)
            .inspect_err(|fault| self.refused_acquire(id, fault))?;
        let (expires_at, valid_until) =
            (self.index().now().plus(validity), Instant::now() + validity);
        let fingerprint = want.token.fingerprint();
        tracing::debug!(act = "acquire", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "acquired");
        let won = Won::new(id, request, &want, validity, &nodes, actor);
        self.keep(&group, &won, place);
        self.index().look_soon(id);
        Ok(Acquired {
            token: text(&want.token),
            fingerprint,
            fencing_token,
            validity_ms: millis(validity),
            expires_at,
            nodes,
            valid_until: Some(valid_until),
        })
    }

    /// The answer to an acquire that was answered before, with the validity of now: as it is renewed from here, or else as the
    /// nodes show it. Where too few of them can be read, what was promised is still so.
    pub(super) async fn acquired_before(
        &self,
        id: &LockId,
        acquired: &Acquired,
    ) -> Result<Acquired, Fault> {
        let token = Token::from_bytes(acquired.token.as_bytes());
        let group = self.group(&id.group)?;
        if let Some(kept) = self.kept.get(id, &token) {
            return Ok(acquired.until(kept.now().valid_until(), self.index().now()));
        }
        match locking::still_held(&group, &id.key, &token).await {
            StillHeld::Until(until) => Ok(acquired.until(until, self.index().now())),
            StillHeld::Not(nodes) => Err(Fault::HoldEnded { nodes }),
            StillHeld::Unknown(nodes) => {
                let by_now = acquired.by_now(self.index().now());
                if by_now.validity_ms == 0 {
                    return Err(no_quorum(group.quorum(), nodes));
                }
                Ok(by_now)
            }
        }
    }

    /// One try, or as many as fit into the time.
    async fn attempt(
        &self,
        group: &Arc<Group>,
        id: &LockId,
        want: &Want,
        wait: Duration,
        label: &str,
    ) -> Attempt {
        let queues = self.queues(&id.group);
        let hung_up = CancellationToken::new();
        if wait.is_zero() {
            let asking = {
                let (group, want, hung_up) = (Arc::clone(group), want.clone(), hung_up.clone());
                async move { queues.attempt(&group, &want, hung_up).await }
            };
            return to_its_end(want.brought, hung_up, asking).await;
        }
        let who = Named {
            label: (!label.is_empty()).then(|| label.to_owned()),
            fingerprint: Layout::name_of_hold(&want.token),
            since: self.index().now(),
            stands_on_nodes: want.layout.queues_on_nodes(),
        };
        let place = queues.join_as(&id.key, Some(who));
        // Whoever looks at the lock sees how many wait for it, also when one of them goes away.
        let told = Waiters {
            operations: self,
            id,
        };
        told.tell();
        let asking = {
            let (group, want, hung_up) = (Arc::clone(group), want.clone(), hung_up.clone());
            async move { locking::acquire_unless(&group, &want, wait, place, hung_up).await }
        };
        to_its_end(want.brought, hung_up, asking).await
    }

    fn refused_acquire(&self, id: &LockId, fault: &Fault) {
        if matches!(fault, Fault::Held { .. }) {
            self.index().wants().refused(id, self.index().steady());
        }
        refused("acquire", id, fault);
    }
}

/// Asks for a lock. With a token that was brought along, a try that has begun is ended although the client hung up meanwhile:
/// only who hears all answers knows what the owner had before, and what is to be taken back.
async fn to_its_end(
    brought: bool,
    hung_up: CancellationToken,
    asking: impl Future<Output = Attempt> + Send + 'static,
) -> Attempt {
    if !brought {
        return asking.await;
    }
    let _when_it_is_dropped = hung_up.drop_guard();
    let (tell, told) = oneshot::channel();
    let asking = traces::carried(async move {
        // Whoever hung up is told nothing, and nothing of it is left.
        let _nobody_listens = tell.send(asking.await);
    });
    let task = tokio::spawn(asking);
    match told.await {
        Ok(attempt) => attempt,
        Err(_) => match task.await {
            Err(why) if why.is_panic() => std::panic::resume_unwind(why.into_panic()),
            // The program ends.
            Ok(()) | Err(_) => std::future::pending().await,
        },
    }
}

/// Keeps the number of those who wait for a lock told: when one begins and when one ends, however it ends.
struct Waiters<'a> {
    operations: &'a Operations,
    id: &'a LockId,
}

impl Waiters<'_> {
    fn tell(&self) {
        let (queues, key) = (self.operations.queues(&self.id.group), &self.id.key);
        let (waiting, on_nodes) = (queues.waiting(key), queues.waiting_on_nodes(key));
        self.operations
            .index()
            .wants()
            .waiting(self.id, waiting, on_nodes);
    }
}

impl Drop for Waiters<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}
