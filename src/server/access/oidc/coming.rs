//! The way of somebody who comes through a provider: sent there, and back with a code.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::pending::Pending;
use super::{Brought, Oidc, Refusal};
use crate::domain::{ActKind, Fault, WaysIn};
use crate::server::access::Access;
use crate::server::access::cookie::{self, Which};
use crate::server::access::entering::asked;
use crate::server::access::secret::{SecretDigest, mint};
use crate::server::access::throttle::Trier;
use crate::server::audit::End;
use crate::server::config::oidc::{GrantConfig, OidcConfig};

/// Somebody is sent to the provider.
pub struct Sent {
    /// Its address, with what is asked for.
    pub to: String,
    /// What their browser keeps until it comes back.
    pub cookies: Vec<HeaderValue>,
}

/// What the provider has a browser say when it sends it back.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Told {
    state: String,
    code: String,
    error: String,
    error_description: String,
    iss: Option<String>,
}

/// Somebody who came back.
pub struct Back {
    /// What their browser is to have, or why they are not let in.
    pub ended: Result<HeaderValue, Refusal>,
    /// Where they wanted to go; empty where that is not known.
    pub next: String,
    /// What takes away what their browser kept meanwhile.
    pub forget: HeaderValue,
}

impl Access {
    /// How people may sign in.
    pub fn ways_in(&self) -> WaysIn {
        let known = self.known();
        let provider = known.oidc.as_ref();
        WaysIn {
            is_open: known.is_open,
            with_password: known.people.has_passwords(),
            provider: provider.map(|oidc| oidc.label().to_owned()),
        }
    }

    /// Whether somebody whose session has ended can be sent to the provider at once, which lets them in again without a question
    /// where they are signed in there: their browser had a session, and nobody signs in otherwise.
    pub fn can_sign_in_silently(&self, headers: &HeaderMap) -> bool {
        let known = self.known();
        let had_session = cookie::read(Which::Session, headers, self.is_https(headers)).is_some();
        had_session && known.oidc.is_some() && !known.people.has_passwords()
    }

    /// Asks the provider what it is like, if there is one.
    pub async fn look_at_provider(&self) {
        let known = self.known();
        if let Some(oidc) = &known.oidc {
            oidc.look().await;
        }
    }

    /// Where somebody signs out at the provider, if that can be done.
    pub async fn provider_sign_out(&self) -> Option<String> {
        let known = self.known();
        known.oidc.as_ref()?.sign_out_url().await
    }

    /// Sends somebody to the provider who wants to go to `next`.
    pub async fn send_to_provider(
        &self,
        next: &str,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<Sent, Refusal> {
        let known = self.known();
        let oidc = known.oidc.as_ref().ok_or(Refusal::NotOffered)?;
        self.throttle.begin_at_provider(address)?;
        let (state, nonce) = (mint(), mint());
        let begun = oidc.provider.begin(&state, &nonce).await?;
        let pending = Pending {
            nonce,
            verifier: begun.verifier,
            next: next.to_owned(),
            began: self.clock.now(),
        };
        let cookies = pending.cookies(&state, headers, self.is_https(headers));
        let cookies = cookies.ok_or_else(|| Fault::Internal {
            detail: "a sign-in cannot be sealed".to_owned(),
        })?;
        Ok(Sent {
            to: begun.url,
            cookies,
        })
    }

    /// Lets somebody in who comes back from the provider, or says why not. A session that their browser had is over then.
    pub async fn come_back(
        &self,
        told: &Told,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Back {
        let mut next = String::new();
        let ended = self.let_in(told, headers, address, &mut next).await;
        self.comers.came_back(&ended);
        match &ended {
            Ok(_) => {}
            // It was not even looked at: as often as somebody likes, so nothing is written for it.
            Err(Refusal::NotNow(Fault::TooMany { .. })) => {
                tracing::debug!(?address, "a sign-in came too soon");
            }
            Err(refusal) => self.note_refusal(refusal, address),
        }
        Back {
            ended,
            next,
            forget: Pending::end(&told.state, self.is_https(headers)),
        }
    }

    async fn let_in(
        &self,
        told: &Told,
        headers: &HeaderMap,
        address: Option<IpAddr>,
        next: &mut String,
    ) -> Result<HeaderValue, Refusal> {
        let known = self.known();
        let oidc = known.oidc.as_ref().ok_or(Refusal::NotOffered)?;
        // Nobody's account is known yet: what is in vain counts against the address alone.
        let account = format!("provider {}", SecretDigest::of(&told.state).digits());
        let now = self.clock.now();
        let trier = Trier {
            account: &account,
            address,
            known_browser: None,
        };
        let key = known.people.attempts_key();
        let attempt = self.throttle.begin(trier, key, now).await?;
        let judged = self.judge(oidc, told, headers, next).await;
        if judged
            .as_ref()
            .err()
            .is_none_or(|why| !why.may_be_a_guess())
        {
            attempt.succeeded(now).await?;
        }
        let (person, name, grant) = judged?;
        if known.people.has(&name) {
            return Err(Refusal::NameTaken { name });
        }
        self.end_session_of(headers).await;
        let stamp = oidc.config.stamp(grant);
        let max = oidc.config.max_session;
        let secret = self.sessions.create(&person, stamp, max, now).await?;
        let by = format!("{} has {:?}", grant.claim, grant.value);
        tracing::info!(user = ?name, ?address, provider = oidc.label(), by, "signed in");
        let subject = oidc.subject_of(&person);
        let mut asked = asked(ActKind::SignIn, &name, address);
        asked.by.subject = subject.as_deref();
        asked.detail = Some(format!("with {}: {by}; {person}", oidc.label()));
        self.audit.tell(&asked, &End::done(&[]));
        let (longest, is_https) = (self.sessions.longest(), self.is_https(headers));
        Ok(cookie::set(Which::Session, &secret, longest, is_https))
    }

    /// Whose session it is to be, what they are called, and what lets them in.
    async fn judge<'a>(
        &self,
        oidc: &'a Oidc,
        told: &Told,
        headers: &HeaderMap,
        next: &mut String,
    ) -> Result<(String, String, &'a GrantConfig), Refusal> {
        // Only the browser that began it has it: whoever has somebody else open this address would have them signed in as themselves.
        let is_https = self.is_https(headers);
        let pending = Pending::read(&told.state, headers, is_https, self.clock.now());
        let pending = pending.ok_or(Refusal::Expired)?;
        next.clone_from(&pending.next);
        told.check(&oidc.config)?;
        let brought = Brought {
            code: &told.code,
            verifier: &pending.verifier,
            nonce: &pending.nonce,
        };
        let wanted = oidc.config.wanted();
        let now = self.clock.now();
        let claims = oidc.provider.end(brought, &wanted, now).await?;
        let subject = oidc.config.subject(&claims)?;
        let grant = oidc.config.grant(&claims);
        let grant = grant.ok_or_else(|| Refusal::NoGrant {
            name: subject.name.clone(),
        })?;
        Ok((subject.person(), subject.name, grant))
    }

    fn note_refusal(&self, refusal: &Refusal, address: Option<IpAddr>) {
        let (who, why) = (refusal.who(), refusal.told());
        match refusal {
            Refusal::Away(_) | Refusal::Unknown(_) | Refusal::Clock { .. } => {
                tracing::warn!(user = ?who, ?address, "refused to sign in: {why}");
            }
            _ => tracing::info!(user = ?who, ?address, "refused to sign in: {why}"),
        }
        let asked = asked(ActKind::SignIn, who.unwrap_or("(not known)"), address);
        self.audit.refused(&asked, &Fault::SignInRequired { why });
    }
}

impl Told {
    /// Whether there is a code to be believed.
    fn check(&self, config: &OidcConfig) -> Result<(), Refusal> {
        let issuer = &config.provider.issuer;
        // Another provider's answer, sent here (RFC 9207).
        if self.iss.as_ref().is_some_and(|iss| iss != issuer) {
            return Err(Refusal::NotProven("another provider sent it".to_owned()));
        }
        match self.error.as_str() {
            "" if self.code.is_empty() => Err(Refusal::Refused("it sent no code".to_owned())),
            "" => Ok(()),
            "access_denied" => Err(Refusal::Cancelled),
            "temporarily_unavailable" | "server_error" => {
                Err(Refusal::Away(format!("it says {}", self.error)))
            }
            error => Err(Refusal::Refused(format!(
                "{error} {}",
                self.error_description
            ))),
        }
    }
}
