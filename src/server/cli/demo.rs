//! `lockkeeper demo`: real redis-servers of its own, lively clients, and the console on them.

use tokio_util::sync::CancellationToken;

use super::serve::serve_config;
use super::{Demo, Failure, stop_on_signal};
use crate::server::demo::{self, DemoOptions};

pub(super) async fn run(options: Demo) -> Result<(), Failure> {
    let stop = stop_on_signal()?;
    let options = DemoOptions {
        listen: options.listen,
        redis_server: options.redis_server,
    };
    // The servers have a token of their own: they end after the console, which would take it for a failure otherwise.
    let demo = tokio::select! {
        started = demo::start(options, CancellationToken::new()) => started.map_err(|why| Failure::broken(why.to_string()))?,
        () = stop.cancelled() => return Ok(()),
    };
    let served = serve_config(demo.config.clone(), stop).await;
    demo.end().await;
    served
}
