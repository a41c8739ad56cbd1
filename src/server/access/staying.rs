//! Whether somebody who was let in may stay: what let them in may end while a stream is open, while a request waits, or while a lock
//! is renewed for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::{Access, Actor, Known, Via, Who};
use crate::domain::{Fault, LockId, Place, Timestamp, Verb};

/// How often it is checked whether somebody who waits may still do so. Another configuration is noticed at once.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl Known {
    /// Whom the configuration lets in by now in the way in which they came: with the same token, through a proxy that is still
    /// listed, with the same password or grant, or because still nobody has to sign in.
    fn admitted_as(&self, actor: &Actor, now: Timestamp) -> Option<Arc<Who>> {
        match actor.via() {
            Via::Browser => {
                let session = actor.session()?;
                self.signed_in(&actor.person(), session)
            }
            Via::Token { id } => {
                let who = self.tokens.named(id, now)?;
                (who.credential.as_ref() == actor.credential()).then_some(who)
            }
            Via::Proxy => self.people.still_named(actor.name(), actor.peer()),
            Via::Local => self.is_open.then(|| Arc::clone(actor.who())),
            Via::CommandLine => Some(Arc::clone(actor.who())),
        }
    }
}

impl Access {
    /// Whether somebody who came in may stay as they are: their session goes on, what let them in does so still, and their rights
    /// are what they were.
    pub async fn still_admits(&self, actor: &Actor) -> bool {
        let now = self.clock.now();
        if let Some(session) = actor.session()
            && !self.sessions.goes_on(session, now).await
        {
            return false;
        }
        let who = self.known().admitted_as(actor, now);
        who.is_some_and(|who| who.rights == *actor.rights())
    }

    /// Whether the configuration still lets somebody extend a lock who had it renewed here. That their session ended does not
    /// matter: locks are renewed for people who have gone home.
    pub fn still_renews_for(&self, actor: &Actor, id: &LockId) -> bool {
        let who = self.known().admitted_as(actor, self.clock.now());
        who.is_some_and(|who| who.rights.may(Verb::Extend, Place::lock(id)).is_ok())
    }

    /// Does what somebody waits for, while they may stay. What is dropped when they may not has to undo itself.
    pub async fn while_admitted<T>(
        &self,
        actor: &Actor,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.until_out(actor) => Err(Fault::SignInRequired {
                why: "what let you in has ended while the request waited: the token, the session or the rights are others by now"
                    .to_owned(),
            }),
        }
    }

    async fn until_out(&self, actor: &Actor) {
        let mut edition = self.edition.subscribe();
        let mut tick = interval(CHECK_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once, and they were let in just now.
        tick.tick().await;
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                // The sender lives as long as this.
                _ = edition.changed() => {}
            }
            if !self.still_admits(actor).await {
                return;
            }
        }
    }
}
