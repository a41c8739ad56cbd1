//! Authentication and authorization of users, API tokens and proxies over HTTP.

mod authentication_metrics;
mod bad_credentials;
mod cross_site;
mod key_scope;
pub mod matrix;
mod proxies;
mod rebinding;
mod revocation;
mod scopes;
mod sessions;
mod sign_in;
mod tokens;

use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, Version};
use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::access::tokens::generate_token;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::{SecretHash, TokenConfig, UserConfig};
use lockkeeper::server::config::{AccessConfig, Config, GroupConfig};
use sha2::{Digest as _, Sha256};

use crate::support::console::{ApiClient, ApiResponse, TestConsole};

/// The password of every user.
pub const PASSWORD: &str = "correct horse battery";

/// A user with [`PASSWORD`], hashed with the cheapest parameters so that tests run fast.
pub fn user_config(name: &str, grant: RoleGrant) -> UserConfig {
    let params = Params::new(64, 1, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash = argon2.hash_password(PASSWORD.as_bytes()).unwrap();
    UserConfig {
        name: name.to_owned(),
        password_hash: Some(SecretHash(hash)),
        grant,
    }
}

/// An API token and its configuration.
pub fn api_token(id: &str, grant: RoleGrant) -> (String, TokenConfig) {
    let (token, _) = generate_token(id);
    let config = TokenConfig {
        id: id.to_owned(),
        digest: Sha256::digest(&token).into(),
        grant,
        expires: None,
    };
    (token, config)
}

/// A role in these groups, for locks whose keys match these patterns.
pub fn role_grant(role: Role, groups: Option<&[&str]>, keys: Option<&[&str]>) -> RoleGrant {
    let list =
        |names: &[&str]| -> Arc<[String]> { names.iter().map(ToString::to_string).collect() };
    RoleGrant {
        role,
        groups: groups.map(list),
        keys: keys.map(list),
    }
}

/// Starts a console with these groups and users.
pub async fn start_console_with_users(
    groups: Vec<GroupConfig>,
    users: Vec<UserConfig>,
) -> TestConsole {
    let access = AccessConfig {
        users,
        ..AccessConfig::default()
    };
    start_console_with_access(groups, access, Clock::system()).await
}

/// Starts a console with these groups and this access configuration.
pub async fn start_console_with_access(
    groups: Vec<GroupConfig>,
    access: AccessConfig,
    clock: Clock,
) -> TestConsole {
    let config = Config {
        access,
        ..Config::with_groups(groups)
    };
    TestConsole::start_with_config(config, clock).await
}

/// Submits the sign-in form.
pub async fn try_to_sign_in(api: &ApiClient, name: &str, password: &str) -> ApiResponse {
    let form = format!(
        "name={name}&password={}&next=%2Fnodes",
        password.replace(' ', "+")
    );
    api.send("POST", "/sign-in", &FORM_HEADERS, form).await
}

/// The headers of a form.
pub const FORM_HEADERS: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

/// Signs in with [`PASSWORD`] and returns the session cookie.
pub async fn sign_in(api: &ApiClient, name: &str) -> String {
    let response = try_to_sign_in(api, name, PASSWORD).await;
    assert_eq!(location(&response), "/nodes", "{response:?}");
    cookie(&response)
}

/// The cookie that a response sets, without its attributes.
pub fn cookie(response: &ApiResponse) -> String {
    let set_cookie = response.headers["set-cookie"].to_str().unwrap();
    set_cookie.split(';').next().unwrap().to_owned()
}

/// The path that a response redirects to.
pub fn location(response: &ApiResponse) -> &str {
    assert_eq!(response.status, 303, "{response:?}");
    response.headers["location"].to_str().unwrap()
}

/// Sends a GET request with a cookie.
pub async fn get_with_cookie(api: &ApiClient, path: &str, cookie: &str) -> ApiResponse {
    api.send("GET", path, &[("cookie", cookie)], "").await
}
