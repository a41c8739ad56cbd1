//! `lockkeeper serve`: console and API on the configured groups.

use std::net::SocketAddr;

use clap::Args;

use super::options::Nodes;
use super::{Failure, listen, stop_on_signal};
use crate::server::clock::Clock;
use crate::server::config::Config;

/// What `serve` is told.
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    nodes: Nodes,
    /// Where to listen [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

pub(super) async fn run(options: Serve) -> Result<(), Failure> {
    let mut config = options.nodes.read()?;
    if let Some(address) = options.listen {
        config.listen = address;
    }
    for warning in &config.warnings {
        eprintln!("lockkeeper: warning: {warning}");
    }
    let stop = stop_on_signal()?;
    serve_config(config, stop).await
}

/// Serves a configuration until `stop` is cancelled; says the address once it can be opened.
pub(super) async fn serve_config(
    config: Config,
    stop: tokio_util::sync::CancellationToken,
) -> Result<(), Failure> {
    let listener = listen(config.listen).await?;
    let address = listener
        .local_addr()
        .map_err(|why| Failure::broken(format!("cannot tell the address: {why}")))?;
    println!("Lockkeeper is at http://{address}");
    let ended =
        crate::server::serve_within(listener, config.groups, config.limits, Clock::real(), stop)
            .await;
    ended.map_err(|why| Failure::broken(format!("the server failed: {why}")))
}
