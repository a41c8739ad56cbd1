//! Who may come in and do what: people, programs and proxies at a console's real door.

mod bad_credentials;
mod counted;
mod cross_site;
mod matrix;
mod names;
mod proxies;
mod rebinding;
mod revoked;
mod scopes;
mod sessions;
mod sign_in;
mod tokens;

use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, Version};
use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::access::tokens::mint_token;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::{SecretHash, TokenConfig, UserConfig};
use lockkeeper::server::config::{AccessConfig, Config, GroupConfig};
use sha2::{Digest as _, Sha256};

use crate::support::console::{Answer, Person, TestConsole};

/// What everybody's password is here.
pub const PASSWORD: &str = "correct horse battery";

/// Somebody with this password. It is hashed cheaply: how much that costs is tried elsewhere.
pub fn user(name: &str, rights: Rights) -> UserConfig {
    let params = Params::new(64, 1, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash = argon2.hash_password(PASSWORD.as_bytes()).unwrap();
    UserConfig {
        name: name.to_owned(),
        password: Some(SecretHash(hash)),
        rights,
    }
}

/// A program's token, and what the configuration knows of it.
pub fn token(id: &str, rights: Rights) -> (String, TokenConfig) {
    let (token, _) = mint_token(id);
    let config = TokenConfig {
        id: id.to_owned(),
        digest: Sha256::digest(&token).into(),
        rights,
        expires: None,
    };
    (token, config)
}

/// A role in some groups, for locks with some names.
pub fn rights(role: Role, groups: Option<&[&str]>, keys: Option<&[&str]>) -> Rights {
    let list =
        |names: &[&str]| -> Arc<[String]> { names.iter().map(ToString::to_string).collect() };
    Rights {
        role,
        groups: groups.map(list),
        keys: keys.map(list),
    }
}

/// A console on these groups that lets these people in.
pub async fn console_for(groups: Vec<GroupConfig>, users: Vec<UserConfig>) -> TestConsole {
    let access = AccessConfig {
        users,
        ..AccessConfig::default()
    };
    console_with(groups, access, Clock::real()).await
}

/// A console on these groups with this way in.
pub async fn console_with(
    groups: Vec<GroupConfig>,
    access: AccessConfig,
    clock: Clock,
) -> TestConsole {
    let config = Config {
        access,
        ..Config::of(groups)
    };
    TestConsole::start_as(config, clock).await
}

/// Sends the form of the page on which people sign in.
pub async fn try_to_sign_in(person: &Person, name: &str, password: &str) -> Answer {
    let form = format!(
        "name={name}&password={}&next=%2Fnodes",
        password.replace(' ', "+")
    );
    person.send("POST", "/sign-in", &FORM, form).await
}

/// What a form is sent with.
pub const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

/// The cookie that a browser gets for signing in.
pub async fn sign_in(person: &Person, name: &str) -> String {
    let answer = try_to_sign_in(person, name, PASSWORD).await;
    assert_eq!(location(&answer), "/nodes", "{answer:?}");
    cookie(&answer)
}

/// The cookie that an answer sets, without its attributes.
pub fn cookie(answer: &Answer) -> String {
    let set = answer.headers["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

/// Where an answer sends somebody.
pub fn location(answer: &Answer) -> &str {
    assert_eq!(answer.status, 303, "{answer:?}");
    answer.headers["location"].to_str().unwrap()
}

/// Asks for something with a cookie.
pub async fn get_with(person: &Person, path: &str, cookie: &str) -> Answer {
    person.send("GET", path, &[("cookie", cookie)], "").await
}
