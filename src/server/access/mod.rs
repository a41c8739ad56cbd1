//! Access: the one place where a request becomes a person or a program with rights.

mod actor;
mod comers;
mod cookie;
mod entering;
pub mod forwarded;
mod host;
pub mod oidc;
pub mod password;
mod people;
mod request_id;
mod secret;
mod sessions;
mod staying;
mod subject;
mod throttle;
pub mod tokens;

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use prometheus::core::Collector;
use tokio::sync::watch;

pub use actor::{Actor, Via, Who};
pub use entering::SignedIn;
pub use forwarded::Origin;
pub use request_id::RequestId;

use self::comers::{Comers, Way};
use self::cookie::Which;
use self::forwarded::Proxies;
use self::oidc::Oidc;
use self::password::Passwords;
use self::people::People;
pub use self::secret::SecretDigest;
use self::sessions::{SessionKey, Sessions};
use self::throttle::Throttle;
use self::tokens::Tokens;
use super::audit::Audit;
use super::clock::Clock;
use super::config::AccessConfig;
use super::storage::Storage;
use crate::domain::role::Role;
use crate::domain::{Came, Fault, Me};

/// Who may come in, and who is in.
pub struct Access {
    clock: Clock,
    audit: Audit,
    known: ArcSwap<Known>,
    /// Rises whenever another configuration holds.
    edition: watch::Sender<u64>,
    /// Of those who need not, also others than this machine's own are let in.
    to_anyone: bool,
    https: Option<bool>,
    /// Where the console listens.
    listen: IpAddr,
    /// Why what the configuration says now does not hold.
    trouble: RwLock<Option<String>>,
    sessions: Sessions,
    throttle: Throttle,
    passwords: Passwords,
    comers: Comers,
}

/// Whom the configuration names.
struct Known {
    /// Nobody: nobody needs to sign in.
    is_open: bool,
    /// What lets them in crosses a network unencrypted.
    is_in_clear: bool,
    /// Then, the names under which the console answers beside addresses and `localhost`.
    hosts: Vec<String>,
    proxies: Proxies,
    people: People,
    tokens: Tokens,
    oidc: Option<Oidc>,
}

impl Known {
    /// As this configuration says, which takes the place of another.
    fn of(config: &AccessConfig, listen: IpAddr, before: Option<&Self>) -> Self {
        let provider = before.and_then(|before| before.oidc.as_ref());
        Self {
            is_open: config.is_open(),
            is_in_clear: config.is_in_clear_at(listen),
            hosts: config.hosts.clone(),
            proxies: Proxies::new(&config.proxies),
            people: People::of(config),
            tokens: Tokens::of(&config.tokens),
            oidc: config
                .oidc
                .as_ref()
                .and_then(|config| Oidc::of(config, provider)),
        }
    }

    /// Whose session it is, if what let them in then does so by now.
    fn signed_in(&self, person: &str, session: &SessionKey) -> Option<Arc<Who>> {
        let with_password = self.people.signed_in(person, session.stamp());
        let provider = self.oidc.as_ref();
        with_password.or_else(|| provider?.signed_in(person, session.stamp()))
    }
}

impl Access {
    /// As the configuration says, at the address where the console listens, together with all consoles that share its storage.
    pub fn new(
        config: &AccessConfig,
        listen: IpAddr,
        storage: &Storage,
        clock: Clock,
        audit: Audit,
    ) -> Self {
        Self {
            clock,
            audit,
            known: ArcSwap::from_pointee(Known::of(config, listen, None)),
            edition: watch::Sender::new(0),
            to_anyone: config.anyone_on_the_network,
            https: config.https,
            listen,
            trouble: RwLock::default(),
            passwords: Passwords::default(),
            sessions: Sessions::new(config.sessions, storage.clone()),
            throttle: Throttle::new(storage),
            comers: Comers::default(),
        }
    }

    /// Whether nobody needs to sign in.
    pub fn is_open(&self) -> bool {
        self.known().is_open
    }

    /// Takes over whom the configuration names by now. Whom something let in that is another by now is out.
    pub fn replace(&self, config: &AccessConfig) {
        let known = Arc::new(Known::of(config, self.listen, Some(&self.known())));
        self.known.store(known);
        self.edition.send_modify(|edition| *edition += 1);
    }

    /// The configuration was read again, and what it says does not hold for this reason; or it does.
    pub fn note_trouble(&self, trouble: Option<String>) {
        *self.trouble.write() = trouble;
    }

    /// Whether what the configuration says now does not hold.
    pub fn has_trouble(&self) -> bool {
        self.trouble().is_some()
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.read().clone()
    }

    /// Told to those who look after the console.
    fn trouble_for(&self, actor: &Actor) -> Option<String> {
        self.trouble().filter(|_| self.is_looked_after_by(actor))
    }

    fn unlisted_proxies_for(&self, actor: &Actor) -> Vec<String> {
        let unlisted = self.known().proxies.unlisted().into_iter();
        let theirs = unlisted.filter(|_| self.is_looked_after_by(actor));
        theirs.map(|address| address.to_string()).collect()
    }

    fn is_looked_after_by(&self, actor: &Actor) -> bool {
        actor.rights().role == Role::Admin && (*actor.via() != Via::Local || !self.to_anyone)
    }

    /// Notes where a request comes from, and takes out of its headers what only a proxy may say, where none is listed that says
    /// it. To be done before anything else is.
    pub fn see_where_from(&self, request: &mut Request) {
        self.known().proxies.see(request);
    }

    /// Whether others call through whoever calls from there: a listed proxy.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        self.known().proxies.has(address.to_canonical())
    }

    fn known(&self) -> Arc<Known> {
        self.known.load_full()
    }

    /// Whether the browser reached the console over `https`.
    pub fn is_https(&self, headers: &HeaderMap) -> bool {
        self.https.unwrap_or_else(|| host::is_https(headers))
    }

    /// Who sent a request with these headers, from there.
    ///
    /// What a program brings counts first: it is never the browser's doing, so whoever sends a token means it.
    pub async fn admit(&self, headers: &HeaderMap, origin: Origin) -> Result<Actor, Fault> {
        let known = self.known();
        if known.is_open {
            self.check_open(headers, &known.hosts)?;
            return Ok(Actor::local().calling_from(origin));
        }
        if let Some(given) = headers.get(header::AUTHORIZATION) {
            let token = bearer(given).ok_or_else(|| Fault::SignInRequired {
                why: "the `Authorization` header is not `Bearer` and an API token".to_owned(),
            });
            let admitted = token.and_then(|token| {
                let who = known.tokens.admit(token, self.clock.now())?;
                Ok((who, token))
            });
            self.comers.came(Way::Token, &admitted);
            let (who, token) = admitted?;
            let secret = SecretDigest::of(&format!("seal {token}"));
            return Ok(Actor::new(who).having(secret).calling_from(origin));
        }
        if let Some(who) = known.people.vouched_for(headers, origin.peer) {
            self.comers.came(Way::Proxy, &who);
            return Ok(Actor::new(who?).calling_from(origin));
        }
        let Some(secret) = cookie::read(Which::Session, headers, self.is_https(headers)) else {
            return Err(Fault::SignInRequired {
                why: "nobody is signed in here".to_owned(),
            });
        };
        let over = || Fault::SignInRequired {
            why: "the session has ended".to_owned(),
        };
        let session = self.sessions.load(secret, self.clock.now()).await?;
        let session = session.ok_or_else(over)?;
        let signed_in = known.signed_in(&session.user, &session.key);
        let actor = Actor::new(signed_in.ok_or_else(over)?);
        Ok(actor
            .in_session(session.key, session.is_confirmed)
            .calling_from(origin))
    }

    /// Where nobody needs to sign in: whether the request is one that only who may reach the console can send.
    fn check_open(&self, headers: &HeaderMap, hosts: &[String]) -> Result<(), Fault> {
        if !host::is_known(headers, hosts) {
            return Err(Fault::Forbidden {
                why: "nobody needs to sign in here, so the console answers only under an address, as localhost, or under a name that \
                      `hosts` lists"
                    .to_owned(),
            });
        }
        // Whoever can reach the proxy could do everything, though the console listens for this machine alone.
        match host::proxy_header(headers) {
            Some(name) if !self.to_anyone => Err(Fault::Forbidden {
                why: format!(
                    "nobody needs to sign in here, and the header `{name}` shows that a reverse proxy passed this on: name who may \
                     come in ([[user]], [[token]]) before you put a proxy in front of the console"
                ),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Who sent this request.
    pub async fn admit_request(&self, request: &Parts) -> Result<Actor, Fault> {
        match request.extensions.get::<Actor>() {
            Some(known) => Ok(known.clone()),
            None => {
                let origin = Origin::of(&request.extensions);
                let actor = self.admit(&request.headers, origin).await?;
                Ok(match request.extensions.get::<RequestId>() {
                    Some(id) => actor.in_request(id.clone()),
                    None => actor,
                })
            }
        }
    }

    /// Who came, and what came of it, for Prometheus.
    pub fn collector(&self) -> Box<dyn Collector> {
        self.comers.collector()
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
            config_trouble: self.trouble_for(actor),
            is_in_clear: self.known().is_in_clear && actor.rights().role == Role::Admin,
            unlisted_proxies: self.unlisted_proxies_for(actor),
        }
    }
}

/// The token in `Bearer …`.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The address that a request with these extensions comes from; nothing for a router that is called in memory.
pub fn address_in(extensions: &Extensions) -> Option<IpAddr> {
    Origin::of(extensions).caller
}
