//! Around every act: it is written down that it begins, that it was refused, and how it ended.

use super::Operations;
use crate::domain::{
    ActKind, AuditFilter, AuditPage, ChainCheck, Fault, LockId, NodeAnswer, Place, Released, Verb,
};
use crate::server::access::Actor;
use crate::server::audit::{Asked, By, End, OpenAct, Search};
use crate::server::webhooks;

/// What somebody wants to do to a lock, for the audit.
pub(super) fn asked<'a>(act: ActKind, actor: &'a Actor, id: &'a LockId) -> Asked<'a> {
    Asked::on(act, by(actor), id)
}

/// Who somebody is, for the audit.
pub(super) fn by(actor: &Actor) -> By<'_> {
    By {
        who: actor.name(),
        subject: actor.subject(),
        via: actor.via().slug(),
        address: actor.address(),
        request: actor.request().map(|request| &*request.0),
    }
}

/// Who somebody is, for webhooks.
pub(super) fn told_by(actor: &Actor) -> webhooks::By {
    webhooks::By {
        name: actor.name().to_owned(),
        subject: actor.subject().map(str::to_owned),
        via: actor.via().slug(),
        request_id: actor.request().map(ToString::to_string),
    }
}

impl Operations {
    /// What the checks before an act came to: a refusal is written down.
    pub(super) fn checked<T>(
        &self,
        asked: &Asked<'_>,
        checked: Result<T, Fault>,
    ) -> Result<T, Fault> {
        checked.inspect_err(|fault| self.audit.refused(asked, fault))
    }

    /// Somebody's browser asked for an act that a page of another site had it ask for.
    pub fn refused_from_elsewhere(
        &self,
        actor: &Actor,
        act: ActKind,
        lock: Option<&LockId>,
        fault: &Fault,
    ) {
        let asked = match lock {
            Some(id) => asked(act, actor, id),
            None => Asked::new(act, by(actor)),
        };
        self.audit.refused(&asked, fault);
    }

    /// Before anything is done: no audit, no act.
    pub(super) async fn begin<'a>(
        &self,
        asked: Asked<'a>,
        id: &LockId,
    ) -> Result<OpenAct<'a>, Fault> {
        let act = asked.act.slug();
        let begun = self.audit.begin(asked).await;
        begun.inspect_err(|fault| refused(act, id, fault))
    }

    /// Gives the acts of programs that were killed their end: what the nodes show of their locks now.
    pub async fn close_what_was_left(&self) {
        for group in self.all_groups().iter() {
            group.first_attempts().await;
        }
        self.audit.close_what_was_left(|id| self.seen_of(id)).await;
    }

    async fn seen_of(&self, id: LockId) -> Vec<NodeAnswer> {
        let Ok(group) = self.group(&id.group) else {
            return Vec::new();
        };
        let looked = self.index.look_again(&group, &id.key).await;
        looked.map(|looked| looked.nodes).unwrap_or_default()
    }

    /// What is known of the chain of the audit.
    pub async fn chain_check(&self, actor: &Actor) -> Result<ChainCheck, Fault> {
        actor.may(Verb::ReadAudit, Place::console())?;
        Ok(self.audit.chain_check().await)
    }

    /// What was done to which lock, by whom, and why: the latest first. Only of groups that may be seen.
    pub async fn audit(
        &self,
        actor: &Actor,
        filter: AuditFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<AuditPage, Fault> {
        let place = match &filter.group {
            Some(group) => Place::group(group),
            None => Place::console(),
        };
        actor.may(Verb::ReadAudit, place)?;
        let search = Search {
            filter,
            sight: actor.rights().sight(),
            limit,
            cursor,
        };
        self.audit.search(search).await
    }
}

/// Logs a refusal.
pub(super) fn refused(act: &str, id: &LockId, fault: &Fault) {
    tracing::debug!(act, lock.group = id.group, lock.key = ?id.key, code = fault.code(), "refused: {fault}");
}

/// How a release ended.
pub(super) fn end_of_release(end: &Result<Released, Fault>) -> End {
    match end {
        Ok(released) => {
            let done = End::done(&released.nodes);
            match released.holds {
                Some(holds) => done.saying(format!(
                    "its owner had entered more often and holds it still: {holds}"
                )),
                None => done,
            }
        }
        Err(fault) => End::fault(fault),
    }
}
