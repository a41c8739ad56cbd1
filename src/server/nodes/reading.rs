//! The replica that is read from instead of a node, where the configuration names one: while it cannot be used, or has lost
//! its primary, the node itself is read.

use std::sync::Arc;

use super::line::{Line, Purpose, within};
use super::node::{Access, Node};
use super::trouble::Trouble;

impl Node {
    /// The connection to the replica; nothing where there is none, or it cannot be used now.
    pub(super) async fn open_reading(&self) -> Option<Line> {
        let info = self.reach.reading_info().await?;
        let opening = async {
            let opening = Line::open(&info?, Purpose::Reading, Arc::clone(&self.kick)).await;
            opening.map_err(|error| Trouble::of(&error))
        };
        let opened = match within(self.connect_timeout, opening).await {
            Ok(Ok(line)) => self.check_replica(line).await,
            Ok(Err(trouble)) | Err(trouble) => Err(trouble),
        };
        self.note_reading(opened.as_ref().err());
        opened.ok()
    }

    /// Checks the connection to the replica, gives it up, or opens it again.
    pub(super) async fn keep_reading(&self) {
        let reading = match &*self.access.borrow() {
            Access::Open { reading, .. } => reading.as_deref().cloned(),
            Access::Starting | Access::Shut(_) => return,
        };
        let now = match reading {
            Some(line) => match self.check_replica(line).await {
                Ok(_) => return,
                Err(trouble) => {
                    self.note_reading(Some(&trouble));
                    None
                }
            },
            None => match self.open_reading().await {
                Some(line) => Some(line),
                None => return,
            },
        };
        self.put_in(|_, reading| *reading = now.map(Box::new));
        // What one server showed may not have arrived at the other, or be gone there.
        self.memory().forget_everything();
    }

    fn note_reading(&self, trouble: Option<&Trouble>) {
        let why = trouble.map(|trouble| trouble.reason.clone());
        self.health().reads_from(self.reach.reads_from(), why);
    }

    /// Whether the server that is read from has the same keys, and gets every change of them.
    async fn check_replica(&self, mut line: Line) -> Result<Line, Trouble> {
        let checking = line.check(&self.clock, true);
        let facts = within(self.command_timeout, checking).await??.facts;
        let facts = facts.unwrap_or_default();
        let ours = self.health().replid();
        let is_another = ours
            .zip(facts.replid)
            .is_some_and(|(ours, theirs)| ours != theirs);
        if is_another {
            return Err(Trouble::down("it is no replica of this node"));
        }
        if facts.has_lost_its_primary {
            return Err(Trouble::down("it has lost its primary"));
        }
        Ok(line)
    }
}
