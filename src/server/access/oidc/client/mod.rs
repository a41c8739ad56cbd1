//! The OpenID Connect client: discovery, the authorization URL, and the code exchange.

mod http;
mod id_token;

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

use self::http::{ProviderHttp, ProviderHttpError};
use crate::domain::Timestamp;
use crate::server::access::oidc::claims::find_claim;
use crate::server::access::oidc::{AuthorizationStart, CodeExchange, OidcClaims, SignInError};
use crate::server::config::oidc::ProviderConfig;
use crate::server::http_client::error_chain;

/// How long the provider's metadata is cached.
const METADATA_TTL: Duration = Duration::from_hours(1);
/// How long a failed discovery is cached, so that concurrent sign-ins do not each wait for a
/// timeout.
const DISCOVERY_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A configured provider.
pub struct Provider {
    config: ProviderConfig,
    http: ProviderHttp,
    cache: Mutex<MetadataCache>,
}

/// The cached metadata, and the last failure to fetch it.
#[derive(Default)]
struct MetadataCache {
    metadata: Option<(Instant, Arc<ProviderMetadataWithLogout>)>,
    last_failure: Option<(Instant, SignInError)>,
}

type OidcClient = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Provider {
    /// Sends no request yet; metadata is fetched when it is first needed.
    pub fn new(config: &ProviderConfig) -> Option<Self> {
        Some(Self {
            config: config.clone(),
            http: ProviderHttp::new(config),
            cache: Mutex::default(),
        })
    }

    /// Fetches the metadata if it is not cached.
    pub async fn discover(&self) -> Result<(), SignInError> {
        self.metadata().await.map(drop)
    }

    /// Creates the authorization URL with this `state` and `nonce`.
    pub async fn start_authorization(
        &self,
        state: &str,
        nonce: &str,
    ) -> Result<AuthorizationStart, SignInError> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (state, nonce) = (state.to_owned(), nonce.to_owned());
        let request = client.authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state),
            move || Nonce::new(nonce),
        );
        // The library always adds `openid`.
        let scopes = self.config.scopes.iter().filter(|scope| *scope != "openid");
        let scopes = scopes.map(|scope| Scope::new(scope.clone()));
        let (url, _, _) = request
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        Ok(AuthorizationStart {
            url: url.into(),
            pkce_verifier: verifier.into_secret(),
        })
    }

    /// Exchanges the code and returns the verified claims. Queries the UserInfo endpoint if a
    /// required claim is not in the ID token.
    pub async fn exchange_code(
        &self,
        exchange: CodeExchange<'_>,
        required_claims: &[&str],
        now: Timestamp,
    ) -> Result<OidcClaims, SignInError> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata).await?;
        let response = client
            .exchange_code(AuthorizationCode::new(exchange.code.to_owned()))
            .map_err(|error| SignInError::RejectedByProvider(error.to_string()))?
            .set_pkce_verifier(PkceCodeVerifier::new(exchange.pkce_verifier.to_owned()))
            .request_async(&self.http)
            .await
            .map_err(token_error)?;
        let nonce = Nonce::new(exchange.nonce.to_owned());
        let mut verified = id_token::verify(&client, &response, &nonce, now);
        if let Err(id_token::IdTokenError::Signature(_)) = verified {
            // The provider may have rotated its keys since the metadata was cached.
            let metadata = self.refresh_metadata().await?;
            verified = id_token::verify(&self.client(&metadata).await?, &response, &nonce, now);
        }
        let mut claims = verified.map_err(SignInError::from)?;
        // Saves a request: many providers put all claims into the ID token.
        if required_claims
            .iter()
            .any(|name| find_claim(&claims, name).is_none())
        {
            self.fetch_user_info(&client, &response, &mut claims)
                .await?;
        }
        Ok(claims)
    }

    /// The URL at which the user ends the session with the provider.
    ///
    /// The request identifies the client by `client_id`. The specification recommends an
    /// `id_token_hint`, but does not require it. The ID token would have to be stored with the
    /// session in the database, and would appear in a URL and so in the browser's history and the
    /// provider's log, while some servers accept it as a credential. Without the hint the provider
    /// asks the user for confirmation, which also protects against sign-out links on other sites.
    /// <https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout>
    pub async fn sign_out_url(&self) -> Option<String> {
        let metadata = self.metadata().await.ok()?;
        let endpoint = metadata
            .additional_metadata()
            .end_session_endpoint
            .clone()?;
        let return_url = format!("{}/sign-in", self.config.public_url);
        let request = LogoutRequest::from(endpoint)
            .set_client_id(ClientId::new(self.config.client_id.clone()))
            .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(return_url).ok()?);
        Some(request.http_get_url().into())
    }

    async fn client(
        &self,
        metadata: &ProviderMetadataWithLogout,
    ) -> Result<OidcClient, SignInError> {
        let methods = metadata.token_endpoint_auth_methods_supported();
        let supports = |method| methods.is_none_or(|methods| methods.contains(&method));
        let secret = self.secret().await?.map(ClientSecret::new);
        let id = ClientId::new(self.config.client_id.clone());
        let redirect_url = RedirectUrl::new(self.config.redirect_url())
            .map_err(|error| SignInError::RejectedByProvider(format!("public_url: {error}")))?;
        // `client_secret_basic` is the specification's default, also if the provider lists no
        // methods.
        let auth = if supports(CoreClientAuthMethod::ClientSecretBasic) {
            AuthType::BasicAuth
        } else {
            AuthType::RequestBody
        };
        let client = CoreClient::from_provider_metadata(metadata.clone(), id, secret);
        Ok(client.set_redirect_uri(redirect_url).set_auth_type(auth))
    }

    /// Reads the client secret. Files are read each time, so a rotated secret takes effect without
    /// a restart.
    async fn secret(&self) -> Result<Option<String>, SignInError> {
        let Some(secret) = self.config.client_secret.clone() else {
            return Ok(None);
        };
        let reading = tokio::task::spawn_blocking(move || secret.read());
        let read = reading
            .await
            .map_err(|error| SignInError::ProviderUnavailable(error.to_string()))?;
        read.map(Some).map_err(|error| {
            SignInError::ProviderUnavailable(format!("client_secret_file: {error}"))
        })
    }

    /// The provider's metadata, at most [`METADATA_TTL`] old.
    async fn metadata(&self) -> Result<Arc<ProviderMetadataWithLogout>, SignInError> {
        let mut cache = self.cache.lock().await;
        if let Some((fetched_at, metadata)) = &cache.metadata
            && fetched_at.elapsed() < METADATA_TTL
        {
            return Ok(Arc::clone(metadata));
        }
        if let Some((fetched_at, error)) = &cache.last_failure
            && fetched_at.elapsed() < DISCOVERY_RETRY_DELAY
        {
            return Err(error.clone());
        }
        match self.fetch_metadata().await {
            Ok(metadata) => Ok(cache.store(metadata)),
            // Stale metadata is better than none: endpoints rarely change.
            Err(_) if let Some((_, metadata)) = &cache.metadata => Ok(Arc::clone(metadata)),
            Err(error) => {
                cache.last_failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Fetches the metadata now.
    async fn refresh_metadata(&self) -> Result<Arc<ProviderMetadataWithLogout>, SignInError> {
        let mut cache = self.cache.lock().await;
        let metadata = self.fetch_metadata().await?;
        Ok(cache.store(metadata))
    }

    async fn fetch_metadata(&self) -> Result<ProviderMetadataWithLogout, SignInError> {
        let issuer = IssuerUrl::new(self.config.issuer.clone());
        let issuer =
            issuer.map_err(|error| SignInError::ProviderUnavailable(format!("issuer: {error}")))?;
        let discovered = ProviderMetadataWithLogout::discover_async(issuer, &self.http).await;
        discovered.map_err(|error: DiscoveryError<ProviderHttpError>| {
            SignInError::ProviderUnavailable(error_chain(&error))
        })
    }
}

impl MetadataCache {
    fn store(&mut self, metadata: ProviderMetadataWithLogout) -> Arc<ProviderMetadataWithLogout> {
        let metadata = Arc::new(metadata);
        self.metadata = Some((Instant::now(), Arc::clone(&metadata)));
        self.last_failure = None;
        metadata
    }
}

/// The error of a failed code exchange.
fn token_error(
    error: RequestTokenError<
        ProviderHttpError,
        openidconnect::StandardErrorResponse<CoreErrorResponseType>,
    >,
) -> SignInError {
    match error {
        RequestTokenError::ServerResponse(response_error) => match response_error.error() {
            CoreErrorResponseType::InvalidGrant => {
                SignInError::Unverified("the provider rejected the code (invalid_grant)".to_owned())
            }
            code @ (CoreErrorResponseType::InvalidClient
            | CoreErrorResponseType::UnauthorizedClient) => {
                SignInError::ClientRejected(code.to_string())
            }
            _ => SignInError::RejectedByProvider(format!(
                "the code exchange failed: {response_error}"
            )),
        },
        RequestTokenError::Request(error) => SignInError::ProviderUnavailable(error.to_string()),
        // The body is not logged: it can contain secrets.
        RequestTokenError::Parse(error, _) => {
            SignInError::ProviderUnavailable(format!("invalid token response: {error}"))
        }
        RequestTokenError::Other(error) => SignInError::ProviderUnavailable(error),
    }
}
