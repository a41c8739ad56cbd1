//! Compares the model of a node with real servers: equal commands must lead to equal replies and
//! equal keys.

use lockkeeper::domain::LockKey;
use lockkeeper::server::stores::redis::locking::fence;
use lockkeeper::server::stores::redis::nodes::scripts::{
    ACQUIRE, BUMP_FENCE, EXTEND, FORCE_STRING, RELEASE, SOURCES,
};
use redis::aio::MultiplexedConnection;
use redis::{Script, Value};

use super::node::{Command, Database};
use super::rng::SimRng;
use crate::support::redis_nodes::RedisNodes;

const SEQUENCES: u64 = 400;
const COMMANDS_PER_SEQUENCE: u64 = 25;

/// TTLs are multiples of this unit and are rounded to it before they are compared, because real
/// time passes on the server.
const TTL_UNIT_MS: i64 = 100_000;

/// Tokens of various lengths, some of them prefixes of others, and other values that a key may
/// have.
fn random_bytes(rng: &mut SimRng) -> Vec<u8> {
    match rng.index(9) {
        0 | 1 => b"a".to_vec(),
        2 | 3 => b"ab".to_vec(),
        4 => vec![0xff, 0, b'\r', b'\n'],
        5 => vec![b'x'; 512],
        6 => vec![b'x'; 513],
        7 => vec![b'x'; 2_000],
        _ => Vec::new(),
    }
}

fn random_counter(rng: &mut SimRng) -> &'static str {
    let counts = [
        "abc",
        "",
        "12",
        "0",
        "-7",
        "9007199254740990",
        "9007199254740991",
    ];
    rng.choose(&counts)
}

fn random_ttl(rng: &mut SimRng) -> Vec<u8> {
    let span = rng.choose(&[TTL_UNIT_MS, 2 * TTL_UNIT_MS, 4 * TTL_UNIT_MS]);
    span.to_string().into()
}

fn evalsha(script: &Script, keys: &[&[u8]], args: &[&[u8]]) -> Command {
    let key_count = keys.len().to_string();
    let start = [
        b"EVALSHA",
        script.get_hash().as_bytes(),
        key_count.as_bytes(),
    ];
    let words = start.iter().chain(keys).chain(args);
    words.map(|word| word.to_vec()).collect()
}

fn command(words: &[&[u8]]) -> Command {
    words.iter().map(|word| word.to_vec()).collect()
}

/// One command, or two that belong together.
fn random_step(rng: &mut SimRng, lock: &[u8], counter_key: &[u8]) -> Vec<Command> {
    let (token, ttl, counter_ttl) = (random_bytes(rng), random_ttl(rng), random_ttl(rng));
    let number = rng.between(1, 40).to_string();
    let name = if rng.chance(500) { lock } else { counter_key };
    let step = match rng.index(17) {
        0..5 if rng.chance(850) => evalsha(
            &ACQUIRE,
            &[lock, counter_key],
            &[&token, &ttl, number.as_bytes(), &counter_ttl],
        ),
        0..5 => evalsha(&ACQUIRE, &[lock], &[&token, &ttl]),
        5..7 => evalsha(
            &BUMP_FENCE,
            &[lock, counter_key],
            &[&token, number.as_bytes(), &counter_ttl],
        ),
        7..9 => evalsha(&EXTEND, &[lock], &[&token, &ttl]),
        9..11 => evalsha(&RELEASE, &[lock], &[&token]),
        11 => command(&[
            b"SET",
            counter_key,
            random_counter(rng).as_bytes(),
            b"PX",
            &ttl,
        ]),
        12 if rng.chance(500) => command(&[b"SET", lock, &token, b"PX", &ttl]),
        12 => command(&[b"SET", lock, &token]),
        13 => command(&[b"DEL", name]),
        14 => {
            let max_pttl: &[u8] = if rng.chance(500) { b"" } else { &ttl };
            evalsha(&FORCE_STRING, &[lock], &[max_pttl, &token])
        }
        _ => {
            let delete = command(&[b"DEL", name]);
            let create = if rng.chance(500) {
                command(&[b"HSET", name, &token, b"1"])
            } else {
                command(&[b"RPUSH", name, b"1"])
            };
            return vec![delete, create];
        }
    };
    vec![step]
}

/// The reply with TTLs rounded to [`TTL_UNIT_MS`], or `None` for the reply of a plain command that
/// only confirms a write.
fn normalize(words: &Command, reply: Value) -> Option<Value> {
    const LONGEST: i64 = 5 * TTL_UNIT_MS;
    let round_ttl = |part| match part {
        Value::Int(left @ 1_000..=LONGEST) => {
            Value::Int((left + TTL_UNIT_MS / 2) / TTL_UNIT_MS * TTL_UNIT_MS)
        }
        part => part,
    };
    match reply {
        Value::Array(parts) => Some(Value::Array(parts.into_iter().map(round_ttl).collect())),
        Value::Okay | Value::Int(0 | 1) if words[0] != b"EVALSHA" => None,
        reply => Some(round_ttl(reply)),
    }
}

async fn execute_on_server(
    connection: &mut MultiplexedConnection,
    words: &Command,
) -> Option<Value> {
    let mut command = redis::cmd(std::str::from_utf8(&words[0]).unwrap());
    command.arg(&words[1..]);
    match command.query_async::<Value>(connection).await {
        Ok(reply) => normalize(words, reply),
        Err(error) if error.is_io_error() || error.is_timeout() => panic!("{error}"),
        Err(_) => Some(Value::Nil),
    }
}

fn execute_in_model(keys: &mut Database, words: &Command) -> Option<Value> {
    match keys.execute(words, 0, None) {
        Ok(reply) => normalize(words, reply),
        Err(_) => Some(Value::Nil),
    }
}

async fn check_sequence(mut connection: MultiplexedConnection, sequence: u64) {
    let mut rng = SimRng::new(sequence);
    let (mut keys, mut executed) = (Database::default(), Vec::new());
    let locks = [0, 1].map(|lock| LockKey::from(format!("lock:{sequence}:{lock}").as_str()));
    let names = locks.map(|lock| (lock.as_bytes().to_vec(), fence::counter_key(&lock)));
    for _ in 0..COMMANDS_PER_SEQUENCE {
        let (lock, counter_key) = &names[rng.index(2)];
        for command in random_step(&mut rng, lock, counter_key) {
            executed.push(command.clone());
            let model_reply = execute_in_model(&mut keys, &command);
            let server_reply = execute_on_server(&mut connection, &command).await;
            assert_eq!(
                model_reply, server_reply,
                "sequence {sequence}: {executed:?}"
            );
        }
    }
    for name in names
        .iter()
        .flat_map(|(lock, counter_key)| [lock, counter_key])
    {
        for words in [&["TYPE"][..], &["PTTL"], &["GETRANGE", "0", "2000"]] {
            let mut read: Command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            read.insert(1, name.clone());
            let model_reply = execute_in_model(&mut keys, &read);
            let server_reply = execute_on_server(&mut connection, &read).await;
            // GETRANGE fails for other types than strings.
            if server_reply != Some(Value::Nil) {
                assert_eq!(
                    model_reply, server_reply,
                    "sequence {sequence}, {words:?}: {executed:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_model_of_a_node_replies_as_a_real_server_does() {
    let nodes = RedisNodes::start(1).await;
    let server = &nodes.0[0];
    let mut connection = server.client().await;
    let force_script = concat!(
        include_str!("../../server/stores/redis/nodes/scripts/force.lua"),
        include_str!("../../server/stores/redis/nodes/scripts/force_string.lua")
    );
    for source in SOURCES.into_iter().chain([force_script]) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(source).clone();
        let () = load.query_async(&mut connection).await.unwrap();
    }
    let workers = (0..8).map(|worker| {
        let connection = connection.clone();
        async move {
            for sequence in (worker..SEQUENCES).step_by(8) {
                check_sequence(connection.clone(), sequence).await;
            }
        }
    });
    futures::future::join_all(workers).await;
}
