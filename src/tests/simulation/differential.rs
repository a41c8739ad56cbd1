//! The model of a node against real servers: the same commands, the same replies, the same keys afterwards.

use lockkeeper::domain::LockKey;
use lockkeeper::server::locking::fence;
use lockkeeper::server::nodes::scripts::{ACQUIRE, EXTEND, FORCE_STRING, RAISE, RELEASE, SOURCES};
use redis::aio::MultiplexedConnection;
use redis::{Script, Value};

use super::dice::Dice;
use super::node::{Command, Keys};
use crate::support::redis_nodes::RedisNodes;

/// How many sequences of commands are tried, and how many commands each has.
const SEQUENCES: u64 = 400;
const COMMANDS: u64 = 25;

/// Leases and the like are multiples of this many milliseconds, and compared in those: real time goes by.
const LONG: i64 = 100_000;

/// Tokens of all lengths, some the beginning of others, and what else may be in a key.
fn some_bytes(dice: &mut Dice) -> Vec<u8> {
    match dice.place(9) {
        0 | 1 => b"a".to_vec(),
        2 | 3 => b"ab".to_vec(),
        4 => vec![0xff, 0, b'\r', b'\n'],
        5 => vec![b'x'; 512],
        6 => vec![b'x'; 513],
        7 => vec![b'x'; 2_000],
        _ => Vec::new(),
    }
}

fn a_count(dice: &mut Dice) -> &'static str {
    let counts = [
        "abc",
        "",
        "12",
        "0",
        "-7",
        "9007199254740990",
        "9007199254740991",
    ];
    dice.one_of(&counts)
}

fn a_span(dice: &mut Dice) -> Vec<u8> {
    let span = dice.one_of(&[LONG, 2 * LONG, 4 * LONG]);
    span.to_string().into()
}

fn run(script: &Script, keys: &[&[u8]], args: &[&[u8]]) -> Command {
    let many = keys.len().to_string();
    let start = [b"EVALSHA", script.get_hash().as_bytes(), many.as_bytes()];
    let words = start.iter().chain(keys).chain(args);
    words.map(|word| word.to_vec()).collect()
}

fn command(words: &[&[u8]]) -> Command {
    words.iter().map(|word| word.to_vec()).collect()
}

/// Commands that belong together.
fn a_step(dice: &mut Dice, lock: &[u8], beside: &[u8]) -> Vec<Command> {
    let (token, ttl, remembered) = (some_bytes(dice), a_span(dice), a_span(dice));
    let number = dice.between(1, 40).to_string();
    let name = if dice.happens(500) { lock } else { beside };
    let step = match dice.place(17) {
        0..5 if dice.happens(850) => run(
            &ACQUIRE,
            &[lock, beside],
            &[&token, &ttl, number.as_bytes(), &remembered],
        ),
        0..5 => run(&ACQUIRE, &[lock], &[&token, &ttl]),
        5..7 => run(
            &RAISE,
            &[lock, beside],
            &[&token, number.as_bytes(), &remembered],
        ),
        7..9 => run(&EXTEND, &[lock], &[&token, &ttl]),
        9..11 => run(&RELEASE, &[lock], &[&token]),
        11 => command(&[b"SET", beside, a_count(dice).as_bytes(), b"PX", &ttl]),
        12 if dice.happens(500) => command(&[b"SET", lock, &token, b"PX", &ttl]),
        12 => command(&[b"SET", lock, &token]),
        13 => command(&[b"DEL", name]),
        14 => {
            let highest: &[u8] = if dice.happens(500) { b"" } else { &ttl };
            run(&FORCE_STRING, &[lock], &[highest, &token])
        }
        _ => {
            let delete = command(&[b"DEL", name]);
            let make = if dice.happens(500) {
                command(&[b"HSET", name, &token, b"1"])
            } else {
                command(&[b"RPUSH", name, b"1"])
            };
            return vec![delete, make];
        }
    };
    vec![step]
}

/// What a reply says, with leases as multiples of [`LONG`]; nothing for those that say only that it is done.
fn rounded(reply: Value) -> Option<Value> {
    const LONGEST: i64 = 5 * LONG;
    let round = |part| match part {
        Value::Int(left @ 1_000..=LONGEST) => Value::Int((left + LONG / 2) / LONG * LONG),
        part => part,
    };
    match reply {
        Value::Array(parts) => Some(Value::Array(parts.into_iter().map(round).collect())),
        Value::Okay | Value::Int(0 | 1) => None,
        reply => Some(round(reply)),
    }
}

async fn on_server(connection: &mut MultiplexedConnection, words: &Command) -> Option<Value> {
    let mut command = redis::cmd(std::str::from_utf8(&words[0]).unwrap());
    command.arg(&words[1..]);
    match command.query_async::<Value>(connection).await {
        Ok(reply) => rounded(reply),
        Err(error) if error.is_io_error() || error.is_timeout() => panic!("{error}"),
        Err(_) => Some(Value::Nil),
    }
}

fn in_model(keys: &mut Keys, words: &Command) -> Option<Value> {
    match keys.run(words, 0, None) {
        Ok(reply) => rounded(reply),
        Err(_) => Some(Value::Nil),
    }
}

async fn try_sequence(mut connection: MultiplexedConnection, sequence: u64) {
    let mut dice = Dice::new(sequence);
    let (mut keys, mut done) = (Keys::default(), Vec::new());
    let locks = [0, 1].map(|lock| LockKey::from(format!("lock:{sequence}:{lock}").as_str()));
    let names = locks.map(|lock| (lock.as_bytes().to_vec(), fence::key(&lock)));
    for _ in 0..COMMANDS {
        let (lock, beside) = &names[dice.place(2)];
        for command in a_step(&mut dice, lock, beside) {
            done.push(command.clone());
            let ours = in_model(&mut keys, &command);
            let theirs = on_server(&mut connection, &command).await;
            assert_eq!(ours, theirs, "sequence {sequence}: {done:?}");
        }
    }
    for name in names.iter().flat_map(|(lock, beside)| [lock, beside]) {
        for words in [&["TYPE"][..], &["PTTL"], &["GETRANGE", "0", "2000"]] {
            let mut look: Command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            look.insert(1, name.clone());
            let ours = in_model(&mut keys, &look);
            let theirs = on_server(&mut connection, &look).await;
            // Only strings have a range.
            if theirs != Some(Value::Nil) {
                assert_eq!(ours, theirs, "sequence {sequence}, {words:?}: {done:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_model_of_a_node_answers_as_a_server_does() {
    let nodes = RedisNodes::start(1).await;
    let server = &nodes.0[0];
    let mut connection = server.client().await;
    let force = concat!(
        include_str!("../../server/nodes/scripts/force.lua"),
        include_str!("../../server/nodes/scripts/force_string.lua")
    );
    for source in SOURCES.into_iter().chain([force]) {
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(source).clone();
        let () = load.query_async(&mut connection).await.unwrap();
    }
    let lanes = (0..8).map(|lane| {
        let connection = connection.clone();
        async move {
            for sequence in (lane..SEQUENCES).step_by(8) {
                try_sequence(connection.clone(), sequence).await;
            }
        }
    });
    futures::future::join_all(lanes).await;
}
