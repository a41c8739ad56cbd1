//! `lockkeeper serve`: console and API on the configured groups.

use super::{Failure, Serve, listen, stop_on_signal};
use crate::server::clock::Clock;
use crate::server::config::{self, Config};

pub(super) async fn run(options: Serve) -> Result<(), Failure> {
    let read = if options.redis.is_empty() {
        config::from_file(options.config)
    } else {
        config::from_urls(&options.redis)
    };
    let mut config = read.map_err(|why| Failure::unusable(why.to_string()))?;
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
