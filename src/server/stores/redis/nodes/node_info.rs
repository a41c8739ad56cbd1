//! Information about a node for the doctor: `INFO` fields, configuration parameters and
//! permissions. Read over the inspection connection, on request only.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use redis::{RedisError, RedisResult, Value};

use super::batch::is_key_error;
use super::health::ClockStep;
use super::node::Node;
use super::node_error::NodeError;
use super::scripts;
use super::sentinel_view::SentinelView;
use crate::domain::MissingPermission;
use crate::domain::reason::Reason;

/// The sections of `INFO`. Servers before Redis 7 accept one section at a time.
const INFO_SECTIONS: [&str; 6] = [
    "server",
    "clients",
    "memory",
    "persistence",
    "stats",
    "replication",
];

/// The configuration parameters. None is secret, but CONFIG GET also returns passwords, so many
/// installations deny it.
const CONFIG_PARAMETERS: [&str; 11] = [
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

/// The timeout for resolving a host.
const DNS_TIMEOUT: Duration = Duration::from_millis(500);

/// Information about a node.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    info_fields: BTreeMap<String, String>,
    config_settings: BTreeMap<String, String>,
    /// Which of the requested commands the node's user may call.
    pub permissions: CommandPermissions,
    /// The permissions for observing that the user lacks, if known.
    pub missing: Option<Vec<MissingPermission>>,
    /// The IP addresses of the node's host; empty if unknown.
    pub addresses: BTreeSet<IpAddr>,
    /// The ACL user that permissions must be granted to.
    pub acl_user: String,
    /// The last detected step of the node's clock.
    pub clock_step: Option<ClockStep>,
    /// How each reachable sentinel monitors the node; empty without sentinels.
    pub sentinel_views: Vec<SentinelView>,
}

/// Which commands a user may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandPermissions {
    /// One result per command, in request order.
    Known(Vec<bool>),
    /// The user lacks this command, which is needed for the check and for operations on locks.
    Missing(&'static str),
    /// The server does not support the check.
    #[default]
    Unknown,
}

impl NodeInfo {
    /// The report of a server of another service, which has only missing permissions.
    pub fn of_missing_permissions(missing: Vec<MissingPermission>) -> Self {
        Self {
            missing: Some(missing),
            ..Self::default()
        }
    }

    /// Parses the text of `INFO`, and takes the configuration parameters.
    pub fn parse(info: &str, config_settings: BTreeMap<String, String>) -> Self {
        let info_field = |line: &str| {
            let (name, value) = line.trim_end().split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self {
            info_fields: info.lines().filter_map(info_field).collect(),
            config_settings,
            ..Self::default()
        }
    }

    /// A field of `INFO`.
    pub fn info_field(&self, name: &str) -> Option<&str> {
        self.info_fields.get(name).map(String::as_str)
    }

    /// A numeric field of `INFO`.
    pub fn info_number(&self, name: &str) -> Option<u64> {
        self.info_field(name)?.parse().ok()
    }

    /// Whether `INFO` is permitted.
    pub fn has_info(&self) -> bool {
        !self.info_fields.is_empty()
    }

    /// A configuration parameter, if `CONFIG GET` is permitted.
    pub fn config_setting(&self, name: &str) -> Option<&str> {
        self.config_settings.get(name).map(String::as_str)
    }

    /// Whether `CONFIG GET` is permitted.
    pub fn has_config(&self) -> bool {
        !self.config_settings.is_empty()
    }
}

impl Node {
    /// Reads the node's information, and which of these commands (one argument per line) its user
    /// may call. Returns within a few timeouts. The error is the reason why the node did not reply.
    pub async fn fetch_info(&self, commands: &[String]) -> Result<NodeInfo, Reason> {
        let info = self.fetch_info_and_config();
        let replies = tokio::join!(
            info,
            self.check_permissions(commands),
            self.find_missing_permissions(),
            self.resolve_addresses()
        );
        let (info, permissions, missing, addresses) = replies;
        Ok(NodeInfo {
            permissions: permissions?,
            missing: missing.ok(),
            addresses,
            acl_user: self.acl_user(),
            clock_step: self.health().clock_step(),
            sentinel_views: self.sentinel_views().clone(),
            ..info?
        })
    }

    /// The host of the node's address; `localhost` for a Unix socket.
    pub fn host(&self) -> String {
        let host = self.endpoint.host();
        host.unwrap_or_else(|| "localhost".to_owned())
    }

    async fn fetch_info_and_config(&self) -> Result<NodeInfo, Reason> {
        let reply = self.call_inspection(self.command_timeout, |mut connection| async move {
            let mut pipeline = redis::pipe();
            // Each command can be denied on its own.
            pipeline.ignore_errors();
            for section in INFO_SECTIONS {
                pipeline.cmd("INFO").arg(section);
            }
            for parameter in CONFIG_PARAMETERS {
                pipeline.cmd("CONFIG").arg("GET").arg(parameter);
            }
            let replies: Vec<RedisResult<Value>> =
                pipeline.query_async(&mut connection.transport).await?;
            Ok(replies)
        });
        let replies = reply.await.map_err(|error| error.reason().clone())?;
        // A rejected command leaves its fields unknown. The doctor's rules report that where they
        // need them.
        let (info_fields, config_settings) =
            replies.split_at(INFO_SECTIONS.len().min(replies.len()));
        let info_fields: Vec<String> = info_fields.iter().filter_map(parse_text).collect();
        let config_settings = config_settings
            .iter()
            .filter_map(|reply| redis::from_redis_value_ref(reply.as_ref().ok()?).ok())
            .flat_map(|config_settings: BTreeMap<String, String>| config_settings);
        Ok(NodeInfo::parse(
            &info_fields.join("\r\n"),
            config_settings.collect(),
        ))
    }

    async fn check_permissions(&self, commands: &[String]) -> Result<CommandPermissions, Reason> {
        if commands.is_empty() {
            return Ok(CommandPermissions::Unknown);
        }
        let reply = self.call_inspection(self.command_timeout, |mut connection| async move {
            let mut script = scripts::CHECK_PERMISSIONS.prepare_invoke();
            for command in commands {
                script.arg(command.as_str());
            }
            match script.invoke_async(&mut connection.transport).await {
                // A denied EVALSHA is a result here, not a failure of the node.
                Err(error) if is_key_error(&error) => Ok(Err(error)),
                reply => reply.map(Ok),
            }
        });
        let reply: Result<Option<Vec<bool>>, RedisError> =
            reply.await.map_err(|error| error.reason().clone())?;
        Ok(match reply {
            Ok(Some(permitted)) => CommandPermissions::Known(permitted),
            Ok(None) => CommandPermissions::Unknown,
            Err(error) => denied_script_command(&error)
                .map_or(CommandPermissions::Unknown, CommandPermissions::Missing),
        })
    }

    /// Resolves the addresses of the node's host.
    async fn resolve_addresses(&self) -> BTreeSet<IpAddr> {
        let Some((host, port)) = self.endpoint.host_and_port() else {
            // A Unix socket is local.
            return BTreeSet::from([IpAddr::from([127, 0, 0, 1])]);
        };
        let lookup = tokio::net::lookup_host((host.as_str(), port));
        match tokio::time::timeout(DNS_TIMEOUT, lookup).await {
            Ok(Ok(addresses)) => addresses
                .map(|address| address.ip().to_canonical())
                .collect(),
            // The node itself is reachable, so this is not an error. Rules about hosts do not apply
            // to it.
            Ok(Err(_)) | Err(_) => BTreeSet::new(),
        }
    }
}

fn parse_text(reply: &RedisResult<Value>) -> Option<String> {
    redis::from_redis_value_ref(reply.as_ref().ok()?).ok()
}

/// The command for running a script that was denied, if the error is a denial.
fn denied_script_command(error: &RedisError) -> Option<&'static str> {
    if error.code() != Some("NOPERM") {
        return None;
    }
    let named = match NodeError::from_redis(error).reason {
        Reason::PermissionDenied { command, .. } => command.unwrap_or_default(),
        _ => String::new(),
    };
    // Before Redis 7 the server names the command without its subcommand.
    let is_load = named
        .get(..6)
        .is_some_and(|name| name.eq_ignore_ascii_case("script"));
    Some(if is_load { "script|load" } else { "evalsha" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_fields_are_parsed_from_any_sections() {
        let info = NodeInfo::parse(
            "# Server\r\nrun_id:abc\r\n\r\n# Memory\r\nmaxmemory:1048576\r\nexecutable:/a:b\r\n",
            BTreeMap::from([("save".to_owned(), String::new())]),
        );
        assert_eq!(info.info_field("run_id"), Some("abc"));
        assert_eq!(info.info_field("executable"), Some("/a:b"));
        assert_eq!(info.info_number("maxmemory"), Some(1_048_576));
        assert_eq!(info.info_number("run_id"), None);
        assert_eq!(info.config_setting("save"), Some(""));
        assert_eq!(info.config_setting("maxmemory"), None);
        assert!(info.has_info() && info.has_config());
    }
}
