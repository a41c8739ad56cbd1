//! `lockkeeper demo`: starts redis-servers and simulated clients, and serves the console on them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::no_auth::NoAuthArgs;
use super::serve::serve_config;
use super::{Failure, stop_on_signal};
use crate::server::demo::{self, DemoOptions};

/// The arguments of `demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// The listen address; port 0 selects a free port.
    #[arg(long, value_name = "ADDR", default_value = crate::server::config::DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// The redis-server (or valkey-server) to start instead of the one on PATH.
    #[arg(long, value_name = "FILE")]
    redis_server: Option<PathBuf>,
    /// Start only Redis servers, without etcd and ZooKeeper.
    #[arg(long)]
    redis_only: bool,
    #[command(flatten)]
    no_auth: NoAuthArgs,
}

pub(super) async fn run(options: DemoArgs) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let no_auth = options.no_auth;
    let options = DemoOptions {
        listen: options.listen,
        redis_server: options.redis_server,
        redis_only: options.redis_only,
    };
    // The servers have their own cancellation token, because they must stop after the console,
    // which would report their end as a failure.
    let demo = tokio::select! {
        started = demo::start(options, CancellationToken::new()) => started.map_err(|why| Failure::failed(why.to_string()))?,
        () = stop.cancelled() => return Ok(()),
    };
    println!(
        "The history of the last 7 days is made up. Everything since the start of the demo is observed on real servers."
    );
    let result = serve_config(demo.config.clone(), &no_auth, stop).await;
    demo.shut_down().await;
    result
}
