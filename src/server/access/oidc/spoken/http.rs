//! One request to the provider: in time, of bounded size, over TLS where it says so, and never led elsewhere.

use std::pin::Pin;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::time::timeout;

use crate::server::config::oidc::ProviderConfig;

/// The longest answer that is read, in bytes: keys of a provider are some thousands, what it says of somebody in many groups more.
const LARGEST: usize = 512 * 1024;

/// Who asks the provider.
pub(super) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: std::time::Duration,
    only_https: bool,
}

/// There was no answer; in words, without what was sent.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Unanswered(pub String);

impl Http {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        let builder = HttpsConnectorBuilder::new();
        let builder = match &config.roots {
            Some(certificates) => {
                let mut roots = RootCertStore::empty();
                // They were read as certificates; one that vouches for nobody does no harm.
                roots.add_parsable_certificates(certificates.iter().cloned());
                let tls = ClientConfig::builder().with_root_certificates(roots);
                builder.with_tls_config(tls.with_no_client_auth())
            }
            None => builder.with_webpki_roots(),
        };
        let connector = builder.https_or_http().enable_http1().build();
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
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
            let answer = self.client.request(request.map(Full::from)).await;
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

/// What went wrong, with what made it go wrong.
pub(super) fn in_words(why: &dyn std::error::Error) -> String {
    let mut words = why.to_string();
    let mut source = why.source();
    while let Some(deeper) = source {
        words = format!("{words}: {deeper}");
        source = deeper.source();
    }
    words
}
