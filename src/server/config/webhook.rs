//! The `[[webhook]]` tables: who is told of flags and acts, and how they can be sure that it was this console that told them.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::Uri;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::{Source, check_name, duration, expand, roots, unencrypted};
use crate::domain::{ActKind, Flag};
use crate::server::https::Roots;

/// Somebody who is told of flags and acts.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// Its name in logs and metrics.
    pub name: String,
    /// Where the events are posted to. It may hold a secret, so it is never shown.
    pub url: WebhookUrl,
    /// What each event is signed with.
    pub secret: WebhookSecret,
    /// The certificates (`ca_file`) that its own is checked with; the public ones where it is absent.
    pub roots: Option<Roots>,
    /// The groups; all where it is absent.
    pub groups: Option<Vec<String>>,
    /// The flags that it is told of.
    pub flags: Vec<Flag>,
    /// The acts that it is told of, refused ones too.
    pub acts: Vec<ActKind>,
    /// Whether it is told of locks that are lost to owners for whom this console renewed them.
    pub lost: bool,
    /// A flag is told once it has stood for so long.
    pub settle: Duration,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// The pause after the first attempt that failed; each further one is twice as long, up to five minutes.
    pub retry_after: Duration,
    /// After so long an event is given up.
    pub give_up_after: Duration,
}

/// An address that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Uri);

/// A key that is not shown.
#[derive(Clone, PartialEq, Eq)]
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
            Some(encoded) => BASE64_STANDARD_NO_PAD
                .decode(encoded.trim_end_matches('='))
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
            flags: Self::FLAGS.to_vec(),
            acts: vec![
                ActKind::ForceRelease,
                ActKind::CompleteRelease,
                ActKind::PutBack,
            ],
            lost: true,
            settle: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            retry_after: Duration::from_secs(1),
            give_up_after: Duration::from_hours(1),
        }
    }
}

/// The table as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    name: Spanned<String>,
    url: Spanned<String>,
    secret: Option<Spanned<String>>,
    secret_file: Option<Spanned<String>>,
    ca_file: Option<Spanned<PathBuf>>,
    groups: Option<Vec<Spanned<String>>>,
    flags: Option<Vec<Spanned<String>>>,
    acts: Option<Vec<Spanned<String>>>,
    lost: Option<bool>,
    settle: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    retry_after: Option<Spanned<String>>,
    give_up_after: Option<Spanned<String>>,
}

/// Reads the tables; `groups` are the names of the groups that exist.
pub(super) fn read(
    source: &Source<'_>,
    tables: &[Table],
    groups: &BTreeSet<String>,
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<WebhookConfig>, ConfigError> {
    let mut webhooks: Vec<WebhookConfig> = Vec::new();
    for table in tables {
        let webhook = read_one(source, table, groups, environment)?;
        if webhooks.iter().any(|known| known.name == webhook.name) {
            let why = format!("the webhook \"{}\" is there twice", webhook.name);
            return Err(source.error(&table.name, &why));
        }
        if let Some(odd) = unencrypted(webhook.url.expose()) {
            let told = format!("webhook \"{}\": {odd}", webhook.name);
            warnings.push(source.at(table.url.span(), &told));
        }
        webhooks.push(webhook);
    }
    Ok(webhooks)
}

fn read_one(
    source: &Source<'_>,
    table: &Table,
    groups: &BTreeSet<String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<WebhookConfig, ConfigError> {
    check_name(source, &table.name)?;
    let expanded = |text: &Spanned<String>| {
        expand(text.get_ref(), environment).map_err(|why| source.error(text, &why))
    };
    let url =
        WebhookUrl::parse(&expanded(&table.url)?).map_err(|why| source.error(&table.url, why))?;
    let (secret, place) = match (&table.secret, &table.secret_file) {
        (Some(secret), None) => (expanded(secret)?, secret),
        (None, Some(path)) => {
            let secret = std::fs::read_to_string(path.get_ref()).map_err(|why| {
                source.error(path, &format!("the secret's file cannot be read: {why}"))
            })?;
            (secret.trim_end_matches(['\r', '\n']).to_owned(), path)
        }
        (None, None) | (Some(_), Some(_)) => {
            let why = "a webhook has either `secret` or `secret_file`: without one nobody could tell this console's events from made-up ones";
            return Err(source.error(&table.name, why));
        }
    };
    let secret = WebhookSecret::parse(&secret).map_err(|why| source.error(place, why))?;
    let usual = WebhookConfig::new(table.name.get_ref(), url, secret);
    if let Some(wanted) = &table.groups {
        let unknown = wanted.iter().find(|name| !groups.contains(name.get_ref()));
        if let Some(name) = unknown {
            let why = format!("there is no group \"{}\" in this file", name.get_ref());
            return Err(source.error(name, &why));
        }
    }
    let span = |text: &Option<Spanned<String>>, default| duration(source, text.as_ref(), default);
    Ok(WebhookConfig {
        roots: roots(source, table.ca_file.as_ref())?,
        groups: table.groups.as_ref().map(|names| {
            let names = names.iter().map(|name| name.get_ref().clone());
            names.collect()
        }),
        flags: named(
            source,
            table.flags.as_ref(),
            usual.flags,
            "flag",
            Flag::from_slug,
        )?,
        acts: named(
            source,
            table.acts.as_ref(),
            usual.acts,
            "act",
            act_on_a_lock,
        )?,
        lost: table.lost.unwrap_or(usual.lost),
        settle: span(&table.settle, usual.settle)?,
        timeout: span(&table.timeout, usual.timeout)?,
        retry_after: span(&table.retry_after, usual.retry_after)?,
        give_up_after: span(&table.give_up_after, usual.give_up_after)?,
        ..usual
    })
}

/// What else the audit knows is not told.
fn act_on_a_lock(slug: &str) -> Option<ActKind> {
    let act = ActKind::from_slug(slug);
    act.filter(|act| match act {
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
    })
}

fn named<T>(
    source: &Source<'_>,
    given: Option<&Vec<Spanned<String>>>,
    usual: Vec<T>,
    what: &str,
    from_slug: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ConfigError> {
    let Some(given) = given else { return Ok(usual) };
    let read = |name: &Spanned<String>| {
        from_slug(name.get_ref()).ok_or_else(|| {
            source.error(name, &format!("there is no {what} \"{}\"", name.get_ref()))
        })
    };
    given.iter().map(read).collect()
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
