//! The configuration file: TOML in, [`Config`] out, every mistake with its line and column.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::{
    Config, ConfigError, DEFAULT_KEYS, GroupConfig, NodeConfig, RedisUrl, default_listen,
    default_node_name, even_count,
};
use crate::domain::{Environment, GroupKind};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<Spanned<String>>,
    #[serde(default)]
    group: Vec<Spanned<Group>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: Spanned<String>,
    kind: Option<Spanned<GroupKind>>,
    #[serde(default)]
    environment: Environment,
    keys: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    read_only: bool,
    connect_timeout: Option<Spanned<String>>,
    command_timeout: Option<Spanned<String>>,
    longest_lease: Option<Spanned<String>>,
    node: Spanned<Vec<Spanned<Node>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    name: Option<Spanned<String>>,
    url: Spanned<String>,
    password_file: Option<Spanned<String>>,
}

/// The text of a file with its name: turns a byte range into `file:line:column: message`.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn at(&self, range: std::ops::Range<usize>, message: &str) -> String {
        let before = self.text.get(..range.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}: {message}", self.name)
    }

    fn error<T>(&self, spanned: &Spanned<T>, message: &str) -> ConfigError {
        ConfigError(self.at(spanned.span(), message))
    }
}

/// Reads the text of a configuration file called `name`; `${NAME}` in URLs is looked up with `environment`.
pub fn parse(
    name: &str,
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let source = Source { name, text };
    let file: File = toml::from_str(text)
        .map_err(|why| ConfigError(source.at(why.span().unwrap_or(0..0), why.message())))?;

    let listen = match &file.listen {
        Some(text) => text.get_ref().parse().map_err(|_| {
            source.error(
                text,
                "`listen` must be an address and a port, like \"127.0.0.1:7878\" or \"[::1]:7878\"",
            )
        })?,
        None => default_listen(),
    };
    if file.group.is_empty() {
        return Err(ConfigError(format!(
            "{name}:1:1: there is no [[group]]; name at least one group with its nodes"
        )));
    }
    let mut config = Config {
        listen,
        groups: Vec::new(),
        warnings: Vec::new(),
    };
    let mut names = BTreeSet::new();
    for entry in &file.group {
        let group = read_group(&source, entry.get_ref(), environment)?;
        if !names.insert(group.name.clone()) {
            return Err(source.error(
                &entry.get_ref().name,
                &format!("the group \"{}\" is there twice", group.name),
            ));
        }
        config
            .warnings
            .extend(even_count(&group).map(|why| source.at(entry.get_ref().node.span(), &why)));
        config.groups.push(group);
    }
    Ok(config)
}

fn read_group(
    source: &Source<'_>,
    group: &Group,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<GroupConfig, ConfigError> {
    check_name(source, &group.name)?;
    let mut nodes: Vec<NodeConfig> = Vec::new();
    for (n, entry) in group.node.get_ref().iter().enumerate() {
        let node = read_node(source, entry.get_ref(), n, environment)?;
        if nodes.iter().any(|known| known.name == node.name) {
            return Err(source.error(
                entry,
                &format!("the node \"{}\" is there twice in this group", node.name),
            ));
        }
        if nodes
            .iter()
            .any(|known| known.url.address() == node.url.address())
        {
            let why = format!(
                "{} is there twice in this group: one server cannot vote twice",
                node.url.address()
            );
            return Err(source.error(&entry.get_ref().url, &why));
        }
        nodes.push(node);
    }
    if nodes.is_empty() {
        return Err(source.error(&group.node, "the group has no node"));
    }
    let kind = match &group.kind {
        Some(kind) if *kind.get_ref() == GroupKind::Standalone && nodes.len() > 1 => {
            return Err(source.error(
                kind,
                &format!(
                    "a standalone group has one node, this one has {}",
                    nodes.len()
                ),
            ));
        }
        Some(kind) => *kind.get_ref(),
        None if nodes.len() == 1 => GroupKind::Standalone,
        None => GroupKind::Redlock,
    };
    let keys = match &group.keys {
        Some(keys) if keys.get_ref().is_empty() => {
            return Err(source.error(
                keys,
                "`keys` is empty: nothing would be scanned; leave it out for the default patterns",
            ));
        }
        Some(keys) => {
            if let Some(empty) = keys
                .get_ref()
                .iter()
                .find(|pattern| pattern.get_ref().is_empty())
            {
                return Err(source.error(
                    empty,
                    "an empty pattern matches only the empty key; did you mean \"*\"?",
                ));
            }
            keys.get_ref()
                .iter()
                .map(|pattern| pattern.get_ref().clone())
                .collect()
        }
        None => DEFAULT_KEYS.map(str::to_owned).to_vec(),
    };
    Ok(GroupConfig {
        name: group.name.get_ref().clone(),
        kind,
        environment: group.environment,
        keys,
        keys_are_explicit: group.keys.is_some(),
        read_only: group.read_only,
        connect_timeout: duration(
            source,
            group.connect_timeout.as_ref(),
            Duration::from_secs(1),
        )?,
        command_timeout: duration(
            source,
            group.command_timeout.as_ref(),
            Duration::from_millis(500),
        )?,
        longest_lease: duration(
            source,
            group.longest_lease.as_ref(),
            Duration::from_hours(24),
        )?,
        nodes,
    })
}

fn read_node(
    source: &Source<'_>,
    node: &Node,
    n: usize,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<NodeConfig, ConfigError> {
    let name = match &node.name {
        Some(name) => {
            check_name(source, name)?;
            name.get_ref().clone()
        }
        None => default_node_name(n),
    };
    let expanded =
        expand(node.url.get_ref(), environment).map_err(|why| source.error(&node.url, &why))?;
    let mut url = RedisUrl::parse(&expanded).map_err(|why| source.error(&node.url, &why))?;
    if let Some(path) = &node.password_file {
        let password = std::fs::read_to_string(path.get_ref()).map_err(|why| {
            source.error(path, &format!("the password file cannot be read: {why}"))
        })?;
        url = url.with_password(password.trim_end_matches(['\r', '\n']));
    }
    Ok(NodeConfig { name, url })
}

/// Names stand in URLs and metrics, so they are kept plain.
fn check_name(source: &Source<'_>, name: &Spanned<String>) -> Result<(), ConfigError> {
    let text = name.get_ref();
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if text.is_empty() || text.len() > 64 || !plain || text.starts_with('.') {
        return Err(source.error(
            name,
            "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and does not begin with a dot",
        ));
    }
    Ok(())
}

/// Replaces `${NAME}` by the environment variable of that name.
fn expand(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or("`${` is not closed by `}`")?;
        let value = environment(name)
            .ok_or_else(|| format!("the environment variable {name} is not set"))?;
        done.push_str(before);
        done.push_str(&value);
        rest = tail;
    }
    done.push_str(rest);
    Ok(done)
}

fn duration(
    source: &Source<'_>,
    text: Option<&Spanned<String>>,
    default: Duration,
) -> Result<Duration, ConfigError> {
    let Some(text) = text else { return Ok(default) };
    parse_duration(text.get_ref()).ok_or_else(|| {
        source.error(
            text,
            "this is not a span of time; write \"500ms\", \"30s\" or \"1h 30m\"",
        )
    })
}

/// A span of time above nothing, written like `500ms`, `30s` or `1h 30m`.
fn parse_duration(text: &str) -> Option<Duration> {
    let span = text.parse::<jiff::SignedDuration>().ok()?;
    Duration::try_from(span).ok().filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
        parse("lockkeeper.toml", text, &environment).map_err(|why| why.to_string())
    }

    #[test]
    fn the_whole_file_is_read() {
        let config = read(
            r#"
listen = "127.0.0.1:9000"
[[group]]
name = "orders"
kind = "redlock"
environment = "production"
keys = ["lock:*", "redlock:*"]
command_timeout = "200ms"
node = [
  { name = "a", url = "redis://10.0.0.1:6379" },
  { name = "b", url = "rediss://user:${REDIS_PASSWORD}@10.0.0.2:6380/0" },
  { url = "redis://10.0.0.3:6379" },
]
"#,
        )
        .unwrap();
        let group = &config.groups[0];
        assert_eq!(config.listen.port(), 9000);
        assert_eq!(
            (group.kind, group.environment),
            (GroupKind::Redlock, Environment::Production)
        );
        assert_eq!(group.command_timeout, Duration::from_millis(200));
        assert_eq!(group.nodes[1].url.address(), "10.0.0.2:6380");
        assert_eq!(group.nodes[2].name, "c");
        assert!(group.keys_are_explicit);
    }

    #[test]
    fn every_mistake_names_its_line_and_column() {
        let group = |rest: &str| format!("[[group]]\nname = \"g\"\n{rest}");
        let one = "node = [{ url = \"redis://h:1\" }]";
        for (text, says) in [
            (
                "listen = 5".to_owned(),
                "lockkeeper.toml:1:10: invalid type",
            ),
            (
                "listen = \"here\"".to_owned(),
                "lockkeeper.toml:1:10: `listen` must be an address",
            ),
            (
                "colour = 1".to_owned(),
                "lockkeeper.toml:1:1: unknown field `colour`",
            ),
            ("listen = ".to_owned(), "lockkeeper.toml:1:"),
            (String::new(), "lockkeeper.toml:1:1: there is no [[group]]"),
            (
                group("nodes = []"),
                "lockkeeper.toml:3:1: unknown field `nodes`",
            ),
            (
                group("kind = \"ring\"\nnode = []"),
                "lockkeeper.toml:3:8: unknown variant `ring`",
            ),
            (
                group("node = []"),
                "lockkeeper.toml:3:8: the group has no node",
            ),
            (
                group("node = [{ url = \"http://h:1\" }]"),
                "lockkeeper.toml:3:17: \"http://\" is not Redis",
            ),
            (
                group("node = [{ url = \"redis://${NOPE}@h\" }]"),
                "lockkeeper.toml:3:17: the environment variable NOPE is not set",
            ),
            (
                group("node = [{ url = \"redis://${NOPE\" }]"),
                "lockkeeper.toml:3:17: `${` is not closed",
            ),
            (
                group("node = [{ url = \"redis://h\", password_file = \"/nope\" }]"),
                "lockkeeper.toml:3:46: the password file",
            ),
            (
                group(
                    "node = [\n { name = \"a\", url = \"redis://h:1\" },\n { name = \"a\", url = \"redis://h:2\" }]",
                ),
                "lockkeeper.toml:5:2: the node \"a\" is there twice",
            ),
            (
                group("node = [\n { url = \"redis://h:1\" },\n { url = \"redis://h:1\" }]"),
                "lockkeeper.toml:5:10: h:1 is there twice in this group",
            ),
            (
                format!("{}\n{}", group(one), group(one)),
                "lockkeeper.toml:5:8: the group \"g\" is there twice",
            ),
            (
                group(&format!(
                    "kind = \"standalone\"\n{}",
                    one.replace(']', ", { url = \"redis://h:2\" }]")
                )),
                "lockkeeper.toml:3:8: a standalone group",
            ),
            (
                group(&format!("keys = []\n{one}")),
                "lockkeeper.toml:3:8: `keys` is empty",
            ),
            (
                group(&format!("keys = [\"\"]\n{one}")),
                "lockkeeper.toml:3:9: an empty pattern",
            ),
            (
                group(&format!("command_timeout = \"soon\"\n{one}")),
                "lockkeeper.toml:3:19: this is not a span of time",
            ),
            (
                group(&format!("command_timeout = \"-1s\"\n{one}")),
                "lockkeeper.toml:3:19: this is not a span of time",
            ),
            (
                format!("[[group]]\nname = \"a/b\"\n{one}"),
                "lockkeeper.toml:2:8: a name has",
            ),
        ] {
            let why = read(&text).unwrap_err();
            assert!(
                why.starts_with(says),
                "{text}\n  gave  {why}\n  not   {says}"
            );
        }
    }

    #[test]
    fn an_even_number_of_redlock_nodes_is_pointed_out_with_its_place() {
        let config =
            read("[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }, { url = \"redis://h:2\" }]").unwrap();
        assert!(
            config.warnings[0].starts_with("lockkeeper.toml:3:8: group \"g\" has 2 Redlock nodes"),
            "{:?}",
            config.warnings
        );
    }

    #[test]
    fn no_mistake_repeats_a_secret() {
        let why = read(
            "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://:${REDIS_PASSWORD}@h:notaport\" }]",
        )
        .unwrap_err();
        assert!(!why.contains("s3cret"), "{why}");
    }
}
