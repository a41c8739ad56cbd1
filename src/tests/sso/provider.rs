//! An OpenID Connect provider: the npm package oidc-provider as a process.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::PUBLIC_URL;
use crate::support::WAIT_TIMEOUT;
use crate::support::certificates::Identity;
use crate::support::programs::{client_script, node};

/// A provider process, killed on drop.
pub struct Provider {
    pub port: u16,
    is_https: bool,
    process: Child,
    _stdout_reader: AbortOnDropHandle<()>,
}

impl Provider {
    /// Starts a provider that puts all claims into the ID token.
    pub async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// Starts a provider that serves HTTPS.
    pub async fn start_https(identity: &Identity) -> Self {
        let options = json!({ "certificate": identity.certificate, "key": identity.key });
        Self::start_with(options).await
    }

    /// Starts a provider with the options of `oidc_provider.mjs`.
    pub async fn start_with(mut options: Value) -> Self {
        let is_https = options["certificate"].is_string();
        options["redirect_uris"] = json!([format!("{PUBLIC_URL}/sign-in/callback")]);
        options["post_logout_redirect_uris"] = json!([format!("{PUBLIC_URL}/sign-in")]);
        let mut process = Command::new(node("oidc-provider"))
            .arg(client_script("oidc_provider.mjs"))
            .arg(options.to_string())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = timeout(WAIT_TIMEOUT, stdout.next_line()).await;
        let port = port.expect("the provider starts in time");
        let port = port
            .unwrap()
            .expect("the provider prints its port")
            .parse()
            .unwrap();
        // The provider ends when a write to its stdout fails, so the output is read until the end.
        let stdout_reader =
            tokio::spawn(async move { while let Ok(Some(_)) = stdout.next_line().await {} });
        Self {
            port,
            is_https,
            process,
            _stdout_reader: AbortOnDropHandle::new(stdout_reader),
        }
    }

    /// Stops the provider and returns its port.
    pub async fn stop(mut self) -> u16 {
        self.process.kill().await.unwrap();
        self.port
    }

    pub fn issuer(&self) -> String {
        let issuer = issuer(self.port);
        if self.is_https {
            issuer.replace("http:", "https:")
        } else {
            issuer
        }
    }

    /// The `[sign_in.oidc]` table for this provider.
    pub fn table(&self) -> String {
        table(&self.issuer())
    }
}

/// The issuer URL of a provider on this port.
pub fn issuer(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// The `[sign_in.oidc]` table for this issuer.
pub fn table(issuer: &str) -> String {
    format!(
        "[sign_in.oidc]\nissuer = \"{issuer}\"\nclient_id = \"lockkeeper\"\n\
         client_secret = \"a secret of the client, and not a short one\"\n\
         public_url = \"{PUBLIC_URL}\"\nscopes = [\"profile\", \"groups\"]\nlabel = \"Example login\"\n"
    )
}
