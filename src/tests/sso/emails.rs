//! Who is let in for an address: whoever the provider says it checked it of.

use lockkeeper::server::clock::Clock;

use super::provider::{Provider, table};
use super::{Sso, access_as, why};
use crate::access::location;

const GRANTS: &str = r#"
[[sign_in.oidc.grant]]
claim = "email"
value = "boss@example.org"
role = "admin"

[[sign_in.oidc.grant]]
claim = "email"
value = "texan@example.org"
role = "viewer"
"#;

async fn sso(provider: &Provider, grants: &str) -> Sso {
    let table = table(&provider.issuer()).replace("\"groups\"]", "\"email\"]");
    Sso::console(access_as(&table, grants), Clock::real()).await
}

#[tokio::test]
async fn an_address_that_the_provider_did_not_check_grants_nothing() {
    let provider = Provider::start().await;
    let sso = sso(&provider, GRANTS).await;
    for name in ["stranger", "mute"] {
        let mut stranger = sso.visitor();
        let answer = stranger.sign_in(name).await;
        assert_eq!(why(&answer), "no-role", "{name}");
        assert!(!stranger.is_in().await);
    }
    for name in ["boss", "texan"] {
        let mut known = sso.visitor();
        assert_eq!(location(&known.sign_in(name).await), "/nodes", "{name}");
        assert!(known.is_in().await);
    }
}

#[tokio::test]
async fn where_claims_come_from_the_userinfo_endpoint_so_does_whether_the_address_was_checked() {
    let provider = Provider::start_with(serde_json::json!({"thin": true})).await;
    let sso = sso(&provider, GRANTS).await;
    let mut stranger = sso.visitor();
    assert_eq!(why(&stranger.sign_in("stranger").await), "no-role");
    let mut boss = sso.visitor();
    assert_eq!(location(&boss.sign_in("boss").await), "/nodes");
}
