//! The `[[webhook]]` tables: who is told of flags and acts, and how they can be sure that it was this console that told them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use data_encoding::BASE64_NOPAD;
use http::Uri;
use serde::Deserialize;
use serde_with::{DeserializeFromStr, serde_as};
use toml::Spanned;

use super::ConfigError;
use super::rights::check_groups;
use super::source::Source;
use super::values::{CaFile, Name, Period, Rule, Text, Wrong, seconds, unencrypted};
use crate::domain::{ActKind, Flag};
use crate::server::http_client::Roots;

/// Somebody who is told of flags and acts.
#[serde_as]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Its name in logs and metrics.
    #[serde_as(as = "Text<Name>")]
    pub name: String,
    /// Where the events are posted to. It may hold a secret, so it is never shown.
    pub url: WebhookUrl,
    /// What each event is signed with (`secret`, or `secret_file`, which is read when the configuration is).
    pub secret: WebhookSecret,
    /// The certificates (`ca_file`) that its own is checked with; the public ones where it is absent.
    #[serde_as(as = "Option<Text<CaFile>>")]
    #[serde(rename = "ca_file")]
    pub roots: Option<Roots>,
    /// The groups; all where it is absent.
    pub groups: Option<Vec<String>>,
    /// The flags that it is told of.
    #[serde(default = "usual_flags")]
    pub flags: Vec<Flag>,
    /// The acts that it is told of, refused ones too.
    #[serde_as(as = "Vec<Text<LockAct>>")]
    #[serde(default = "usual_acts")]
    pub acts: Vec<ActKind>,
    /// Whether it is told of locks that are lost to owners for whom this console renewed them.
    #[serde(default = "yes")]
    pub lost: bool,
    /// Whether it is told where the hash chain of the audit stands: at the start, every hour, and when the console stops.
    #[serde(default)]
    pub audit_head: bool,
    /// A flag is told once it has stood for so long.
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<3>")]
    pub settle: Duration,
    /// How long one attempt may take.
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<10>")]
    pub timeout: Duration,
    /// The pause after the first attempt that failed; each further one is twice as long, up to five minutes.
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<1>")]
    pub retry_after: Duration,
    /// After so long an event is given up.
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<3600>")]
    pub give_up_after: Duration,
}

/// An address that is not shown.
#[derive(Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct WebhookUrl(Uri);

/// A key that is not shown.
#[derive(Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookUrl {
    /// An address beginning with `http://` or `https://`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str =
            "a webhook's `url` must be an address like \"https://hooks.example.org/lockkeeper\"";
        let uri: Uri = text.parse().map_err(|_| WRONG)?;
        let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_known || uri.host().is_none_or(str::is_empty) {
            return Err(WRONG);
        }
        if uri
            .authority()
            .is_some_and(|place| place.as_str().contains('@'))
        {
            return Err(
                "a webhook's `url` has no user name and password: every event is signed instead",
            );
        }
        Ok(Self(uri))
    }

    /// The address, for the request.
    pub fn expose(&self) -> &Uri {
        &self.0
    }
}

impl WebhookSecret {
    /// The shortest that cannot be guessed.
    const SHORTEST: usize = 16;

    /// `whsec_` and base64, as the specification writes it; anything else is taken as it stands.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bytes = match text.strip_prefix("whsec_") {
            Some(encoded) => BASE64_NOPAD
                .decode(encoded.trim_end_matches('=').as_bytes())
                .map_err(|_| "what follows `whsec_` is not base64")?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.len() < Self::SHORTEST {
            return Err(
                "the secret is shorter than 16 bytes and could be guessed; `openssl rand -base64 32` makes a good one",
            );
        }
        Ok(Self(bytes))
    }

    /// The bytes, for the signature.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for WebhookUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl FromStr for WebhookSecret {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Drop for WebhookSecret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

impl WebhookConfig {
    /// What is told unless the configuration says otherwise: what needs a person soon.
    pub const FLAGS: [Flag; 5] = [
        Flag::Split,
        Flag::NoExpiry,
        Flag::AtRisk,
        Flag::Overdue,
        Flag::Endless,
    ];

    /// Somebody who is told the usual.
    pub fn new(name: &str, url: WebhookUrl, secret: WebhookSecret) -> Self {
        Self {
            name: name.to_owned(),
            url,
            secret,
            roots: None,
            groups: None,
            flags: usual_flags(),
            acts: usual_acts(),
            lost: true,
            audit_head: false,
            settle: seconds::<3>(),
            timeout: seconds::<10>(),
            retry_after: seconds::<1>(),
            give_up_after: seconds::<3600>(),
        }
    }
}

fn usual_flags() -> Vec<Flag> {
    WebhookConfig::FLAGS.to_vec()
}

fn usual_acts() -> Vec<ActKind> {
    vec![
        ActKind::ForceRelease,
        ActKind::CompleteRelease,
        ActKind::PutBack,
    ]
}

fn yes() -> bool {
    true
}

/// What happens to a lock; what else the audit knows is not told.
struct LockAct;

impl Rule for LockAct {
    type Value = ActKind;

    fn read(slug: &str) -> Result<ActKind, Wrong> {
        let act = slug.parse().ok().filter(|act| match act {
            ActKind::Acquire
            | ActKind::Extend
            | ActKind::Release
            | ActKind::ForceRelease
            | ActKind::CompleteRelease
            | ActKind::PutBack => true,
            ActKind::Vouch
            | ActKind::TakeToken
            | ActKind::Sample
            | ActKind::SignIn
            | ActKind::SignOut => false,
        });
        act.ok_or_else(|| format!("there is no act {slug:?}").into())
    }
}

/// Checks the tables against each other and against the names of the groups that exist.
pub(super) fn read(
    source: &Source<'_>,
    groups: &[String],
    tables: Vec<Spanned<WebhookConfig>>,
    warnings: &mut Vec<String>,
) -> Result<Vec<WebhookConfig>, ConfigError> {
    let mut webhooks: Vec<WebhookConfig> = Vec::new();
    for table in tables {
        let webhook = table.get_ref();
        check_groups(source, groups, &table, webhook.groups.as_deref())?;
        if webhooks.iter().any(|known| known.name == webhook.name) {
            let why = format!("the webhook \"{}\" is there twice", webhook.name);
            return Err(source.error(&table, &why));
        }
        if let Some(odd) = unencrypted(webhook.url.expose()) {
            let told = format!("webhook \"{}\": {odd}", webhook.name);
            warnings.push(source.at(table.span(), &told));
        }
        webhooks.push(table.into_inner());
    }
    Ok(webhooks)
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
