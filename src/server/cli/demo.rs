//! `lockkeeper demo`: real redis-servers of its own, lively clients, and the console on them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::openness::Openness;
use super::serve::serve_config;
use super::{Failure, stop_on_signal};
use crate::server::demo::{self, DemoOptions};

/// What `demo` is told.
#[derive(Args)]
pub struct Demo {
    /// Where to listen; port 0 takes any.
    #[arg(long, value_name = "ADDR", default_value = crate::server::config::DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// The redis-server (or valkey-server) to start instead of the one on PATH.
    #[arg(long, value_name = "FILE")]
    redis_server: Option<PathBuf>,
    #[command(flatten)]
    openness: Openness,
}

pub(super) async fn run(options: Demo) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let openness = options.openness;
    let options = DemoOptions {
        listen: options.listen,
        redis_server: options.redis_server,
    };
    // The servers have a token of their own: they end after the console, which would take it for a failure otherwise.
    let demo = tokio::select! {
        started = demo::start(options, CancellationToken::new()) => started.map_err(|why| Failure::broken(why.to_string()))?,
        () = stop.cancelled() => return Ok(()),
    };
    let served = serve_config(demo.config.clone(), &openness, stop).await;
    demo.end().await;
    served
}
