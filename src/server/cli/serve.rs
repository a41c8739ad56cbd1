//! `lockkeeper serve`: console and API on the configured groups.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use clap::Args;
use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::openness::Openness;
use super::options::Nodes;
use super::reader::Reader;
use super::signals::Signals;
use super::{Failure, Logging, listen, stop_on, stop_on_signal};
use crate::server::clock::Clock;
use crate::server::config::{Config, Later};
use crate::server::telemetry::otel::Traces;

/// What `serve` is told.
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    nodes: Nodes,
    /// Where to listen [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Refuse every act, in all groups.
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    openness: Openness,
}

pub(super) async fn run(options: Serve, logging: &Logging) -> Result<(), Failure> {
    let mut config = options.nodes.clone().read()?;
    let traces = match config.otlp.as_ref().map(Traces::start).transpose() {
        Ok(traces) => traces,
        Err(why) => {
            let warning = format!("traces are not exported: {why}");
            config.warnings.push(warning);
            None
        }
    };
    let layer = traces.as_ref().map(Traces::layer);
    logging.start(config.log_format, layer)?;
    if traces.is_some() {
        tracing::info!("traces are told to a collector");
    }
    if let Some(address) = options.listen {
        config.listen = address;
    }
    for warning in &config.warnings {
        eprintln!("lockkeeper: warning: {warning}");
    }
    if options.read_only {
        config.refuse_acts();
    }
    // The end of somebody's terminal is ours where nobody has to sign in; a service that is sent a hangup reads its files again.
    let (hangup, stop) = if config.access.is_open() && std::io::stdin().is_terminal() {
        (Signals::listen(&[])?, stop_on_signal()?)
    } else {
        let ends = Signals::listen(&[Signal::SIGINT, Signal::SIGTERM])?;
        (Signals::listen(&[Signal::SIGHUP])?, stop_on(ends)?)
    };
    let (tell, later) = watch::channel(Later::of(&config));
    config.later = Some(later);
    let reader = Reader {
        nodes: options.nodes,
        read_only: options.read_only,
        openness: options.openness.clone(),
        began_with: config.clone(),
        tell,
    };
    tokio::spawn(reader.follow(hangup));
    let served = serve_config(config, &options.openness, stop).await;
    if let Some(traces) = traces {
        traces.end().await;
    }
    served
}

/// Serves a configuration until `stop` is cancelled; says the address once it can be opened.
pub(super) async fn serve_config(
    mut config: Config,
    openness: &Openness,
    stop: tokio_util::sync::CancellationToken,
) -> Result<(), Failure> {
    openness.check(&config)?;
    openness.apply(&mut config);
    let listener = listen(config.listen).await?;
    let address = listener
        .local_addr()
        .map_err(|why| Failure::broken(format!("cannot tell the address: {why}")))?;
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    println!("Lockkeeper is at {scheme}://{address}");
    let ended = crate::server::serve(listener, config, Clock::real(), stop).await;
    ended.map_err(|why| Failure::broken(format!("the server failed: {why}")))
}
