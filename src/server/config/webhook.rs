//! The `[[webhook]]` tables: receivers of events about flags and operations, and the secrets that
//! sign the events.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use data_encoding::BASE64_NOPAD;
use http::Uri;
use serde::Deserialize;
use serde_with::{DeserializeFromStr, serde_as};
use toml::Spanned;

use super::ConfigError;
use super::role_grant::check_groups;
use super::source::SourceFile;
use super::values::{
    BoundedDuration, CaFile, InvalidValue, Parsed, ResourceName, TextRule, cleartext_warning,
    seconds,
};
use crate::domain::{Flag, OperationKind, WebhookFormat};
use crate::server::http_client::CaCertificates;

/// A receiver of events.
#[serde_as]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// The name in logs and metrics.
    #[serde_as(as = "Parsed<ResourceName>")]
    pub name: String,
    /// The URL that events are posted to. It may contain a secret and is never shown.
    pub url: WebhookUrl,
    /// What the receiver expects.
    #[serde(default)]
    pub format: WebhookFormat,
    /// The key that signs each event (`secret`, or `secret_file`, which is read together with the
    /// configuration). For PagerDuty, the integration key. Slack has none: its URL is secret.
    pub secret: Option<WebhookSecret>,
    /// The URL of this console, for links in messages.
    pub public_url: Option<PublicUrl>,
    /// The certificate authorities (`ca_file`) for the receiver's certificate; the public ones if
    /// absent.
    #[serde_as(as = "Option<Parsed<CaFile>>")]
    #[serde(rename = "ca_file")]
    pub roots: Option<CaCertificates>,
    /// The groups whose events are sent; all if absent.
    pub groups: Option<Vec<String>>,
    /// The flags that are sent.
    #[serde(default = "default_flags")]
    pub flags: Vec<Flag>,
    /// The operations that are sent, including rejected ones.
    #[serde_as(as = "Vec<Parsed<LockOperation>>")]
    #[serde(default = "default_operations")]
    pub operations: Vec<OperationKind>,
    /// Whether the loss of a lock that this console renews is sent.
    #[serde(default = "default_true")]
    pub lost_locks: bool,
    /// Whether the head hash of the audit log is sent: at startup, every hour, and at shutdown.
    #[serde(default)]
    pub audit_head: bool,
    /// A flag is sent after it has been present for this long.
    #[serde_as(as = "Parsed<BoundedDuration>")]
    #[serde(default = "seconds::<3>")]
    pub flag_delay: Duration,
    /// The timeout of one delivery attempt.
    #[serde_as(as = "Parsed<BoundedDuration>")]
    #[serde(default = "seconds::<10>")]
    pub timeout: Duration,
    /// The delay after the first failed attempt. It doubles with each further failure, up to five
    /// minutes.
    #[serde_as(as = "Parsed<BoundedDuration>")]
    #[serde(default = "seconds::<1>")]
    pub retry_interval: Duration,
    /// The age at which an event is discarded.
    #[serde_as(as = "Parsed<BoundedDuration>")]
    #[serde(default = "seconds::<3600>")]
    pub max_age: Duration,
}

/// The URL under which browsers reach the console, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq, DeserializeFromStr)]
pub struct PublicUrl(String);

impl FromStr for PublicUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const INVALID_URL: &str =
            "invalid `public_url`; write it like \"https://locks.example.org\"";
        let uri: Uri = text.parse().map_err(|_| INVALID_URL)?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.query().is_some() || uri.path() != "/" {
            return Err(INVALID_URL);
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The URL of a receiver. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct WebhookUrl(Uri);

/// A signing key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, DeserializeFromStr)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookUrl {
    /// Parses an `http` or `https` URL.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const INVALID_URL: &str =
            "invalid `url`; write it like \"https://hooks.example.org/lockkeeper\"";
        let uri: Uri = text.parse().map_err(|_| INVALID_URL)?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) {
            return Err(INVALID_URL);
        }
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(
                "`url` must not have a user name or password; remove them, because every event is signed instead",
            );
        }
        Ok(Self(uri))
    }

    /// The URL, for the request.
    pub fn expose(&self) -> &Uri {
        &self.0
    }
}

impl WebhookSecret {
    /// The minimum length against brute force.
    const MIN_BYTES: usize = 16;

    /// Parses `whsec_` followed by base64 (Standard Webhooks); any other text is used as it is.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bytes = match text.strip_prefix("whsec_") {
            Some(encoded) => BASE64_NOPAD
                .decode(encoded.trim_end_matches('=').as_bytes())
                .map_err(|_| "the part after `whsec_` is not base64")?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.len() < Self::MIN_BYTES {
            return Err(
                "the secret is shorter than 16 bytes and could be guessed; create one with `openssl rand -base64 32`",
            );
        }
        Ok(Self(bytes))
    }

    /// The key, for the signature.
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
    /// The default of `flags`: those that are reasons for attention, without the hazard that every
    /// restart of a node raises for many locks, and `at-risk`, because an event is sent once.
    pub const DEFAULT_FLAGS: [Flag; 5] = [
        Flag::Split,
        Flag::NoExpiry,
        Flag::AtRisk,
        Flag::Overdue,
        Flag::Endless,
    ];

    /// A receiver with default settings.
    pub fn new(name: &str, url: WebhookUrl, secret: WebhookSecret) -> Self {
        Self {
            name: name.to_owned(),
            url,
            format: WebhookFormat::Standard,
            secret: Some(secret),
            public_url: None,
            roots: None,
            groups: None,
            flags: default_flags(),
            operations: default_operations(),
            lost_locks: true,
            audit_head: false,
            flag_delay: seconds::<3>(),
            timeout: seconds::<10>(),
            retry_interval: seconds::<1>(),
            max_age: seconds::<3600>(),
        }
    }
}

fn default_flags() -> Vec<Flag> {
    WebhookConfig::DEFAULT_FLAGS.to_vec()
}

fn default_operations() -> Vec<OperationKind> {
    vec![
        OperationKind::ForceRelease,
        OperationKind::CompleteRelease,
        OperationKind::Reacquired,
    ]
}

fn default_true() -> bool {
    true
}

/// An operation on a lock. Other audited actions are not sent.
struct LockOperation;

impl TextRule for LockOperation {
    type Value = OperationKind;

    fn parse(slug: &str) -> Result<OperationKind, InvalidValue> {
        let operation = slug.parse().ok().filter(|operation| match operation {
            OperationKind::Acquire
            | OperationKind::Extend
            | OperationKind::Release
            | OperationKind::ForceRelease
            | OperationKind::CompleteRelease
            | OperationKind::Reacquired => true,
            OperationKind::ClearRestartHazard
            | OperationKind::ChangePrefix
            | OperationKind::SaveView
            | OperationKind::DeleteView
            | OperationKind::TestWebhook
            | OperationKind::RevealToken
            | OperationKind::Monitor
            | OperationKind::SignIn
            | OperationKind::SignOut => false,
        });
        operation.ok_or_else(|| format!("unknown operation {slug:?}").into())
    }
}

/// Checks that names are unique and that the groups exist.
pub(super) fn read(
    source: &SourceFile<'_>,
    groups: &[String],
    tables: Vec<Spanned<WebhookConfig>>,
    warnings: &mut Vec<String>,
) -> Result<Vec<WebhookConfig>, ConfigError> {
    let mut webhooks: Vec<WebhookConfig> = Vec::new();
    for table in tables {
        let webhook = table.get_ref();
        check_groups(source, groups, &table, webhook.groups.as_deref())?;
        if webhooks.iter().any(|known| known.name == webhook.name) {
            let why = format!(
                "duplicate webhook \"{}\"; rename or remove one",
                webhook.name
            );
            return Err(source.error(&table, &why));
        }
        if let Some(warning) = cleartext_warning(webhook.url.expose()) {
            let warning = format!("webhook \"{}\": {warning}", webhook.name);
            warnings.push(source.message_at(table.span(), &warning));
        }
        check_format(webhook).map_err(|problem| source.error(&table, problem))?;
        let mut webhook = table.into_inner();
        if webhook.format == WebhookFormat::Pagerduty {
            webhook.operations = Vec::new();
        }
        webhooks.push(webhook);
    }
    Ok(webhooks)
}

/// Fails if the fields do not fit the format.
fn check_format(webhook: &WebhookConfig) -> Result<(), &'static str> {
    let sends_operations =
        !webhook.operations.is_empty() && webhook.operations != default_operations();
    match (webhook.format, &webhook.secret) {
        (WebhookFormat::Standard, None) => {
            Err("`secret` is missing; add it, because every event is signed")
        }
        (WebhookFormat::Pagerduty, None) => Err(
            "`secret` is missing; it is the integration key of a PagerDuty service (Events API v2)",
        ),
        (WebhookFormat::Slack, Some(_)) => {
            Err("`secret` is not used by Slack; remove it, because the URL is the secret")
        }
        (WebhookFormat::Pagerduty, _) if sends_operations || webhook.audit_head => Err(
            "PagerDuty receives flags and lost locks only; remove `operations` and `audit_head`",
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
