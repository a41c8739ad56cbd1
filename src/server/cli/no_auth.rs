//! Options and checks for a console without authentication.

use clap::Args;

use super::Failure;
use crate::server::config::Config;
use crate::server::config::access::parse_host;

/// The options for a console without authentication.
#[derive(Clone, Args)]
pub struct NoAuthArgs {
    /// Allow everyone who can reach the listen address to see and release every lock, without
    /// sign-in. Only for trusted networks; otherwise configure users or tokens.
    #[arg(long)]
    insecure_no_auth: bool,
    /// Without authentication, also accept requests for this host name, besides IP addresses and
    /// localhost. Can be repeated.
    #[arg(long = "allowed-host", value_name = "NAME", value_parser = parse_host)]
    allowed_hosts: Vec<String>,
}

impl NoAuthArgs {
    /// Applies the options to a configuration.
    pub(super) fn apply(&self, config: &mut Config) {
        config.access.insecure_no_auth = self.insecure_no_auth;
        config
            .access
            .allowed_hosts
            .extend_from_slice(&self.allowed_hosts);
    }

    /// Rejects a network address without authentication, unless --insecure-no-auth is set.
    pub(super) fn check(&self, config: &Config) -> Result<(), Failure> {
        let is_loopback = config.listen.ip().to_canonical().is_loopback();
        if is_loopback || !config.access.is_auth_disabled() || self.insecure_no_auth {
            return Ok(());
        }
        Err(Failure::invalid_input(format!(
            "no authentication is configured, so every machine that can reach {} could release every lock",
            config.listen
        ))
        .with_advice(
            "Add a [[user]] or a [[token]] to the configuration, or listen on 127.0.0.1. To allow unauthenticated access \
              on a trusted network, use --insecure-no-auth.",
        ))
    }
}
