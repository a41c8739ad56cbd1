//! One request to the provider: in time, of bounded size, over TLS where it says so, and never led elsewhere.

use std::pin::Pin;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use thiserror::Error;
use tokio::time::timeout;

use crate::server::config::oidc::ProviderConfig;
use crate::server::https::{Asker, in_words};

/// The longest answer that is read, in bytes: keys of a provider are some thousands, what it says of somebody in many groups more.
const LARGEST: usize = 512 * 1024;

/// Who asks the provider.
pub(super) struct Http {
    asker: Asker,
    timeout: std::time::Duration,
    only_https: bool,
}

/// There was no answer; in words, without what was sent.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Unanswered(pub String);

impl Http {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        Self {
            asker: Asker::new(config.roots.as_ref()),
            timeout: config.timeout,
            only_https: config.issuer.starts_with("https:"),
        }
    }

    /// Asks once. A redirect is an answer like others, and none that anybody can use.
    pub(super) async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let says = |why: String| Unanswered(format!("{host}: {why}"));
        if self.only_https && request.uri().scheme_str() != Some("https") {
            return Err(says("it names an address that is not https".to_owned()));
        }
        let exchange = async {
            let answer = self.asker.ask(request.map(Full::from)).await;
            let (parts, body) = answer.map_err(|why| says(in_words(&why)))?.into_parts();
            let body = Limited::new(body, LARGEST).collect().await;
            let body = body.map_err(|why| match why.downcast_ref::<LengthLimitError>() {
                Some(_) => says(format!("its answer is longer than {LARGEST} bytes")),
                None => says(in_words(&*why)),
            })?;
            Ok(http::Response::from_parts(parts, body.to_bytes().to_vec()))
        };
        match timeout(self.timeout, exchange).await {
            Ok(ended) => ended,
            Err(_elapsed) => Err(says(format!(
                "no answer within {} ms",
                self.timeout.as_millis()
            ))),
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
