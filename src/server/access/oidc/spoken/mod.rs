//! OpenID Connect as it is spoken with a provider: what it is like, where somebody signs in, and what a code is worth.

mod http;
mod proof;

use std::sync::Arc;
use std::time::{Duration, Instant};

use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreErrorResponseType,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, DiscoveryError,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl, LogoutRequest, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout,
    RedirectUrl, RequestTokenError, Scope,
};
use tokio::sync::Mutex;

use self::http::{Http, Unanswered};
use crate::domain::Timestamp;
use crate::server::access::oidc::claims::found;
use crate::server::access::oidc::{Begun, Brought, Claims, Refusal};
use crate::server::config::oidc::ProviderConfig;
use crate::server::http_client::error_chain;

/// Whether this can be spoken.
pub const IS_BUILT_IN: bool = true;

/// After so long a provider is asked anew what it is like.
const FRESH: Duration = Duration::from_hours(1);
/// After it could not be asked, so long nobody tries again: whoever asks meanwhile hears it at once.
const PAUSE: Duration = Duration::from_secs(1);

/// A provider.
pub struct Provider {
    config: ProviderConfig,
    http: Http,
    known: Mutex<Known>,
}

/// What is known of it.
#[derive(Default)]
struct Known {
    told: Option<(Instant, Arc<ProviderMetadataWithLogout>)>,
    failed: Option<(Instant, Refusal)>,
}

/// The console, as the provider knows it.
type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Provider {
    /// Nothing is asked before somebody wants to know.
    pub fn new(config: &ProviderConfig) -> Option<Self> {
        Some(Self {
            config: config.clone(),
            http: Http::new(config),
            known: Mutex::default(),
        })
    }

    /// Whether it can be asked what it is like.
    pub async fn look(&self) -> Result<(), Refusal> {
        self.metadata().await.map(drop)
    }

    /// Where somebody signs in, who is to come back with this `state` and a word with this `nonce`.
    pub async fn begin(&self, state: &str, nonce: &str) -> Result<Begun, Refusal> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (state, nonce) = (state.to_owned(), nonce.to_owned());
        let request = client.authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state),
            move || Nonce::new(nonce),
        );
        // `openid` is always asked for.
        let scopes = self.config.scopes.iter().filter(|scope| *scope != "openid");
        let scopes = scopes.map(|scope| Scope::new(scope.clone()));
        let (url, _, _) = request
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        Ok(Begun {
            url: url.into(),
            verifier: verifier.into_secret(),
        })
    }

    /// What the provider says of whoever brought this code; with the claims that are wanted, where it has them.
    pub async fn end(
        &self,
        brought: Brought<'_>,
        wanted: &[&str],
        now: Timestamp,
    ) -> Result<Claims, Refusal> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata).await?;
        let answer = client
            .exchange_code(AuthorizationCode::new(brought.code.to_owned()))
            .map_err(|why| Refusal::Refused(why.to_string()))?
            .set_pkce_verifier(PkceCodeVerifier::new(brought.verifier.to_owned()))
            .request_async(&self.http)
            .await
            .map_err(no_token)?;
        let nonce = Nonce::new(brought.nonce.to_owned());
        let mut proven = proof::claims(&client, &answer, &nonce, now);
        if let Err(proof::Unproven::Signature(_)) = proven {
            // The provider may sign with a newer key than was known.
            let metadata = self.metadata_anew().await?;
            proven = proof::claims(&self.client(&metadata).await?, &answer, &nonce, now);
        }
        let mut claims = proven.map_err(Refusal::from)?;
        if wanted.iter().any(|name| found(&claims, name).is_none()) {
            self.ask_more(&client, &answer, &mut claims).await?;
        }
        Ok(claims)
    }

    /// Where somebody ends their session with the provider, and comes back from.
    ///
    /// Who asks is said by `client_id`; the specification would rather have an `id_token_hint`, and leaves it out all the same. The
    /// ID token would have to be kept with the session, in the storage, and would stand in an address, and so
    /// in the browser's history and the provider's log, while there are servers that let in whoever has one. Without it the
    /// provider asks people before it signs them out, which no link of a stranger does in their name then.
    /// <https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout>
    pub async fn sign_out_url(&self) -> Option<String> {
        let metadata = self.metadata().await.ok()?;
        let there = metadata
            .additional_metadata()
            .end_session_endpoint
            .clone()?;
        let here = format!("{}/sign-in", self.config.console_url);
        let request = LogoutRequest::from(there)
            .set_client_id(ClientId::new(self.config.client_id.clone()))
            .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(here).ok()?);
        Some(request.http_get_url().into())
    }

    async fn client(&self, metadata: &ProviderMetadataWithLogout) -> Result<Client, Refusal> {
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_none_or(|methods| methods.contains(&method));
        let secret = self.secret().await?.map(ClientSecret::new);
        let id = ClientId::new(self.config.client_id.clone());
        let back = RedirectUrl::new(self.config.back())
            .map_err(|why| Refusal::Refused(format!("console_url: {why}")))?;
        let auth = if takes(CoreClientAuthMethod::ClientSecretBasic) {
            AuthType::BasicAuth
        } else {
            AuthType::RequestBody
        };
        let client = CoreClient::from_provider_metadata(metadata.clone(), id, secret);
        Ok(client.set_redirect_uri(back).set_auth_type(auth))
    }

    /// What the console proves itself with, as it is now.
    async fn secret(&self) -> Result<Option<String>, Refusal> {
        let Some(secret) = self.config.client_secret.clone() else {
            return Ok(None);
        };
        let reading = tokio::task::spawn_blocking(move || secret.read());
        let read = reading
            .await
            .map_err(|why| Refusal::Away(why.to_string()))?;
        read.map(Some)
            .map_err(|why| Refusal::Away(format!("client_secret_file: {why}")))
    }

    /// What the provider is like, as it was told not long ago.
    async fn metadata(&self) -> Result<Arc<ProviderMetadataWithLogout>, Refusal> {
        let mut known = self.known.lock().await;
        if let Some((at, told)) = &known.told
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(told));
        }
        if let Some((at, why)) = &known.failed
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        match self.discover().await {
            Ok(told) => Ok(known.note(told)),
            // What it said before is better than nothing.
            Err(_) if let Some((_, told)) = &known.told => Ok(Arc::clone(told)),
            Err(why) => {
                known.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    /// The same, asked now.
    async fn metadata_anew(&self) -> Result<Arc<ProviderMetadataWithLogout>, Refusal> {
        let mut known = self.known.lock().await;
        let told = self.discover().await?;
        Ok(known.note(told))
    }

    async fn discover(&self) -> Result<ProviderMetadataWithLogout, Refusal> {
        let issuer = IssuerUrl::new(self.config.issuer.clone());
        let issuer = issuer.map_err(|why| Refusal::Away(format!("issuer: {why}")))?;
        let discovered = ProviderMetadataWithLogout::discover_async(issuer, &self.http).await;
        discovered.map_err(|why: DiscoveryError<Unanswered>| Refusal::Away(error_chain(&why)))
    }
}

impl Known {
    fn note(&mut self, told: ProviderMetadataWithLogout) -> Arc<ProviderMetadataWithLogout> {
        let told = Arc::new(told);
        self.told = Some((Instant::now(), Arc::clone(&told)));
        self.failed = None;
        told
    }
}

/// Why there is nothing for a code.
fn no_token(
    why: RequestTokenError<Unanswered, openidconnect::StandardErrorResponse<CoreErrorResponseType>>,
) -> Refusal {
    match why {
        RequestTokenError::ServerResponse(says) => match says.error() {
            CoreErrorResponseType::InvalidGrant => {
                Refusal::NotProven("it does not take the code (invalid_grant)".to_owned())
            }
            wrong @ (CoreErrorResponseType::InvalidClient
            | CoreErrorResponseType::UnauthorizedClient) => Refusal::Unknown(wrong.to_string()),
            _ => Refusal::Refused(format!("it gives nothing for the code: {says}")),
        },
        RequestTokenError::Request(why) => Refusal::Away(why.to_string()),
        // The body may have secrets in it.
        RequestTokenError::Parse(why, _) => {
            Refusal::Away(format!("it does not answer as it should: {why}"))
        }
        RequestTokenError::Other(why) => Refusal::Away(why),
    }
}
