//! The `[sign_in.oidc]` table: an OpenID Connect provider, and the mapping of its claims to roles.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::role_grant::{check_groups, grant_from_fields};
use super::source::SourceFile;
use super::values::{
    BoundedDuration, CaFile, InvalidValue, NoWhitespace, NonEmpty, Parsed, Pattern, TextRule,
    seconds,
};
use crate::domain::RoleGrant;
use crate::domain::role::Role;
use crate::server::http_client::CaCertificates;

/// The default claims for the user name, in order of preference. The fallback is `sub`, which every
/// token has.
const DEFAULT_NAME_CLAIMS: [&str; 2] = ["preferred_username", "email"];
/// The default `claim` of a role mapping.
const DEFAULT_ROLE_CLAIM: &str = "groups";
/// The maximum length of the sign-in button's label.
const MAX_LABEL_CHARS: usize = 40;

/// Sign-in with an OpenID Connect provider.
#[derive(Clone, Debug, PartialEq)]
pub struct OidcConfig {
    /// The provider and the console's client registration.
    pub provider: ProviderConfig,
    /// The label of the sign-in button.
    pub label: String,
    /// The claims for the user name; the first one present is used.
    pub name_claims: Vec<String>,
    /// The role mappings; the first match applies.
    pub role_mappings: Vec<RoleMapping>,
    /// A session ends this long after sign-in, so that changed claims take effect.
    pub max_session_age: Duration,
}

/// The default of `max_session_age`.
pub const DEFAULT_MAX_SESSION: Duration = Duration::from_hours(1);

/// A provider, and the console's client registration there.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// The issuer URL, which is also the `iss` claim of its tokens.
    pub issuer: String,
    /// The client id of the console.
    pub client_id: String,
    /// The client secret; a public client has none and relies on PKCE.
    pub client_secret: Option<ClientSecret>,
    /// The URL of the console for browsers: scheme, host and port.
    pub public_url: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The certificate authorities (`ca_file`) for the provider's certificate; the public ones if
    /// absent.
    pub roots: Option<CaCertificates>,
    /// The timeout of one request to the provider.
    pub timeout: Duration,
}

/// A client secret. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientSecret {
    /// The secret itself, from the configuration or the environment.
    Inline(String),
    /// A file with the secret, which may be replaced at any time.
    File(PathBuf),
}

/// The permissions of users with a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleMapping {
    /// The claim. Nested claims are separated by dots: `realm_access.roles`.
    pub claim: String,
    /// The value that the claim must equal, or contain if it is a list.
    pub value: String,
    /// Only for `email`: accept addresses that the provider does not report as verified.
    pub unverified: bool,
    /// The permissions.
    pub grant: RoleGrant,
}

impl RoleMapping {
    /// The email claim. At many providers users can set it themselves.
    pub const EMAIL: &str = "email";

    /// A warning if users may be able to choose the claim's value themselves.
    fn warning(&self) -> Option<String> {
        let claim = self.claim.as_str();
        if self.unverified {
            return Some(format!(
                "[[sign_in.oidc.role_mapping]] with `unverified = true` for {:?}: if users of the provider can enter any email address, any user \
                  can obtain this role; remove `unverified` if the provider sends `email_verified`",
                self.value
            ));
        }
        let is_user_editable = ["preferred_username", "name", "nickname"].contains(&claim);
        is_user_editable.then(|| {
            format!(
                "[[sign_in.oidc.role_mapping]] claim = \"{claim}\", value = {:?}: at many providers users can change this claim themselves, so \
                  another user can obtain the role; map a group, a role or a `sub` instead",
                self.value
            )
        })
    }
}

impl OidcConfig {
    /// Warnings about the role mappings.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.role_mappings.iter().filter_map(RoleMapping::warning)
    }
}

impl ClientSecret {
    /// The current secret. A file is read at every call, so that a rotated secret takes effect
    /// without a restart.
    ///
    /// The error does not contain the secret.
    pub fn read(&self) -> Result<String, String> {
        let secret = match self {
            Self::Inline(secret) => secret.clone(),
            Self::File(path) => {
                let text = std::fs::read_to_string(path);
                let text =
                    text.map_err(|why| format!("the client secret file cannot be read: {why}"))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        if secret.is_empty() {
            return Err("the client secret is empty; for a public client, omit `client_secret` and `client_secret_file`".to_owned());
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
    /// The redirect URI, which must be registered at the provider.
    pub fn redirect_url(&self) -> String {
        format!("{}{}", self.public_url, Self::CALLBACK_PATH)
    }

    /// The path of the redirect URI.
    pub const CALLBACK_PATH: &str = "/sign-in/callback";
}

/// The `[sign_in.oidc]` table in the file.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OidcTable {
    #[serde_as(as = "Parsed<SecureUrl>")]
    issuer: String,
    #[serde_as(as = "Parsed<NoWhitespace>")]
    client_id: String,
    client_secret: Option<String>,
    client_secret_file: Option<PathBuf>,
    #[serde_as(as = "Parsed<PublicUrl>")]
    public_url: String,
    #[serde_as(as = "Vec<Parsed<NoWhitespace>>")]
    #[serde(default = "default_scopes")]
    scopes: Vec<String>,
    #[serde_as(as = "Option<Parsed<ButtonLabel>>")]
    label: Option<String>,
    #[serde_as(as = "Option<Parsed<NoWhitespace>>")]
    name_claim: Option<String>,
    #[serde_as(as = "Option<Parsed<CaFile>>")]
    ca_file: Option<CaCertificates>,
    #[serde_as(as = "Parsed<BoundedDuration>")]
    #[serde(default = "seconds::<10>")]
    timeout: Duration,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    max_session_age: Option<Duration>,
    #[serde(default)]
    role_mapping: Vec<Spanned<RoleMappingTable>>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleMappingTable {
    #[serde_as(as = "Parsed<NoWhitespace>")]
    #[serde(default = "default_role_claim")]
    claim: String,
    value: String,
    unverified: Option<bool>,
    role: Role,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    groups: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Parsed<Pattern>>>")]
    keys: Option<Vec<String>>,
}

fn default_scopes() -> Vec<String> {
    vec!["profile".to_owned()]
}

fn default_role_claim() -> String {
    DEFAULT_ROLE_CLAIM.to_owned()
}

/// Reads the table; `groups` are the names of the configured groups.
pub(super) fn read(
    source: &SourceFile<'_>,
    groups: &[String],
    spanned: Spanned<OidcTable>,
) -> Result<OidcConfig, ConfigError> {
    let position = Spanned::new(spanned.span(), ());
    let table = spanned.into_inner();
    for mapping in &table.role_mapping {
        check_groups(source, groups, mapping, mapping.get_ref().groups.as_deref())?;
        mapping
            .get_ref()
            .check()
            .map_err(|why| source.error(mapping, why))?;
    }
    build_config(table).map_err(|why| source.error(&position, &why))
}

fn build_config(table: OidcTable) -> Result<OidcConfig, String> {
    if !cfg!(feature = "sso") {
        return Err("this build of lockkeeper does not support single sign-on; build it with the cargo feature `sso`, or remove this table".to_owned());
    }
    if table.role_mapping.is_empty() {
        return Err(
            "no user would have any permission; add a [[sign_in.oidc.role_mapping]]".to_owned(),
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
    let default_name_claims = || DEFAULT_NAME_CLAIMS.map(str::to_owned).to_vec();
    let role_mappings = table.role_mapping.into_iter().map(Spanned::into_inner);
    Ok(OidcConfig {
        provider: ProviderConfig {
            client_id: table.client_id,
            client_secret: client_secret(table.client_secret, table.client_secret_file)?,
            scopes,
            roots: table.ca_file,
            timeout: table.timeout,
            public_url: table.public_url,
            issuer: table.issuer,
        },
        label,
        name_claims: table
            .name_claim
            .map_or_else(default_name_claims, |claim| vec![claim]),
        role_mappings: role_mappings.map(RoleMapping::from).collect(),
        max_session_age: table.max_session_age.unwrap_or(DEFAULT_MAX_SESSION),
    })
}

/// The client secret. It is read once, so that a missing or empty file is an error at startup.
fn client_secret(
    inline: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<ClientSecret>, String> {
    let secret = match (inline, file) {
        (None, None) => return Ok(None),
        (Some(text), None) => ClientSecret::Inline(text),
        (None, Some(path)) => ClientSecret::File(path),
        (Some(_), Some(_)) => {
            return Err(
                "`client_secret` and `client_secret_file` are both set; remove one of them"
                    .to_owned(),
            );
        }
    };
    secret.read()?;
    Ok(Some(secret))
}

impl RoleMappingTable {
    fn check(&self) -> Result<(), &'static str> {
        if self.value.is_empty() {
            return Err("`value` is empty; set the value that the claim must have");
        }
        if self.unverified.is_some() && self.claim != RoleMapping::EMAIL {
            return Err("`unverified` is only valid with claim = \"email\"; remove it");
        }
        Ok(())
    }
}

impl From<RoleMappingTable> for RoleMapping {
    fn from(table: RoleMappingTable) -> Self {
        Self {
            claim: table.claim,
            value: table.value,
            unverified: table.unverified.unwrap_or_default(),
            grant: grant_from_fields(table.role, table.groups, table.keys),
        }
    }
}

/// An `https` URL, or an `http` URL of this machine.
struct SecureUrl;

impl TextRule for SecureUrl {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        const INVALID_URL: &str = "invalid URL; write it like \"https://login.example.org\"";
        let uri: Uri = text.parse().map_err(|_| INVALID_URL)?;
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback => {}
            Some("http") => {
                return Err("the URL must use https, except for localhost".into());
            }
            _ => return Err(INVALID_URL.into()),
        }
        if text.contains(['?', '#', '@']) || host.is_empty() {
            return Err("the URL must not have a user name, query or fragment; remove it".into());
        }
        Ok(text.to_owned())
    }
}

/// The console's own URL: scheme, host and port.
struct PublicUrl;

impl TextRule for PublicUrl {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        let url = SecureUrl::parse(text)?;
        let url = url.trim_end_matches('/');
        if url.matches('/').count() != 2 {
            return Err(
                "`public_url` must not have a path; write it like \"https://locks.example.org\""
                    .into(),
            );
        }
        Ok(url.to_owned())
    }
}

/// The label of the sign-in button.
struct ButtonLabel;

impl TextRule for ButtonLabel {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        let text = text.trim();
        let is_printable = !text.is_empty() && !text.chars().any(char::is_control);
        if !is_printable || text.chars().count() > MAX_LABEL_CHARS {
            return Err("invalid label; use 1 to 40 printable characters".into());
        }
        Ok(text.to_owned())
    }
}
