//! Role mappings by email address require that the provider verified the address.

use lockkeeper::server::clock::Clock;

use super::provider::{Provider, table};
use super::{SsoConsole, access_with, error_code};
use crate::access::location;

const ROLE_MAPPINGS: &str = r#"
[[sign_in.oidc.role_mapping]]
claim = "email"
value = "boss@example.org"
role = "admin"

[[sign_in.oidc.role_mapping]]
claim = "email"
value = "texan@example.org"
role = "viewer"
"#;

async fn start_console(provider: &Provider, role_mappings: &str) -> SsoConsole {
    let table = table(&provider.issuer()).replace("\"groups\"]", "\"email\"]");
    SsoConsole::start(access_with(&table, role_mappings), Clock::system()).await
}

#[tokio::test]
async fn an_unverified_email_address_grants_no_role() {
    let provider = Provider::start().await;
    let console = start_console(&provider, ROLE_MAPPINGS).await;
    for name in ["stranger", "mute"] {
        let mut unverified = console.browser();
        let response = unverified.sign_in(name).await;
        assert_eq!(error_code(&response), "no-role", "{name}");
        assert!(!unverified.check_session().await);
    }
    for name in ["boss", "texan"] {
        let mut verified = console.browser();
        assert_eq!(location(&verified.sign_in(name).await), "/nodes", "{name}");
        assert!(verified.check_session().await);
    }
}

#[tokio::test]
async fn email_verified_is_read_from_the_userinfo_endpoint_like_the_other_claims() {
    let provider = Provider::start_with(serde_json::json!({"thin": true})).await;
    let console = start_console(&provider, ROLE_MAPPINGS).await;
    let mut unverified = console.browser();
    assert_eq!(error_code(&unverified.sign_in("stranger").await), "no-role");
    let mut boss = console.browser();
    assert_eq!(location(&boss.sign_in("boss").await), "/nodes");
}
