//! HTTP requests to the provider: with a timeout, a size limit, HTTPS if the issuer uses it, and no
//! redirects.

use std::pin::Pin;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use thiserror::Error;

use crate::server::config::oidc::ProviderConfig;
use crate::server::http_client::HttpClient;

/// The maximum size of a response in bytes. Key sets are some kilobytes; claims of users in many
/// groups are larger.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;

/// The HTTP client for a provider.
pub(super) struct ProviderHttp {
    client: HttpClient,
    requires_https: bool,
}

/// A failed request. The message contains no request data.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct ProviderHttpError(pub String);

impl ProviderHttp {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        Self {
            client: HttpClient::new(config.roots.as_ref(), config.timeout),
            requires_https: config.issuer.starts_with("https:"),
        }
    }

    /// Sends a request once. Redirects are not followed and lead to an error in the caller.
    pub(super) async fn send(
        &self,
        request: HttpRequest,
    ) -> Result<HttpResponse, ProviderHttpError> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        if self.requires_https && request.uri().scheme_str() != Some("https") {
            let error = format!("{host}: the provider's metadata contains a URL that is not https");
            return Err(ProviderHttpError(error));
        }
        let sending = self
            .client
            .send_and_read_body(request.map(Into::into), MAX_RESPONSE_BYTES);
        match sending.await {
            Ok(response) => Ok(response.map(Into::into)),
            Err(error) => Err(ProviderHttpError(format!("{host}: {error}"))),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for ProviderHttp {
    type Error = ProviderHttpError;
    type Future =
        Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderHttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
