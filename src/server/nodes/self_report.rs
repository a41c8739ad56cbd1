//! What a node says of itself when the doctor asks: figures, settings, and what its user may do. Asked in one go on the
//! observing connection, and only when somebody wants to know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use redis::{RedisError, RedisResult, Value};

use super::health::ClockStep;
use super::node::Node;
use super::scripts;
use super::trip::is_about_one_key;
use super::trouble::Trouble;
use super::watch::Watch;
use crate::domain::MissingPermission;

/// The sections of `INFO` with the figures; servers before Redis 7 take one at a time.
const SECTIONS: [&str; 6] = [
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
];

/// The settings. None of them is a secret; that user may read those as well is why many do not grant it.
const SETTINGS: [&str; 11] = [
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "save",
    "stop-writes-on-bgsave-error",
    "maxmemory",
    "maxmemory-policy",
    "client-output-buffer-limit",
    "notify-keyspace-events",
    "min-replicas-to-write",
    "cluster-require-full-coverage",
];

/// Finding out the addresses of a host may take so long.
const LOOKUP: Duration = Duration::from_millis(500);

/// What a node says of itself.
#[derive(Clone, Debug, Default)]
pub struct SelfReport {
    figures: BTreeMap<String, String>,
    settings: BTreeMap<String, String>,
    /// Which of the commands that were asked about its user may call.
    pub may: May,
    /// What its user may not do that watching takes, where that could be found out.
    pub missing: Option<Vec<MissingPermission>>,
    /// The addresses of the machine that it runs on; empty where they cannot be found out.
    pub places: BTreeSet<IpAddr>,
    /// The name that it has on the node: whom permissions are granted to.
    pub user: String,
    /// The last step that its clock was seen to make.
    pub clock_step: Option<ClockStep>,
    /// How sentinels watch over it, as each says that could be asked; empty where there are none.
    pub watched: Vec<Watch>,
}

/// Which commands a user may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum May {
    /// One for each command, in the order asked.
    Told(Vec<bool>),
    /// It may not call what it takes to find out, which is what it takes to act: this command.
    Lacks(&'static str),
    /// The server cannot tell.
    #[default]
    Unknown,
}

impl SelfReport {
    /// From the text of `INFO` and the settings that were told.
    pub fn read(info: &str, settings: BTreeMap<String, String>) -> Self {
        let figure = |line: &str| {
            let (name, value) = line.trim_end().split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self {
            figures: info.lines().filter_map(figure).collect(),
            settings,
            ..Self::default()
        }
    }

    /// A field of `INFO`.
    pub fn figure(&self, name: &str) -> Option<&str> {
        self.figures.get(name).map(String::as_str)
    }

    /// A field of `INFO` that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.figure(name)?.parse().ok()
    }

    /// Whether figures may be asked for at all.
    pub fn tells_figures(&self) -> bool {
        !self.figures.is_empty()
    }

    /// A setting, where it may be asked for.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// Whether settings may be asked for at all.
    pub fn tells_settings(&self) -> bool {
        !self.settings.is_empty()
    }
}

impl Node {
    /// Asks the node about itself, and which of these commands (one argument to a line) its user may call. Ends within a few
    /// time limits; the error says why the node cannot be asked.
    pub async fn report(&self, commands: &[String]) -> Result<SelfReport, String> {
        let told = self.figures_and_settings();
        let asked = tokio::join!(told, self.may(commands), self.lacking(), self.places());
        let (told, may, missing, places) = asked;
        Ok(SelfReport {
            may: may?,
            missing: missing.ok(),
            places,
            user: self.acl_user(),
            clock_step: self.health().clock_step(),
            watched: self.watched().clone(),
            ..told?
        })
    }

    /// The host that its address names; of a Unix socket, this one.
    pub fn host(&self) -> String {
        let host = self.reach.host();
        host.unwrap_or_else(|| "localhost".to_owned())
    }

    async fn figures_and_settings(&self) -> Result<SelfReport, String> {
        let asked = self.observe(self.command_timeout, |mut line| async move {
            let mut questions = redis::pipe();
            questions.ignore_errors();
            for section in SECTIONS {
                questions.cmd("INFO").arg(section);
            }
            for setting in SETTINGS {
                questions.cmd("CONFIG").arg("GET").arg(setting);
            }
            let answers: Vec<RedisResult<Value>> =
                questions.query_async(&mut line.connection).await?;
            Ok(answers)
        });
        let answers = asked.await.map_err(|missed| missed.reason().to_owned())?;
        // What is refused is not known; each rule says so where it needs it.
        let (figures, settings) = answers.split_at(SECTIONS.len().min(answers.len()));
        let figures: Vec<String> = figures.iter().filter_map(text).collect();
        let settings = settings
            .iter()
            .filter_map(|answer| redis::from_redis_value_ref(answer.as_ref().ok()?).ok())
            .flat_map(|settings: BTreeMap<String, String>| settings);
        Ok(SelfReport::read(&figures.join("\r\n"), settings.collect()))
    }

    async fn may(&self, commands: &[String]) -> Result<May, String> {
        if commands.is_empty() {
            return Ok(May::Unknown);
        }
        let asked = self.observe(self.command_timeout, |mut line| async move {
            let mut script = scripts::MAY.prepare_invoke();
            for command in commands {
                script.arg(command.as_str());
            }
            match script.invoke_async(&mut line.connection).await {
                Err(error) if is_about_one_key(&error) => Ok(Err(error)),
                answer => answer.map(Ok),
            }
        });
        let answer: Result<Option<Vec<bool>>, RedisError> =
            asked.await.map_err(|missed| missed.reason().to_owned())?;
        Ok(match answer {
            Ok(Some(told)) => May::Told(told),
            Ok(None) => May::Unknown,
            Err(error) => lacks(&error).map_or(May::Unknown, May::Lacks),
        })
    }

    /// Where it runs, as far as its address tells.
    async fn places(&self) -> BTreeSet<IpAddr> {
        let Some((host, port)) = self.reach.endpoint() else {
            // A Unix socket is on this machine.
            return BTreeSet::from([IpAddr::from([127, 0, 0, 1])]);
        };
        let lookup = tokio::net::lookup_host((host.as_str(), port));
        match tokio::time::timeout(LOOKUP, lookup).await {
            Ok(Ok(found)) => found.map(|place| place.ip().to_canonical()).collect(),
            // The node was reached all the same; nothing is concluded from where it is.
            Ok(Err(_)) | Err(_) => BTreeSet::new(),
        }
    }
}

fn text(answer: &RedisResult<Value>) -> Option<String> {
    redis::from_redis_value_ref(answer.as_ref().ok()?).ok()
}

/// Which of the two commands that run a script was refused for lack of a permission.
fn lacks(error: &RedisError) -> Option<&'static str> {
    if error.code() != Some("NOPERM") {
        return None;
    }
    let words = Trouble::of(error).reason.to_lowercase();
    Some(if words.contains("script") && !words.contains("evalsha") {
        "script|load"
    } else {
        "evalsha"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_whichever_sections_there_are() {
        let report = SelfReport::read(
            "# Server\r\nrun_id:abc\r\n\r\n# Memory\r\nmaxmemory:1048576\r\nexecutable:/a:b\r\n",
            BTreeMap::from([("save".to_owned(), String::new())]),
        );
        assert_eq!(report.figure("run_id"), Some("abc"));
        assert_eq!(report.figure("executable"), Some("/a:b"));
        assert_eq!(report.number("maxmemory"), Some(1_048_576));
        assert_eq!(report.number("run_id"), None);
        assert_eq!(report.setting("save"), Some(""));
        assert_eq!(report.setting("maxmemory"), None);
        assert!(report.tells_figures() && report.tells_settings());
    }
}
