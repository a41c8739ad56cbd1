//! Access: the one place where a request becomes a person or a program with rights.

mod actor;
mod cookie;
mod host;
pub mod password;
mod people;
mod request_id;
mod secret;
mod sessions;
mod throttle;
pub mod tokens;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, header};

pub use actor::{Actor, Via, Who};
pub use request_id::RequestId;

use self::password::Passwords;
use self::people::People;
use self::sessions::Sessions;
use self::throttle::Throttle;
use self::tokens::Tokens;
use super::audit::{Asked, Audit, By, End};
use super::clock::Clock;
use super::config::AccessConfig;
use crate::domain::{ActKind, Came, Fault, Me};

/// Who may come in, and who is in.
pub struct Access {
    clock: Clock,
    audit: Audit,
    known: RwLock<Arc<Known>>,
    /// Of those who need not, also others than this machine's own are let in.
    to_anyone: bool,
    https: Option<bool>,
    sessions: Sessions,
    throttle: Throttle,
    passwords: Passwords,
}

/// Whom the configuration names.
struct Known {
    /// Nobody: nobody needs to sign in.
    is_open: bool,
    people: People,
    tokens: Tokens,
}

impl Known {
    fn of(config: &AccessConfig) -> Self {
        Self {
            is_open: config.is_open(),
            people: People::of(config),
            tokens: Tokens::of(&config.tokens),
        }
    }
}

impl Access {
    /// As the configuration says.
    pub fn new(config: &AccessConfig, clock: Clock, audit: Audit) -> Self {
        Self {
            clock,
            audit,
            known: RwLock::new(Arc::new(Known::of(config))),
            to_anyone: config.anyone_on_the_network,
            https: config.https,
            passwords: Passwords::default(),
            sessions: Sessions::new(config.sessions),
            throttle: Throttle::default(),
        }
    }

    /// Whether nobody needs to sign in.
    pub fn is_open(&self) -> bool {
        self.known().is_open
    }

    /// Takes over whom the configuration names by now. Who signed in with a password that is another one by now is out.
    pub async fn replace(&self, config: &AccessConfig) {
        let later = Arc::new(Known::of(config));
        let before = std::mem::replace(
            &mut *self.known.write().unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&later),
        );
        for name in before.people.signed_out_by(&later.people) {
            self.sessions.end_all_of(name).await;
        }
    }

    fn known(&self) -> Arc<Known> {
        // Only ever replaced as a whole.
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the browser reached the console over `https`.
    pub fn is_https(&self, headers: &HeaderMap) -> bool {
        self.https.unwrap_or_else(|| host::is_https(headers))
    }

    /// Who sent a request with these headers, from this address.
    ///
    /// What a program brings counts first: it is never the browser's doing, so whoever sends a token means it.
    pub async fn admit(
        &self,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<Actor, Fault> {
        let known = self.known();
        if known.is_open {
            if !self.to_anyone && !host::is_plain(headers) {
                return Err(Fault::Forbidden {
                    why: "nobody needs to sign in here, so this is answered under the machine's address or as localhost only"
                        .to_owned(),
                });
            }
            return Ok(Actor::local().calling_from(address));
        }
        if let Some(given) = headers.get(header::AUTHORIZATION) {
            let token = bearer(given).ok_or_else(|| Fault::SignInRequired {
                why: "the `Authorization` header is not `Bearer` and an API token".to_owned(),
            })?;
            let who = known.tokens.admit(token, self.clock.now())?;
            return Ok(Actor::new(who).calling_from(address));
        }
        if let Some(who) = known.people.vouched_for(headers, address) {
            return Ok(Actor::new(who?).calling_from(address));
        }
        let Some(secret) = cookie::read(headers, self.is_https(headers)) else {
            return Err(Fault::SignInRequired {
                why: "nobody is signed in here".to_owned(),
            });
        };
        let over = || Fault::SignInRequired {
            why: "the session has ended".to_owned(),
        };
        let session = self.sessions.load(secret, self.clock.now()).await;
        let (key, user) = session.ok_or_else(over)?;
        let who = known.people.signed_in(&user).ok_or_else(over)?;
        Ok(Actor::new(who).in_session(key).calling_from(address))
    }

    /// Who sent this request.
    pub async fn admit_request(&self, request: &Parts) -> Result<Actor, Fault> {
        match request.extensions.get::<Actor>() {
            Some(known) => Ok(known.clone()),
            None => {
                let address = address_in(&request.extensions);
                let actor = self.admit(&request.headers, address).await?;
                Ok(match request.extensions.get::<RequestId>() {
                    Some(id) => actor.in_request(id.clone()),
                    None => actor,
                })
            }
        }
    }

    /// Whether somebody who came in may stay as they are: their session goes on, their token has not expired, and their rights
    /// are what they were.
    pub async fn still_admits(&self, actor: &Actor) -> bool {
        let (known, now) = (self.known(), self.clock.now());
        if let Some(session) = actor.session()
            && !self.sessions.goes_on(session, now).await
        {
            return false;
        }
        let who = match actor.via() {
            Via::Browser => known.people.signed_in(actor.name()),
            Via::Token { id } => known.tokens.named(id, now),
            Via::Proxy => known.people.named(actor.name()),
            Via::CommandLine | Via::Local => return true,
        };
        who.is_some_and(|who| who.rights == *actor.rights())
    }

    /// Who a page is shown to.
    pub fn me(&self, actor: &Actor) -> Me {
        let came = match actor.via() {
            Via::Browser => Came::SignedIn,
            Via::Proxy | Via::Token { .. } | Via::CommandLine => Came::VouchedFor,
            Via::Local if self.to_anyone => Came::Anyone,
            Via::Local => Came::Local,
        };
        Me {
            name: actor.name().to_owned(),
            came,
            rights: actor.rights().clone(),
        }
    }

    /// Signs somebody in; answers the cookie for their browser. A session that it had is over.
    pub async fn sign_in(
        &self,
        name: &str,
        password: String,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<HeaderValue, Fault> {
        let attempt = self.throttle.begin(name, address, self.clock.now())?;
        let known = self.known();
        let hash = known.people.password_of(name);
        let stand_in = known.people.any_password();
        if !self.passwords.check(hash, stand_in, password).await? {
            // What is nobody's name may be a password that was typed into the wrong field.
            let user = hash.map(|_| name);
            tracing::info!(?user, ?address, "refused to sign in");
            let who = user.unwrap_or("(nobody of that name)");
            let fault = Fault::SignInRequired {
                why: "the name or the password is wrong".to_owned(),
            };
            self.audit
                .refused(&asked(ActKind::SignIn, who, address), &fault);
            return Err(fault);
        }
        attempt.succeeded();
        let is_https = self.is_https(headers);
        self.end_session_of(headers).await;
        let secret = self.sessions.create(name, self.clock.now()).await;
        tracing::info!(user = ?name, ?address, "signed in");
        self.audit
            .tell(&asked(ActKind::SignIn, name, address), &End::done(&[]));
        Ok(cookie::set(&secret, self.sessions.longest(), is_https))
    }

    /// Ends the session of this browser, or all of its person; answers what takes the cookie away.
    pub async fn sign_out(&self, headers: &HeaderMap, everywhere: bool) -> HeaderValue {
        let is_https = self.is_https(headers);
        if let Some(user) = self.end_session_of(headers).await {
            if everywhere {
                self.sessions.end_all_of(&user).await;
            }
            tracing::info!(?user, everywhere, "signed out");
            let mut asked = asked(ActKind::SignOut, &user, None);
            asked.detail = everywhere.then(|| "everywhere".to_owned());
            self.audit.tell(&asked, &End::done(&[]));
        }
        cookie::set("", Duration::ZERO, is_https)
    }

    async fn end_session_of(&self, headers: &HeaderMap) -> Option<String> {
        let secret = cookie::read(headers, self.is_https(headers))?;
        let (key, user) = self.sessions.load(secret, self.clock.now()).await?;
        self.sessions.end(&key).await;
        Some(user)
    }
}

/// Somebody comes or goes, by this name: for the audit.
fn asked(act: ActKind, name: &str, address: Option<IpAddr>) -> Asked<'_> {
    let by = By {
        who: name,
        via: Via::Browser.slug(),
        address,
        request: None,
    };
    Asked::new(act, by)
}

/// The token in `Bearer …`.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The address that a request with these extensions comes from; nothing for a router that is called in memory.
pub fn address_in(extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map(|peer| peer.0.ip().to_canonical())
}
