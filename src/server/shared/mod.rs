//! What several consoles share: one Redis, asked in small atomic steps. Who is not there is asked again soon, and nobody waits
//! long for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ErrorKind, FromRedisValue, RedisError, RedisResult,
    Script,
};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::domain::Fault;
use crate::server::config::StateConfig;

/// After a connection could not be made, so long nobody tries again: whoever asks meanwhile hears it at once.
const PAUSE: Duration = Duration::from_millis(250);

/// A script of ours, and when it was first needed.
pub type OurScript = LazyLock<Script>;

/// The Redis that is shared. Cheap to clone.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    config: StateConfig,
    /// Where the connection lives, whoever asks over it.
    home: Handle,
    line: Mutex<Standing>,
    is_gone: AtomicBool,
}

#[derive(Default)]
struct Standing {
    open: Option<(u64, MultiplexedConnection)>,
    failed: Option<(Instant, String)>,
    opened: u64,
}

/// It could not be asked, or said no: in words, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Gone(String);

impl Gone {
    /// What is there is of no use, for this reason.
    pub fn because(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<Gone> for Fault {
    /// Where it is and what it said stands in the log: that is not for everybody who calls.
    fn from(_: Gone) -> Self {
        Self::StorageUnavailable {
            detail: "what the consoles share, the Redis of [state], cannot be used; the server's log says why"
                .to_owned(),
        }
    }
}

impl Shared {
    /// Nothing is opened before something is asked.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(config: StateConfig) -> Self {
        Self(Arc::new(Inner {
            config,
            home: Handle::current(),
            line: Mutex::default(),
            is_gone: AtomicBool::new(false),
        }))
    }

    /// Where it is.
    pub fn address(&self) -> String {
        self.0.config.server.url.address()
    }

    /// What it is called here.
    pub fn key(&self, kind: &str, name: &str) -> String {
        format!("{}{kind}:{name}", self.0.config.prefix)
    }

    /// What all of its names begin with, for scripts that make some.
    pub fn prefix(&self) -> &str {
        &self.0.config.prefix
    }

    /// Does something later that nobody waits for.
    pub fn spawn(&self, errand: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.home.spawn(errand));
    }

    /// Asks with a script.
    pub async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<T, Gone> {
        let mut invoked = script.prepare_invoke();
        for key in keys {
            invoked.key(*key);
        }
        for argument in arguments {
            invoked.arg(*argument);
        }
        self.ask(async |line| invoked.invoke_async(line).await)
            .await
    }

    /// Asks with one command.
    pub async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Gone> {
        self.ask(async |line| command.query_async(line).await).await
    }

    async fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, Gone> {
        let (number, mut line) = self.line().await.map_err(|why| self.gone(&why))?;
        let why = match timeout(self.0.config.timeout, ask(&mut line)).await {
            Ok(Ok(answer)) => {
                if self.0.is_gone.swap(false, Ordering::Relaxed) {
                    tracing::info!("the state at {} answers again", self.address());
                }
                return Ok(answer);
            }
            Ok(Err(why)) => words(&why),
            Err(_) => format!("no answer within {:?}", self.0.config.timeout),
        };
        // What went wrong once is not asked again over the same connection.
        let mut standing = self.0.line.lock().await;
        if standing.open.as_ref().is_some_and(|open| open.0 == number) {
            standing.open = None;
        }
        drop(standing);
        Err(self.gone(&why))
    }

    /// The connection; a new one, where there is none.
    async fn line(&self) -> Result<(u64, MultiplexedConnection), String> {
        let mut standing = self.0.line.lock().await;
        if let Some(open) = &standing.open {
            return Ok(open.clone());
        }
        if let Some((at, why)) = &standing.failed
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        // On its own runtime: the one that asks may end sooner.
        let connecting = self.0.home.spawn(connect(self.0.config.clone()));
        let connected = connecting
            .await
            .map_err(|_| "the console is shutting down".to_owned())?;
        match connected {
            Ok(line) => {
                standing.opened += 1;
                standing.failed = None;
                let open = (standing.opened, line);
                standing.open = Some(open.clone());
                Ok(open)
            }
            Err(why) => {
                standing.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    /// Says it in the log once, until it answers again.
    fn gone(&self, why: &str) -> Gone {
        let address = self.address();
        if !self.0.is_gone.swap(true, Ordering::Relaxed) {
            tracing::error!("the state at {address} cannot be used: {why}");
        }
        Gone(format!(
            "what the consoles share, the Redis of [state] at {address}, cannot be used: {why}"
        ))
    }
}

async fn connect(config: StateConfig) -> Result<MultiplexedConnection, String> {
    let info = config.server.connection()?;
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        // redis leaves the choice of a cryptography provider to the program; a second call finds it chosen.
        let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    }
    let limits = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(config.timeout))
        .set_response_timeout(Some(config.timeout));
    let connecting = async {
        let client = redis::Client::open(info)?;
        let mut line = client
            .get_multiplexed_async_connection_with_config(&limits)
            .await?;
        let mut name = redis::cmd("CLIENT");
        name.arg("SETNAME").arg("lockkeeper-state");
        // For people who look at CLIENT LIST; a server that will not have it is no worse for it.
        drop(line.req_packed_command(&name).await);
        RedisResult::Ok(line)
    };
    match timeout(2 * config.timeout, connecting).await {
        Ok(Ok(line)) => Ok(line),
        Ok(Err(why)) => Err(words(&why)),
        Err(_) => Err(format!("no connection within {:?}", config.timeout)),
    }
}

/// What went wrong; what Redis said stands in it, for it names no secrets.
fn words(why: &RedisError) -> String {
    match why.kind() {
        ErrorKind::AuthenticationFailed => "user name or password are refused".to_owned(),
        _ => why.to_string(),
    }
}
