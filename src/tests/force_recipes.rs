//! How each library's lock is released for its owner: what is gone, what stays, who is told – and nothing at all where the
//! owner, or its hold, is another by then. The bytes are those of the catalogue, on a real server.

use futures::StreamExt as _;
use lockkeeper::domain::library::Recipe;
use lockkeeper::domain::{ActOutcome, Format, LockKey};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, Pin};
use lockkeeper::server::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use strum::VariantArray as _;

use crate::force_cases::{Case, cases};
use crate::support::ask;
use crate::support::force::force_release;
use crate::support::redis_nodes::{RedisNode, RedisNodes, TestGroup};
use crate::support::{PATIENCE, eventually, eventually_is};

/// A server with some library's lock on it, and those who listen to its channels.
pub struct Scene {
    nodes: RedisNodes,
    group: TestGroup,
    pub client: MultiplexedConnection,
    now: i64,
}

impl Scene {
    async fn on(node: RedisNode, pin: Option<Pin>) -> Self {
        let config = GroupConfig::new("orders", [node.url()]);
        Self::seen_as(node, config, pin).await
    }

    /// The same for a group that is that server as one of its users sees it.
    pub async fn seen_as(node: RedisNode, mut config: GroupConfig, pin: Option<Pin>) -> Self {
        let nodes = RedisNodes(vec![node]);
        config.pins.extend(pin);
        // What is likely is released where a scanned pattern matches its name.
        config.keys.push("*".to_owned());
        config.command_timeout = PATIENCE;
        let group = TestGroup::start(config);
        group.is_up().await;
        Self {
            client: nodes.0[0].client().await,
            nodes,
            group,
            now: Clock::real().now().millis(),
        }
    }

    /// A pipeline of these lines: `@9000` is a moment in so many milliseconds, `0x91` are bytes.
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

    /// Whether a question is answered like this.
    pub async fn is_so(&mut self, question: &str, answer: &str) -> bool {
        let question = self.commands(question);
        let told: Vec<redis::Value> = question.query_async(&mut self.client).await.unwrap();
        is(&text(&told[0]), answer)
    }

    pub async fn release(&self, case: &Case) -> ActOutcome {
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

pub fn pin(case: &Case) -> Option<Pin> {
    case.is_pinned.then(|| Pin {
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

fn is(told: &str, wanted: &str) -> bool {
    match wanted.split_once("..") {
        Some((from, to)) => {
            let (from, to): (i64, i64) = (from.parse().unwrap(), to.parse().unwrap());
            told.parse().is_ok_and(|told| (from..=to).contains(&told))
        }
        None => told == wanted,
    }
}

async fn released_and_mended(node: impl AsyncFn() -> RedisNode) {
    for case in cases() {
        let mut scene = Scene::on(node().await, pin(&case)).await;
        scene.run(&case.before).await;
        let before = scene.nodes.dump(0).await;
        let wrong = fingerprint(b"somebody else");
        let forced = force_release(&scene.group, &case.key.into(), &wrong).await;
        let ActOutcome::OtherOwner { owner: Some(now) } = &forced.nodes[0].outcome else {
            panic!("{}: {forced:?}", case.name)
        };
        assert_eq!(now.format, case.format, "{}", case.name);
        assert_eq!(scene.nodes.dump(0).await, before, "{}: touched", case.name);

        let client = redis::Client::open(scene.nodes.0[0].url().connection().clone()).unwrap();
        let mut listener = client.get_async_pubsub().await.unwrap();
        for (channel, _) in &case.hears {
            listener.subscribe(channel).await.unwrap();
        }
        assert_eq!(
            scene.release(&case).await,
            ActOutcome::Released,
            "{}",
            case.name
        );
        for (question, answer) in &case.after {
            assert!(
                scene.is_so(question, answer).await,
                "{}: {question}",
                case.name
            );
        }
        let mut heard = listener.on_message();
        for (channel, payload) in &case.hears {
            let message = eventually("what waiters are told", async || heard.next().await).await;
            assert_eq!(
                (message.get_channel_name(), message.get_payload_bytes()),
                (*channel, payload.as_bytes()),
                "{}",
                case.name
            );
        }
        let gone = scene.release(&case).await;
        assert!(
            matches!(gone, ActOutcome::NotHeld | ActOutcome::OtherOwner { .. }),
            "{}: {gone:?}",
            case.name
        );
    }
}

#[tokio::test]
async fn the_owner_that_was_seen_goes_with_what_is_its_and_everybody_else_stays() {
    released_and_mended(async || RedisNode::start().await).await;
}

#[tokio::test]
async fn so_it_is_on_valkey_9() {
    released_and_mended(async || RedisNode::start_valkey().await).await;
}

/// How many clients wait for the server to take writes again.
async fn held_back(client: &mut MultiplexedConnection) -> u32 {
    let info: String = ask(client, "INFO clients").await;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("blocked_clients:"));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_changed_between_the_look_and_the_act_is_left_alone() {
    for case in cases() {
        let mut scene = Scene::on(RedisNode::start().await, pin(&case)).await;
        scene.run(&case.before).await;
        // Reads go on, writes wait in line: first the other's, then ours, which looked before either was done.
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
        eventually_is("the other's write waits", async || {
            held_back(client).await == 1
        })
        .await;
        let (released, ()) = tokio::join!(scene.release(&case), async {
            eventually_is("ours waits behind it", async || {
                held_back(client).await == 2
            })
            .await;
            let go_on = redis::cmd("CLIENT").arg("UNPAUSE").to_owned();
            let () = go_on.exec_async(client).await.unwrap();
        });
        change.await.unwrap().unwrap();
        assert!(
            matches!(
                released,
                ActOutcome::AnotherHold | ActOutcome::OtherOwner { .. } | ActOutcome::NotHeld
            ),
            "{}: {released:?}",
            case.name
        );
        let after = scene.nodes.dump(0).await;
        scene.run("FLUSHALL").await;
        scene.run(&case.before).await;
        scene.run(&case.meanwhile).await;
        assert_eq!(after, scene.nodes.dump(0).await, "{}: touched", case.name);
    }
}

#[tokio::test]
async fn every_format_of_one_string_is_compared_and_deleted() {
    let strings = Format::VARIANTS
        .iter()
        .copied()
        .filter(|format| format.library().recipe == Recipe::Value);
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    let mut config = nodes.config();
    config.pins = strings
        .clone()
        .map(|format| Pin {
            pattern: format!("pinned:{format}"),
            format,
        })
        .collect();
    let group = TestGroup::start(config);
    group.is_up().await;
    for format in strings {
        let key = LockKey::from(&*format!("pinned:{format}"));
        let set = redis::cmd("SET")
            .arg(key.as_bytes())
            .arg(&["token", "PX", "60000"])
            .to_owned();
        let () = set.exec_async(&mut client).await.unwrap();
        let forced = force_release(&group, &key, &fingerprint(b"other")).await;
        let now = forced.owner_now.unwrap_or_else(|| panic!("{format}"));
        assert_eq!(now.format, format);
        assert!(nodes.get(0, key.as_bytes()).await.is_some(), "{format}");
        let forced = force_release(&group, &key, &now.fingerprint).await;
        assert_eq!(forced.nodes[0].outcome, ActOutcome::Released, "{format}");
        assert!(nodes.get(0, key.as_bytes()).await.is_none(), "{format}");
    }
}
