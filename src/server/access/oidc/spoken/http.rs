//! One request to the provider: in time, of bounded size, over TLS where it says so, and never led elsewhere.

use std::pin::Pin;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use thiserror::Error;

use crate::server::config::oidc::ProviderConfig;
use crate::server::http_client::HttpClient;

/// The longest answer that is read, in bytes: keys of a provider are some thousands, what it says of somebody in many groups more.
const LARGEST: usize = 512 * 1024;

/// Who asks the provider.
pub(super) struct Http {
    client: HttpClient,
    only_https: bool,
}

/// There was no answer; in words, without what was sent.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Unanswered(pub String);

impl Http {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        Self {
            client: HttpClient::new(config.roots.as_ref(), config.timeout),
            only_https: config.issuer.starts_with("https:"),
        }
    }

    /// Asks once. A redirect is an answer like others, and none that anybody can use.
    pub(super) async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        if self.only_https && request.uri().scheme_str() != Some("https") {
            let why = format!("{host}: it names an address that is not https");
            return Err(Unanswered(why));
        }
        let exchange = self.client.exchange(request.map(Into::into), LARGEST);
        match exchange.await {
            Ok(answer) => Ok(answer.map(Into::into)),
            Err(why) => Err(Unanswered(format!("{host}: {why}"))),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = Unanswered;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Unanswered>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.ask(request))
    }
}
