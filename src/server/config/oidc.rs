//! The `[sign_in.oidc]` table: an OpenID Connect provider that says who somebody is, and what they may do here for what it says.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::{duration, expand, roots};
use super::sign_in::Around;
use crate::domain::Rights;
use crate::domain::role::Role;
use crate::server::https::Roots;
use crate::sso;

/// The claims in which a provider usually says what somebody is called, the best first; `sub` it always says.
const USUAL_NAMES: [&str; 2] = ["preferred_username", "email"];
/// The claim that grants are about, unless they name another.
const USUAL_CLAIM: &str = "groups";
/// The longest label of the button, in letters.
const LONGEST_LABEL: usize = 40;

/// People who sign in with a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct OidcConfig {
    /// Who says who they are.
    pub provider: ProviderConfig,
    /// What the button on the page calls it.
    pub label: String,
    /// The claims that say what somebody is called: the first that is there.
    pub names: Vec<String>,
    /// Who may do what: the first that fits.
    pub grants: Vec<GrantConfig>,
    /// So long after the sign-in the provider is asked again: what it says of somebody counts no longer than that.
    pub max_session: Duration,
}

/// How long a session of somebody lasts at most who signed in with a provider, unless the configuration says otherwise.
pub const DEFAULT_MAX_SESSION: Duration = Duration::from_hours(1);

/// A provider, and as whom it knows the console.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// Its address; what it calls itself in all it says.
    pub issuer: String,
    /// What the console is called there.
    pub client_id: String,
    /// What the console proves that with; a public client has nothing but PKCE.
    pub client_secret: Option<ClientSecret>,
    /// Where browsers find the console: scheme, host and port.
    pub console_url: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// The certificates (`ca_file`) that its own is checked with; the public ones where it is absent.
    pub roots: Option<Roots>,
    /// How long one request to it may take.
    pub timeout: Duration,
}

/// A secret that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientSecret {
    /// It stands in the configuration, or in the environment.
    Given(String),
    /// It stands in a file, and may be another by now.
    InFile(PathBuf),
}

/// What somebody may do of whom the provider says this.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantConfig {
    /// The claim. One inside another has dots: `realm_access.roles`.
    pub claim: String,
    /// What it has to be, or to have among others.
    pub value: String,
    /// (Of `email`) An address counts also where the provider does not say that it checked it.
    pub unverified: bool,
    /// What they may do.
    pub rights: Rights,
}

impl GrantConfig {
    /// The claim with somebody's address, which at many providers they type in themselves.
    pub const EMAIL: &str = "email";

    /// Why somebody may be let in for this whom nobody meant, if that is so.
    fn warning(&self) -> Option<String> {
        let claim = self.claim.as_str();
        if self.unverified {
            return Some(format!(
                "[[sign_in.oidc.grant]] with `unverified = true` for {:?}: at a provider where people type in their address, whoever \
                 types in this one gets the role; leave `unverified` out if the provider sends `email_verified`",
                self.value
            ));
        }
        let is_chosen = ["preferred_username", "name", "nickname"].contains(&claim);
        is_chosen.then(|| {
            format!(
                "[[sign_in.oidc.grant]] claim = \"{claim}\", value = {:?}: at many providers people change this claim themselves, so \
                 somebody else may get the role; grant to a group, a role or a `sub`",
                self.value
            )
        })
    }
}

impl OidcConfig {
    /// What of it is odd but usable.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.grants.iter().filter_map(GrantConfig::warning)
    }
}

impl ClientSecret {
    /// The secret as it is now, for the provider: a file is read each time, so that another secret holds without a restart.
    ///
    /// The error says what is wrong with it, never what it is.
    pub fn read(&self) -> Result<String, String> {
        let secret = match self {
            Self::Given(secret) => secret.clone(),
            Self::InFile(path) => {
                let read = std::fs::read_to_string(path);
                let read =
                    read.map_err(|why| format!("the secret's file cannot be read: {why}"))?;
                read.trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        if secret.is_empty() {
            return Err("its secret is empty; a client that has none has neither `client_secret` nor `client_secret_file`".to_owned());
        }
        Ok(secret)
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

impl ProviderConfig {
    /// Where the provider sends browsers back to; it has to know this address.
    pub fn back(&self) -> String {
        format!("{}{}", self.console_url, Self::BACK)
    }

    /// The path of that.
    pub const BACK: &str = "/sign-in/back";
}

/// The table as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OidcTable {
    issuer: Spanned<String>,
    client_id: Spanned<String>,
    client_secret: Option<Spanned<String>>,
    client_secret_file: Option<Spanned<PathBuf>>,
    console_url: Spanned<String>,
    scopes: Option<Spanned<Vec<Spanned<String>>>>,
    label: Option<Spanned<String>>,
    name_claim: Option<Spanned<String>>,
    ca_file: Option<Spanned<PathBuf>>,
    timeout: Option<Spanned<String>>,
    max_session: Option<Spanned<String>>,
    #[serde(default)]
    grant: Vec<GrantTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantTable {
    claim: Option<Spanned<String>>,
    value: Spanned<String>,
    unverified: Option<Spanned<bool>>,
    role: Role,
    groups: Option<Spanned<Vec<Spanned<String>>>>,
    keys: Option<Spanned<Vec<Spanned<String>>>>,
}

impl Around<'_> {
    /// Reads the table.
    pub(super) fn oidc(&self, spanned: &Spanned<OidcTable>) -> Result<OidcConfig, ConfigError> {
        if !sso::IS_BUILT_IN {
            return Err(self.source.error(
                spanned,
                "this lockkeeper was built without single sign-on; build it with the cargo feature `sso`, or take this table out",
            ));
        }
        let table = spanned.get_ref();
        if table.grant.is_empty() {
            return Err(self.source.error(
                spanned,
                "nobody who signs in here could do anything: add a [[sign_in.oidc.grant]]",
            ));
        }
        let issuer = self.address(&table.issuer)?;
        let console_url = self.address(&table.console_url)?;
        let console_url = console_url.trim_end_matches('/').to_owned();
        if console_url.matches('/').count() != 2 {
            let why = "the console's address has no path, like \"https://locks.example.org\"";
            return Err(self.source.error(&table.console_url, why));
        }
        let grants = table.grant.iter().map(|grant| self.grant(grant));
        Ok(OidcConfig {
            provider: ProviderConfig {
                client_id: self.word(&table.client_id)?,
                client_secret: self.client_secret(table)?,
                scopes: self.scopes(table)?,
                roots: roots(self.source, table.ca_file.as_ref())?,
                timeout: duration(self.source, table.timeout.as_ref(), Duration::from_secs(10))?,
                console_url,
                issuer,
            },
            label: self.label(table)?,
            names: match &table.name_claim {
                Some(claim) => vec![self.word(claim)?],
                None => USUAL_NAMES.map(str::to_owned).to_vec(),
            },
            grants: grants.collect::<Result<_, _>>()?,
            max_session: duration(self.source, table.max_session.as_ref(), DEFAULT_MAX_SESSION)?,
        })
    }

    /// An address that is spoken to over TLS, or on this machine.
    fn address(&self, text: &Spanned<String>) -> Result<String, ConfigError> {
        let wrong = |why: &str| self.source.error(text, why);
        let uri: Uri = text
            .get_ref()
            .parse()
            .map_err(|_| wrong("this is not an address; write \"https://login.example.org\""))?;
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_here => {}
            Some("http") => return Err(wrong("this has to be https, except on this machine")),
            _ => {
                return Err(wrong(
                    "this is not an address; write \"https://login.example.org\"",
                ));
            }
        }
        let is_plain = !text.get_ref().contains(['?', '#', '@']) && !host.is_empty();
        if !is_plain {
            return Err(wrong(
                "this address may have no user name, query or fragment",
            ));
        }
        Ok(text.get_ref().clone())
    }

    fn client_secret(&self, table: &OidcTable) -> Result<Option<ClientSecret>, ConfigError> {
        let (secret, place) = match (&table.client_secret, &table.client_secret_file) {
            (None, None) => return Ok(None),
            (Some(text), None) => {
                let secret = expand(text.get_ref(), self.environment);
                let secret = secret.map_err(|why| self.source.error(text, &why))?;
                (ClientSecret::Given(secret), text.span())
            }
            (None, Some(path)) => (ClientSecret::InFile(path.get_ref().clone()), path.span()),
            (Some(_), Some(path)) => {
                let why =
                    "there are `client_secret` and `client_secret_file`; one of them is too many";
                return Err(self.source.error(path, why));
            }
        };
        // So that a file that is missing or empty is told at the start, with its place.
        let is_there = secret.read().map(drop);
        is_there.map_err(|why| self.source.error(&Spanned::new(place, ()), &why))?;
        Ok(Some(secret))
    }

    fn scopes(&self, table: &OidcTable) -> Result<Vec<String>, ConfigError> {
        let mut scopes = vec!["openid".to_owned()];
        let Some(given) = &table.scopes else {
            scopes.push("profile".to_owned());
            return Ok(scopes);
        };
        for scope in given.get_ref() {
            let scope = self.word(scope)?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Ok(scopes)
    }

    fn label(&self, table: &OidcTable) -> Result<String, ConfigError> {
        let Some(label) = &table.label else {
            let uri: Option<Uri> = table.issuer.get_ref().parse().ok();
            let host = uri.and_then(|uri| uri.host().map(str::to_owned));
            return Ok(host.unwrap_or_default());
        };
        let text = label.get_ref().trim();
        let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
        if !is_plain || text.chars().count() > LONGEST_LABEL {
            let why = "the label of a button has 1 to 40 letters";
            return Err(self.source.error(label, why));
        }
        Ok(text.to_owned())
    }

    fn grant(&self, table: &GrantTable) -> Result<GrantConfig, ConfigError> {
        let claim = table.claim.as_ref().map(|claim| self.word(claim));
        if table.value.get_ref().is_empty() {
            let why = "this grants to nobody: write what the claim has to have";
            return Err(self.source.error(&table.value, why));
        }
        let claim = claim.unwrap_or_else(|| Ok(USUAL_CLAIM.to_owned()))?;
        if let Some(unverified) = &table.unverified
            && claim != GrantConfig::EMAIL
        {
            let why = "`unverified` is about addresses: it goes with claim = \"email\" only";
            return Err(self.source.error(unverified, why));
        }
        Ok(GrantConfig {
            claim,
            value: table.value.get_ref().clone(),
            unverified: table
                .unverified
                .as_ref()
                .is_some_and(|text| *text.get_ref()),
            rights: self.rights(table.role, table.groups.as_ref(), table.keys.as_ref())?,
        })
    }

    /// Something without spaces.
    fn word(&self, text: &Spanned<String>) -> Result<String, ConfigError> {
        let word = text.get_ref();
        if word.is_empty() || word.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let why = "this has at least one letter, and no spaces";
            return Err(self.source.error(text, why));
        }
        Ok(word.clone())
    }
}
