//! An operator vouches for a node: that it lost no locks, or that nobody relies on one that it lost. It takes new locks at once then.

use std::sync::Arc;

use super::Operations;
use super::act::impossible;
use super::audited::by;
use super::force::check_reason;
use crate::domain::{ActKind, Fault, NodeView, Place, Verb};
use crate::server::access::Actor;
use crate::server::audit::{Asked, End};
use crate::server::nodes::Group;
use crate::server::nodes::history::NodeRecord;

impl Operations {
    /// Vouches for a node as it runs now. In production `confirm` has to be the node's name. Answers how the node is since,
    /// and what is to be remembered of it.
    pub async fn vouch(
        &self,
        actor: &Actor,
        group: &str,
        node: &str,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<(NodeView, NodeRecord), Fault> {
        let mut asked = Asked::new(ActKind::Vouch, by(actor));
        asked.group = Some(group);
        asked.reason = Some(reason.trim());
        asked.detail = Some(format!("node {node:?}"));
        let checked = self.may_be_vouched_for(actor, group, node, reason, confirm);
        let group = self.checked(&asked, checked)?;
        let open = self.audit.begin(asked).await?;
        let vouched = vouched(&group, node);
        open.end(&match &vouched {
            Ok(_) => End::done(&[]),
            Err(fault) => End::fault(fault),
        });
        let asked_with = actor.request().map(tracing::field::display);
        if vouched.is_ok() {
            tracing::warn!(act = "vouch", group = group.config.name, node, by = actor.name(), reason = ?reason.trim(), request.id = asked_with, "an operator vouched for the node: it takes new locks");
        }
        vouched
    }

    fn may_be_vouched_for(
        &self,
        actor: &Actor,
        name: &str,
        node: &str,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<Arc<Group>, Fault> {
        let group = self.group_to_see(actor, name)?;
        let place = Place::group(name).read_only(group.config.read_only);
        actor.may(Verb::Vouch, place)?;
        check_reason(reason)?;
        let known = group.each();
        if !known.iter().any(|one| one.name() == node) {
            return Err(impossible(
                "node",
                format!("the group has no node {node:?}"),
            ));
        }
        if group.config.environment.asks_to_confirm() && confirm != Some(node) {
            return Err(impossible(
                "confirm",
                "this group is production: it must be the node's name".to_owned(),
            ));
        }
        Ok(group)
    }
}

fn vouched(group: &Group, node: &str) -> Result<(NodeView, NodeRecord), Fault> {
    let record = group.vouch(node).ok_or_else(|| {
        impossible(
            "node",
            format!("node {node:?} has not said which run of the server it is (INFO server); bring it back first"),
        )
    })?;
    let views = group.nodes();
    let view = views.into_iter().find(|view| view.name == node);
    let view = view.ok_or_else(|| impossible("node", format!("the group has no node {node:?}")))?;
    Ok((view, record))
}
