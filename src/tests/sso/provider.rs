//! A real provider: the npm package oidc-provider in a process of its own.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::CONSOLE;
use crate::support::PATIENCE;
use crate::support::certificates::Identity;
use crate::support::programs::{node, script};

/// A provider. It ends with the test.
pub struct Provider {
    /// Its port.
    pub port: u16,
    is_https: bool,
    process: Child,
    _listening: AbortOnDropHandle<()>,
}

impl Provider {
    /// One that says everything in the ID token.
    pub async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// One that speaks HTTPS.
    pub async fn with_certificate(identity: &Identity) -> Self {
        let options = json!({ "certificate": identity.certificate, "key": identity.key });
        Self::start_with(options).await
    }

    /// One with these options (see the script).
    pub async fn start_with(mut options: Value) -> Self {
        let is_https = options["certificate"].is_string();
        options["redirect_uris"] = json!([format!("{CONSOLE}/sign-in/back")]);
        options["post_logout_redirect_uris"] = json!([format!("{CONSOLE}/sign-in")]);
        let mut process = Command::new(node("oidc-provider"))
            .arg(script("oidc_provider.mjs"))
            .arg(options.to_string())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = timeout(PATIENCE, said.next_line()).await;
        let port = port.expect("the provider starts in time");
        let port = port.unwrap().expect("it says its port").parse().unwrap();
        // It would end where nobody listens to it any more.
        let listening =
            tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Self {
            port,
            is_https,
            process,
            _listening: AbortOnDropHandle::new(listening),
        }
    }

    /// Ends it.
    pub async fn stop(mut self) -> u16 {
        self.process.kill().await.unwrap();
        self.port
    }

    /// What it calls itself.
    pub fn issuer(&self) -> String {
        let issuer = issuer(self.port);
        if self.is_https {
            issuer.replace("http:", "https:")
        } else {
            issuer
        }
    }

    /// The table of the configuration.
    pub fn table(&self) -> String {
        table(&self.issuer())
    }
}

/// What a provider at this port calls itself.
pub fn issuer(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// The table of the configuration for the provider that calls itself so.
pub fn table(issuer: &str) -> String {
    format!(
        "[sign_in.oidc]\nissuer = \"{issuer}\"\nclient_id = \"lockkeeper\"\n\
         client_secret = \"a secret of the client, and not a short one\"\n\
         console_url = \"{CONSOLE}\"\nscopes = [\"profile\", \"groups\"]\nlabel = \"Example login\"\n"
    )
}
