//! Force release of each format: which keys are deleted, which remain and which messages are
//! published, and no change if the owner or the hold has changed meanwhile. The data are those of
//! the format catalogue, on a real server.

use futures::StreamExt as _;
use lockkeeper::domain::library::ReleaseStrategy;
use lockkeeper::domain::{Format, LockKey, NodeOutcome};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{FormatOverride, GroupConfig};
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use strum::VariantArray as _;

use crate::force_release_cases::{Case, cases};
use crate::support::force_release::force_release;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup};
use crate::support::run_command;
use crate::support::{WAIT_TIMEOUT, wait_for, wait_until};

/// A server with a lock of one library, and a group that observes it.
pub struct Scene {
    nodes: RedisNodes,
    group: TestGroup,
    pub client: MultiplexedConnection,
    now: i64,
}

impl Scene {
    async fn start(node: RedisNode, pin: Option<FormatOverride>) -> Self {
        let config = GroupConfig::new("orders", [node.url()]);
        Self::start_with_config(node, config, pin).await
    }

    /// Like `start`, for a group that connects to the server as another Redis user.
    pub async fn start_with_config(
        node: RedisNode,
        mut config: GroupConfig,
        pin: Option<FormatOverride>,
    ) -> Self {
        let nodes = RedisNodes(vec![node]);
        config.format_overrides.extend(pin);
        // A lock of likely confidence is released only if a scanned pattern matches its key.
        config.keys.push("*".to_owned());
        config.command_timeout = WAIT_TIMEOUT;
        let group = TestGroup::start(config);
        group.wait_until_up().await;
        Self {
            client: nodes.0[0].client().await,
            nodes,
            group,
            now: Clock::system().now().millis(),
        }
    }

    /// A pipeline of these lines: `@9000` is a timestamp 9000 ms from now, `0x91` are raw bytes.
    fn commands(&self, lines: &str) -> redis::Pipeline {
        let mut pipe = redis::pipe();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = line.split(' ');
            pipe.cmd(words.next().unwrap());
            for word in words {
                pipe.arg(self.word(word));
            }
        }
        pipe
    }

    fn word(&self, word: &str) -> Vec<u8> {
        match word.strip_prefix('@') {
            Some(ms) => (self.now + ms.parse::<i64>().unwrap())
                .to_string()
                .into_bytes(),
            None => bytes(word),
        }
    }

    pub async fn run(&mut self, lines: &str) {
        let commands = self.commands(lines);
        let () = commands.exec_async(&mut self.client).await.unwrap();
    }

    /// Runs a command and returns whether its reply matches.
    pub async fn replies_with(&mut self, command: &str, expected: &str) -> bool {
        let pipeline = self.commands(command);
        let replies: Vec<redis::Value> = pipeline.query_async(&mut self.client).await.unwrap();
        matches_expected(&text(&replies[0]), expected)
    }

    pub async fn release(&self, case: &Case) -> NodeOutcome {
        let key = LockKey::from(case.key);
        let owner = fingerprint(&bytes(case.owner));
        let forced = force_release(&self.group, &key, &owner).await;
        forced.nodes[0].outcome.clone()
    }
}

fn bytes(word: &str) -> Vec<u8> {
    match word.strip_prefix("0x") {
        Some(hex) => (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect(),
        None => word.as_bytes().to_vec(),
    }
}

pub fn pin(case: &Case) -> Option<FormatOverride> {
    case.is_pinned.then(|| FormatOverride {
        pattern: case.key.into(),
        format: case.format,
    })
}

fn text(value: &redis::Value) -> String {
    match value {
        redis::Value::Nil => "nothing".into(),
        redis::Value::Int(n) => n.to_string(),
        redis::Value::BulkString(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        },
        redis::Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}

fn matches_expected(reply: &str, expected: &str) -> bool {
    match expected.split_once("..") {
        Some((from, to)) => {
            let (from, to): (i64, i64) = (from.parse().unwrap(), to.parse().unwrap());
            reply
                .parse()
                .is_ok_and(|number| (from..=to).contains(&number))
        }
        None => reply == expected,
    }
}

async fn assert_releases(node: impl AsyncFn() -> RedisNode) {
    for case in cases() {
        let mut scene = Scene::start(node().await, pin(&case)).await;
        scene.run(&case.before).await;
        let before = scene.nodes.dump(0).await;
        let wrong = fingerprint(b"another owner");
        let forced = force_release(&scene.group, &case.key.into(), &wrong).await;
        let NodeOutcome::OtherOwner {
            owner: Some(current_owner),
        } = &forced.nodes[0].outcome
        else {
            panic!("{}: {forced:?}", case.name)
        };
        assert_eq!(current_owner.format, case.format, "{}", case.name);
        assert_eq!(
            scene.nodes.dump(0).await,
            before,
            "{}: the data changed",
            case.name
        );

        let client = redis::Client::open(scene.nodes.0[0].url().connection_info().clone()).unwrap();
        let mut listener = client.get_async_pubsub().await.unwrap();
        for (channel, _) in &case.messages {
            listener.subscribe(channel).await.unwrap();
        }
        assert_eq!(
            scene.release(&case).await,
            NodeOutcome::Released,
            "{}",
            case.name
        );
        for (command, expected) in &case.after {
            assert!(
                scene.replies_with(command, expected).await,
                "{}: {command}",
                case.name
            );
        }
        let mut received = listener.on_message();
        for (channel, payload) in &case.messages {
            let message = wait_for("the message to waiters", async || received.next().await).await;
            assert_eq!(
                (message.get_channel_name(), message.get_payload_bytes()),
                (*channel, payload.as_bytes()),
                "{}",
                case.name
            );
        }
        let gone = scene.release(&case).await;
        assert!(
            matches!(gone, NodeOutcome::NotHeld | NodeOutcome::OtherOwner { .. }),
            "{}: {gone:?}",
            case.name
        );
    }
}

#[tokio::test]
async fn the_observed_owner_is_released_with_its_keys_and_all_others_remain() {
    assert_releases(async || RedisNode::start().await).await;
}

#[tokio::test]
async fn the_same_releases_work_on_valkey_9() {
    assert_releases(async || RedisNode::start_valkey().await).await;
}

/// The number of clients that are blocked by `CLIENT PAUSE`.
async fn blocked_clients(client: &mut MultiplexedConnection) -> u32 {
    let info: String = run_command(client, "INFO clients").await;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("blocked_clients:"));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_lock_that_changed_between_inspection_and_release_is_left_unchanged() {
    for case in cases() {
        let mut scene = Scene::start(RedisNode::start().await, pin(&case)).await;
        scene.run(&case.before).await;
        // Reads are answered and writes queue up: first the concurrent change, then the release,
        // which was inspected before both.
        let pause = redis::cmd("CLIENT")
            .arg(&["PAUSE", "30000", "WRITE"])
            .to_owned();
        let () = pause.exec_async(&mut scene.client).await.unwrap();
        let (mut other, commands) = (
            scene.nodes.0[0].client().await,
            scene.commands(&case.meanwhile),
        );
        let change = tokio::spawn(async move { commands.exec_async(&mut other).await });
        let client = &mut scene.client.clone();
        wait_until("the concurrent write is blocked", async || {
            blocked_clients(client).await == 1
        })
        .await;
        let (released, ()) = tokio::join!(scene.release(&case), async {
            wait_until("the release is blocked behind it", async || {
                blocked_clients(client).await == 2
            })
            .await;
            let unpause = redis::cmd("CLIENT").arg("UNPAUSE").to_owned();
            let () = unpause.exec_async(client).await.unwrap();
        });
        change.await.unwrap().unwrap();
        assert!(
            matches!(
                released,
                NodeOutcome::OtherHold | NodeOutcome::OtherOwner { .. } | NodeOutcome::NotHeld
            ),
            "{}: {released:?}",
            case.name
        );
        let after = scene.nodes.dump(0).await;
        scene.run("FLUSHALL").await;
        scene.run(&case.before).await;
        scene.run(&case.meanwhile).await;
        assert_eq!(
            after,
            scene.nodes.dump(0).await,
            "{}: the data changed",
            case.name
        );
    }
}

#[tokio::test]
async fn each_string_format_is_compared_and_deleted() {
    let strings = Format::VARIANTS
        .iter()
        .copied()
        .filter(|format| format.library().release_strategy == ReleaseStrategy::Value);
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut config = nodes.config();
    config.format_overrides = strings
        .clone()
        .map(|format| FormatOverride {
            pattern: format!("pinned:{format}"),
            format,
        })
        .collect();
    let group = TestGroup::start(config);
    group.wait_until_up().await;
    for format in strings {
        let key = LockKey::from(&*format!("pinned:{format}"));
        let set = redis::cmd("SET")
            .arg(key.as_bytes())
            .arg(&["token", "PX", "60000"])
            .to_owned();
        let () = set.exec_async(&mut client).await.unwrap();
        let forced = force_release(&group, &key, &fingerprint(b"other")).await;
        let current_owner = forced.current_owner.unwrap_or_else(|| panic!("{format}"));
        assert_eq!(current_owner.format, format);
        assert!(nodes.get(0, key.as_bytes()).await.is_some(), "{format}");
        let forced = force_release(&group, &key, &current_owner.fingerprint).await;
        assert_eq!(forced.nodes[0].outcome, NodeOutcome::Released, "{format}");
        assert!(nodes.get(0, key.as_bytes()).await.is_none(), "{format}");
    }
}
