//! `lockkeeper serve`: serves the console and the API.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::Args;
use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::config_watcher::ConfigWatcher;
use super::no_auth::NoAuthArgs;
use super::options::ConfigSource;
use super::signals::Signals;
use super::{Failure, Logging, bind, cancel_on, stop_on_signal};
use crate::server::clock::Clock;
use crate::server::config::{Config, ReloadableConfig};
use crate::server::telemetry::otel::TraceExporter;

/// The arguments of `serve`.
#[derive(Args)]
pub struct ServeArgs {
    #[command(flatten)]
    source: ConfigSource,
    /// The listen address [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Reject operations in all groups.
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    no_auth: NoAuthArgs,
}

pub(super) async fn run(options: ServeArgs, logging: &Logging) -> Result<(), Failure> {
    let mut config = options.source.clone().load()?;
    let traces = match config.otlp.as_ref().map(TraceExporter::start).transpose() {
        Ok(traces) => traces,
        Err(why) => {
            let warning = format!("traces are not exported: {why}");
            config.warnings.push(warning);
            None
        }
    };
    let layer = traces.as_ref().map(TraceExporter::layer);
    logging.start(config.log_format, layer)?;
    if traces.is_some() {
        tracing::info!("exporting traces to a collector");
    }
    if let Some(address) = options.listen {
        config.listen = address;
    }
    for warning in &config.warnings {
        eprintln!("lockkeeper: warning: {warning}");
    }
    if options.read_only {
        config.set_read_only();
    }
    // Without authentication on a terminal, SIGHUP means that the terminal was closed, so the
    // console must stop. Otherwise SIGHUP reloads the configuration.
    let (hangup, stop) = if config.access.is_auth_disabled() && std::io::stdin().is_terminal() {
        (Signals::listen(&[])?, stop_on_signal()?)
    } else {
        let termination = Signals::listen(&[Signal::SIGINT, Signal::SIGTERM])?;
        (Signals::listen(&[Signal::SIGHUP])?, cancel_on(termination)?)
    };
    let (sender, receiver) = watch::channel(ReloadableConfig::from_config(&config));
    config.reloads = Some(receiver);
    let watcher = ConfigWatcher {
        source: options.source,
        read_only: options.read_only,
        no_auth: options.no_auth.clone(),
        initial: config.clone(),
        reloads: sender,
    };
    tokio::spawn(watcher.run(hangup));
    let result = serve_config(config, &options.no_auth, stop).await;
    if let Some(traces) = traces {
        traces.shutdown().await;
    }
    result
}

/// Serves until `stop` is cancelled. Prints the address when the port is open.
pub(super) async fn serve_config(
    mut config: Config,
    no_auth: &NoAuthArgs,
    stop: tokio_util::sync::CancellationToken,
) -> Result<(), Failure> {
    no_auth.check(&config)?;
    no_auth.apply(&mut config);
    let listener = bind(config.listen).await?;
    let address = listener
        .local_addr()
        .map_err(|why| Failure::failed(format!("cannot determine the listen address: {why}")))?;
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    println!("Lockkeeper is at {scheme}://{address}");
    let result = crate::server::serve(listener, config, Clock::system(), stop).await;
    result.map_err(|why| Failure::failed(format!("the server failed: {why}")))
}
