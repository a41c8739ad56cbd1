//! The `[sign_in.oidc]` table: an OpenID Connect provider that says who somebody is, and what they may do here for what it says.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::rights::{check_groups, rights};
use super::source::Source;
use super::values::{CaFile, NonEmpty, Pattern, Period, Rule, Text, Word, Wrong, seconds};
use crate::domain::Rights;
use crate::domain::role::Role;
use crate::server::http_client::Roots;
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
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OidcTable {
    #[serde_as(as = "Text<Address>")]
    issuer: String,
    #[serde_as(as = "Text<Word>")]
    client_id: String,
    client_secret: Option<String>,
    client_secret_file: Option<PathBuf>,
    #[serde_as(as = "Text<ConsoleUrl>")]
    console_url: String,
    #[serde_as(as = "Vec<Text<Word>>")]
    #[serde(default = "usual_scopes")]
    scopes: Vec<String>,
    #[serde_as(as = "Option<Text<Label>>")]
    label: Option<String>,
    #[serde_as(as = "Option<Text<Word>>")]
    name_claim: Option<String>,
    #[serde_as(as = "Option<Text<CaFile>>")]
    ca_file: Option<Roots>,
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<10>")]
    timeout: Duration,
    #[serde_as(as = "Option<Text<Period>>")]
    max_session: Option<Duration>,
    #[serde(default)]
    grant: Vec<Spanned<GrantTable>>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantTable {
    #[serde_as(as = "Text<Word>")]
    #[serde(default = "usual_claim")]
    claim: String,
    value: String,
    unverified: Option<bool>,
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Text<Pattern>>>")]
    keys: Option<Vec<String>>,
}

fn usual_scopes() -> Vec<String> {
    vec!["profile".to_owned()]
}

fn usual_claim() -> String {
    USUAL_CLAIM.to_owned()
}

/// Reads the table; `groups` are the names of the groups that exist.
pub(super) fn read(
    source: &Source<'_>,
    groups: &[String],
    spanned: Spanned<OidcTable>,
) -> Result<OidcConfig, ConfigError> {
    let place = Spanned::new(spanned.span(), ());
    let table = spanned.into_inner();
    for grant in &table.grant {
        check_groups(source, groups, grant, grant.get_ref().groups.as_deref())?;
        grant
            .get_ref()
            .check()
            .map_err(|why| source.error(grant, why))?;
    }
    config(table).map_err(|why| source.error(&place, &why))
}

fn config(table: OidcTable) -> Result<OidcConfig, String> {
    if !sso::IS_BUILT_IN {
        return Err("this lockkeeper was built without single sign-on; build it with the cargo feature `sso`, or take this table out".to_owned());
    }
    if table.grant.is_empty() {
        return Err(
            "nobody who signs in here could do anything: add a [[sign_in.oidc.grant]]".to_owned(),
        );
    }
    let host = || Some(table.issuer.parse::<Uri>().ok()?.host()?.to_owned());
    let label = table.label.or_else(host).unwrap_or_default();
    let mut scopes = vec!["openid".to_owned()];
    for scope in table.scopes {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let usual_names = || USUAL_NAMES.map(str::to_owned).to_vec();
    let grants = table.grant.into_iter().map(Spanned::into_inner);
    Ok(OidcConfig {
        provider: ProviderConfig {
            client_id: table.client_id,
            client_secret: client_secret(table.client_secret, table.client_secret_file)?,
            scopes,
            roots: table.ca_file,
            timeout: table.timeout,
            console_url: table.console_url,
            issuer: table.issuer,
        },
        label,
        names: table
            .name_claim
            .map_or_else(usual_names, |claim| vec![claim]),
        grants: grants.map(GrantConfig::from).collect(),
        max_session: table.max_session.unwrap_or(DEFAULT_MAX_SESSION),
    })
}

/// The secret, which is read once, so that a file that is missing or empty is found at the start.
fn client_secret(
    given: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<ClientSecret>, String> {
    let secret = match (given, file) {
        (None, None) => return Ok(None),
        (Some(text), None) => ClientSecret::Given(text),
        (None, Some(path)) => ClientSecret::InFile(path),
        (Some(_), Some(_)) => {
            return Err(
                "there are `client_secret` and `client_secret_file`; one of them is too many"
                    .to_owned(),
            );
        }
    };
    secret.read()?;
    Ok(Some(secret))
}

impl GrantTable {
    fn check(&self) -> Result<(), &'static str> {
        if self.value.is_empty() {
            return Err("this grants to nobody: write in `value` what the claim has to have");
        }
        if self.unverified.is_some() && self.claim != GrantConfig::EMAIL {
            return Err("`unverified` is about addresses: it goes with claim = \"email\" only");
        }
        Ok(())
    }
}

impl From<GrantTable> for GrantConfig {
    fn from(table: GrantTable) -> Self {
        Self {
            claim: table.claim,
            value: table.value,
            unverified: table.unverified.unwrap_or_default(),
            rights: rights(table.role, table.groups, table.keys),
        }
    }
}

/// An address that is spoken to over TLS, or on this machine.
struct Address;

impl Rule for Address {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        const NONE: &str = "this is not an address; write \"https://login.example.org\"";
        let uri: Uri = text.parse().map_err(|_| NONE)?;
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_here => {}
            Some("http") => {
                return Err("this has to be https, except on this machine".into());
            }
            _ => return Err(NONE.into()),
        }
        if text.contains(['?', '#', '@']) || host.is_empty() {
            return Err("this address may have no user name, query or fragment".into());
        }
        Ok(text.to_owned())
    }
}

/// The console's own address: scheme, host and port.
struct ConsoleUrl;

impl Rule for ConsoleUrl {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        let address = Address::read(text)?;
        let address = address.trim_end_matches('/');
        if address.matches('/').count() != 2 {
            return Err(
                "the console's address has no path, like \"https://locks.example.org\"".into(),
            );
        }
        Ok(address.to_owned())
    }
}

/// What stands on the button.
struct Label;

impl Rule for Label {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        let text = text.trim();
        let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
        if !is_plain || text.chars().count() > LONGEST_LABEL {
            return Err("the label of a button has 1 to 40 letters".into());
        }
        Ok(text.to_owned())
    }
}
