//! The way in with a password, and the way out.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};

use super::Access;
use super::actor::Via;
use super::comers::Way;
use super::cookie::{self, Which};
use super::oidc::claims::shown;
use super::sessions::Loaded;
use super::throttle::Trier;
use crate::domain::{ActKind, Fault};
use crate::server::audit::{Asked, By, End};
use crate::server::config::access::UserConfig;

/// So long a browser is known in which somebody signed in.
const KNOWN: Duration = Duration::from_hours(180 * 24);

/// The cookies of a browser in which somebody signed in.
pub struct SignedIn {
    /// Of the session.
    pub session: HeaderValue,
    /// What it is known by, for long.
    pub known: HeaderValue,
}

/// The longest password that is looked at, in bytes.
const LONGEST_PASSWORD: usize = 1024;

impl Access {
    /// Signs somebody in; answers the cookies for their browser. A session that it had is over.
    pub async fn sign_in(
        &self,
        name: &str,
        password: String,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, Fault> {
        let end = if password.len() > LONGEST_PASSWORD || name.len() > UserConfig::LONGEST_NAME {
            Err(Fault::SignInRequired { why: String::new() })
        } else {
            self.check_and_let_in(name, password, headers, address)
                .await
        };
        self.comers.came(Way::Password, &end);
        end
    }

    async fn check_and_let_in(
        &self,
        name: &str,
        password: String,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, Fault> {
        let (known, is_https) = (self.known(), self.is_https(headers));
        let mark = cookie::read(Which::Known, headers, is_https);
        let trier = Trier {
            account: name,
            address,
            known_browser: mark.and_then(|mark| known.people.browser_of(name, mark)),
        };
        let (key, now) = (known.people.attempts_key(), self.clock.now());
        let attempt = self.throttle.begin(trier, key, now).await?;
        self.passwords.hold_up(attempt.delay).await?;
        let hash = known.people.password_of(name);
        let stand_in = known.people.stand_in_for(name);
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
        attempt.succeeded(self.clock.now()).await?;
        self.end_session_of(headers).await;
        let stamp = known.people.stamp_of(name).ok_or_else(|| Fault::Internal {
            detail: "somebody without a password signed in with one".to_owned(),
        })?;
        let secret = self
            .sessions
            .create(name, stamp, self.sessions.longest(), self.clock.now())
            .await?;
        tracing::info!(user = ?name, ?address, "signed in");
        self.audit
            .tell(&asked(ActKind::SignIn, name, address), &End::done(&[]));
        let mark = known.people.mark_of(name).unwrap_or_default();
        let longest = self.sessions.longest();
        Ok(SignedIn {
            session: cookie::set(Which::Session, &secret, longest, is_https),
            known: cookie::set(Which::Known, &mark, KNOWN, is_https),
        })
    }

    /// Ends the session of this browser, or all of its person; answers what takes the cookie away, and whether the person came
    /// from a provider.
    pub async fn sign_out(&self, headers: &HeaderMap, everywhere: bool) -> (HeaderValue, bool) {
        let is_https = self.is_https(headers);
        let mut is_from_provider = false;
        if let Some(Loaded { user, key, .. }) = self.end_session_of(headers).await {
            if everywhere {
                self.sessions.end_all_of(&user).await;
            }
            let known = self.known();
            let with_password = known.people.signed_in(&user, key.stamp()).is_some();
            is_from_provider = !with_password && known.oidc.is_some();
            let name = if with_password {
                (&*user).into()
            } else {
                shown(&user)
            };
            tracing::info!(user = ?name, everywhere, "signed out");
            let subject = known.oidc.as_ref().and_then(|oidc| oidc.subject_of(&user));
            let mut asked = asked(ActKind::SignOut, &name, None);
            asked.by.subject = subject.as_deref().filter(|_| is_from_provider);
            asked.detail = everywhere.then(|| "everywhere".to_owned());
            self.audit.tell(&asked, &End::done(&[]));
        }
        let nothing = cookie::set(Which::Session, "", Duration::ZERO, is_https);
        (nothing, is_from_provider)
    }

    /// Ends the session that a browser has, if it has one.
    pub(super) async fn end_session_of(&self, headers: &HeaderMap) -> Option<Loaded> {
        let secret = cookie::read(Which::Session, headers, self.is_https(headers))?;
        let Ok(session) = self.sessions.load(secret, self.clock.now()).await else {
            self.sessions.end_unseen(secret).await;
            return None;
        };
        let session = session?;
        self.sessions.end(&session.key).await;
        Some(session)
    }
}

/// Somebody comes or goes, by this name: for the audit.
pub(super) fn asked(act: ActKind, name: &str, address: Option<IpAddr>) -> Asked<'_> {
    let by = By {
        who: name,
        subject: None,
        via: Via::Browser.slug(),
        address,
        request: None,
    };
    Asked::new(act, by)
}
