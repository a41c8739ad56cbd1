//! Somebody who asks for something: who they are, how they came, and what they may do.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use super::forwarded::Origin;
use super::request_id::RequestId;
use super::secret::SecretDigest;
use super::sessions::SessionKey;
use super::subject::Subject;
use crate::domain::role::Role;
use crate::domain::{Fault, Place, Rights, Verb};

/// Whoever asks. Cheap to clone: what is the same for all of somebody's requests is shared.
#[derive(Clone, Debug)]
pub struct Actor {
    who: Arc<Who>,
    session: Option<SessionKey>,
    address: Option<IpAddr>,
    peer: Option<IpAddr>,
    request: Option<RequestId>,
    is_confirmed: bool,
    secret: Option<SecretDigest>,
}

/// Who somebody is, for all of their requests.
#[derive(Debug)]
pub struct Who {
    /// What they are called in the configuration or by the proxy; for people and programs to read.
    pub name: String,
    /// What a provider knows them by, which tells them from others that it calls the same.
    pub subject: Option<String>,
    /// How they came.
    pub via: Via,
    /// (Of a token) what it is checked against: another token of that name is not this one.
    pub credential: Option<SecretDigest>,
    /// What they may do.
    pub rights: Rights,
}

/// How somebody came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// They signed in, and their browser has a session.
    Browser,
    /// With an API token.
    Token {
        /// The token's name in the configuration; not a secret.
        id: String,
    },
    /// A reverse proxy says who they are.
    Proxy,
    /// They run the command line: no console is asked.
    CommandLine,
    /// Nobody needs to sign in here.
    Local,
}

impl Via {
    /// The word for it.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Token { .. } => "token",
            Self::Proxy => "proxy",
            Self::CommandLine => "command-line",
            Self::Local => "local",
        }
    }
}

impl Actor {
    /// Somebody.
    pub fn new(who: Arc<Who>) -> Self {
        Self {
            who,
            session: None,
            address: None,
            peer: None,
            request: None,
            is_confirmed: true,
            secret: None,
        }
    }

    /// Whoever is at this machine, where nobody needs to sign in.
    pub fn local() -> Self {
        static LOCAL: LazyLock<Arc<Who>> = LazyLock::new(|| {
            Arc::new(Who {
                name: "local operator".to_owned(),
                subject: None,
                credential: None,
                via: Via::Local,
                rights: Rights::everywhere(Role::Admin),
            })
        });
        Self::new(Arc::clone(&LOCAL))
    }

    /// Whoever runs the command line: who can reach the nodes with it could do all of it without.
    pub fn command_line(name: String) -> Self {
        Self::new(Arc::new(Who {
            name,
            subject: None,
            credential: None,
            via: Via::CommandLine,
            rights: Rights::everywhere(Role::Admin),
        }))
    }

    /// The same, with something that only they have: what is kept for them is sealed with it.
    pub fn having(self, secret: SecretDigest) -> Self {
        Self {
            secret: Some(secret),
            ..self
        }
    }

    /// The same, in this session of their browser. Where nobody can be asked whether it goes on, they may only look.
    pub fn in_session(self, session: SessionKey, is_confirmed: bool) -> Self {
        Self {
            is_confirmed,
            session: Some(session),
            ..self
        }
    }

    /// The same, with a request that comes from there.
    pub fn calling_from(self, origin: Origin) -> Self {
        Self {
            address: origin.caller,
            peer: origin.peer,
            ..self
        }
    }

    /// The same, in the request of this name.
    pub fn in_request(self, request: RequestId) -> Self {
        Self {
            request: Some(request),
            ..self
        }
    }

    /// Who they are.
    pub(super) fn who(&self) -> &Arc<Who> {
        &self.who
    }

    /// What they are called.
    pub fn name(&self) -> &str {
        &self.who.name
    }

    /// What their provider knows them by (issuer and `sub`), where they came through one.
    pub fn subject(&self) -> Option<&str> {
        self.who.subject.as_deref()
    }

    /// Whose things are whose: the same for all ways in which a person comes, and another for a program of that name.
    pub fn identity(&self) -> (&'static str, &str) {
        if let Some(subject) = &self.who.subject {
            return ("subject", subject);
        }
        let kind = match self.who.via {
            Via::Browser | Via::Proxy => "person",
            Via::Token { .. } => "token",
            Via::CommandLine => "command-line",
            Via::Local => "local",
        };
        (kind, &self.who.name)
    }

    /// How the sessions of their browsers are called.
    pub fn person(&self) -> Cow<'_, str> {
        let subject = self
            .who
            .subject
            .as_deref()
            .and_then(|known| known.split_once(' '));
        match subject {
            Some((_issuer, id)) => Cow::Owned(Subject::person_of(id, self.name())),
            None => Cow::Borrowed(self.name()),
        }
    }

    /// How they came.
    pub fn via(&self) -> &Via {
        &self.who.via
    }

    /// What they may do.
    pub fn rights(&self) -> &Rights {
        &self.who.rights
    }

    /// The session of their browser, if they have one.
    pub fn session(&self) -> Option<&SessionKey> {
        self.session.as_ref()
    }

    /// Where they call from, as far as that is known.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whose connection it is: theirs, or a proxy's.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// What a token is checked against, if they came with one.
    pub fn credential(&self) -> Option<&SecretDigest> {
        self.who.credential.as_ref()
    }

    /// What this request of theirs is called.
    pub fn request(&self) -> Option<&RequestId> {
        self.request.as_ref()
    }

    /// What only they have, if there is something.
    pub fn secret(&self) -> Option<&SecretDigest> {
        self.secret.as_ref()
    }

    /// Whether they may do that there, or the refusal.
    pub fn may(&self, verb: Verb, place: Place<'_>) -> Result<(), Fault> {
        if !self.is_confirmed && !matches!(verb, Verb::See | Verb::ReadRaw | Verb::ReadAudit) {
            return Err(Fault::StorageUnavailable {
                detail: "nobody can tell whether your session still goes on, for the storage of the console cannot be reached: \
                         you can look, and not act"
                    .to_owned(),
            });
        }
        Ok(self.rights().may(verb, place)?)
    }
}
