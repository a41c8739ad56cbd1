//! Who is let in where the configuration names no user, and what a console that anybody may use needs before it starts.

use clap::Args;

use super::Failure;
use crate::server::config::Config;
use crate::server::config::access::read_host;

/// Who is let in where the configuration names nobody.
#[derive(Clone, Args)]
pub struct Openness {
    /// Let whoever can reach the address see and release every lock, without signing in. For a network that you trust whole;
    /// otherwise name users or tokens in the configuration.
    #[arg(long)]
    allow_anyone_on_the_network: bool,
    /// Where nobody has to sign in: answer under this host name too, not only under addresses and as localhost. May be repeated.
    #[arg(long = "host", value_name = "NAME", value_parser = read_host)]
    hosts: Vec<String>,
}

impl Openness {
    /// Has a configuration hold with it.
    pub(super) fn apply(&self, config: &mut Config) {
        config.access.anyone_on_the_network = self.allow_anyone_on_the_network;
        config.access.hosts.extend_from_slice(&self.hosts);
    }

    /// Refuses to stand open to a network that nobody said may come in.
    pub(super) fn check(&self, config: &Config) -> Result<(), Failure> {
        let is_within = config.listen.ip().to_canonical().is_loopback();
        if is_within || !config.access.is_open() || self.allow_anyone_on_the_network {
            return Ok(());
        }
        Err(Failure::unusable(format!(
            "at {} others than this machine could release every lock, because nobody has to sign in",
            config.listen
        ))
        .advise(
            "Name a [[user]] or a [[token]] in the configuration, or listen on 127.0.0.1. If whoever reaches that address \
             may do everything, say so with --allow-anyone-on-the-network.",
        ))
    }
}
