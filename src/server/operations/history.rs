//! One lock together with its past.

use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::domain::{Fault, History, Lock, LockId, Verb};
use crate::server::access::Actor;

/// A lock, and who held it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Inspected {
    /// As its nodes show it right now.
    #[serde(flatten)]
    pub lock: Lock,
    /// Who held it before, as far as it was seen.
    pub history: History,
}

impl Operations {
    /// One lock, asked for on the nodes right now, and who held it.
    pub async fn inspect_with_history(
        &self,
        actor: &Actor,
        id: &LockId,
    ) -> Result<Inspected, Fault> {
        let lock = self.inspect(actor, id).await?;
        let history = self.index().history(id);
        Ok(Inspected { lock, history })
    }

    /// Who held a lock, as far as it was seen: also of one that is gone. Nothing is asked of the nodes.
    pub fn history(&self, actor: &Actor, id: &LockId) -> Result<History, Fault> {
        self.group_to_read_in(actor, Verb::See, id)?;
        Ok(self.index().history(id))
    }
}
