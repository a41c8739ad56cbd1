//! The model of a node against real servers: the same commands, the same answers, the same keys afterwards.

use std::rc::Rc;

use lockkeeper::domain::LockKey;
use lockkeeper::server::locking::fence;
use lockkeeper::server::nodes::scripts::{ACQUIRE, EXTEND, Given, RAISE, RELEASE, Told};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands as _, RedisResult};

use super::call::{Bytes, Call, Lease, Reply};
use super::dice::Dice;
use super::node::{Kept, Keys, Name};
use crate::support::redis_nodes::RedisNodes;

/// How many sequences of commands are tried, and how many commands each has.
const SEQUENCES: u64 = 400;
const COMMANDS: u64 = 25;

/// Leases and the like are multiples of this many milliseconds, and compared in those: real time goes by.
const LONG: i64 = 100_000;

/// What else happens to keys.
#[derive(Clone, Debug)]
enum Other {
    Set(Name, Bytes, Option<i64>),
    Delete(Name),
    Expire(Name),
    MakeHash(Name, Bytes),
    MakeList(Name),
}

#[derive(Clone, Debug)]
enum Step {
    Call(Call),
    Other(Other),
}

fn bytes(text: impl Into<Vec<u8>>) -> Bytes {
    text.into().into()
}

/// Tokens of all lengths, some the beginning of others, and what else may be in a key.
fn some_bytes(dice: &mut Dice) -> Bytes {
    match dice.place(9) {
        0 | 1 => bytes("a"),
        2 | 3 => bytes("ab"),
        4 => bytes([0xff, 0, b'\r', b'\n']),
        5 => bytes(vec![b'x'; 512]),
        6 => bytes(vec![b'x'; 513]),
        7 => bytes(vec![b'x'; 2_000]),
        _ => bytes(""),
    }
}

fn a_count(dice: &mut Dice) -> Bytes {
    let counts = [
        "abc",
        "",
        "12",
        "0",
        "-7",
        "9007199254740990",
        "9007199254740991",
    ];
    bytes(dice.one_of(&counts))
}

fn a_span(dice: &mut Dice) -> i64 {
    dice.one_of(&[LONG, 2 * LONG, 4 * LONG])
}

fn a_step(dice: &mut Dice) -> Step {
    let lock = u8::try_from(dice.place(2)).unwrap();
    let (token, ttl_ms, remembered_ms) = (some_bytes(dice), a_span(dice), a_span(dice));
    let number = dice.between(1, 40);
    let name = if dice.happens(500) {
        Name::Lock(lock)
    } else {
        Name::Fence(lock)
    };
    let (careless, lease) = (false, Lease::Grows);
    match dice.place(16) {
        0..5 => {
            let fence = dice.happens(850).then_some((number, remembered_ms));
            Step::Call(Call::Take {
                lock,
                token,
                ttl_ms,
                fence,
                lease,
            })
        }
        5..7 => Step::Call(Call::Raise {
            lock,
            token,
            to: number,
            remembered_ms,
        }),
        7..9 => Step::Call(Call::Extend {
            lock,
            token,
            ttl_ms,
            lease,
        }),
        9..11 => Step::Call(Call::Release {
            lock,
            token,
            careless,
        }),
        11 => Step::Other(Other::Set(Name::Fence(lock), a_count(dice), Some(ttl_ms))),
        12 => Step::Other(Other::Set(
            Name::Lock(lock),
            token,
            dice.happens(500).then_some(ttl_ms),
        )),
        13 => Step::Other(Other::Delete(name)),
        14 => Step::Other(Other::Expire(name)),
        _ if dice.happens(500) => Step::Other(Other::MakeHash(name, token)),
        _ => Step::Other(Other::MakeList(name)),
    }
}

/// The keys of one sequence on a real server.
struct Real {
    connection: MultiplexedConnection,
    sequence: u64,
}

impl Real {
    fn lock(&self, lock: u8) -> LockKey {
        LockKey::from(format!("lock:{}:{lock}", self.sequence).as_str())
    }

    fn name(&self, name: Name) -> Vec<u8> {
        match name {
            Name::Lock(lock) => self.lock(lock).as_bytes().to_vec(),
            Name::Fence(lock) => fence::key(&self.lock(lock)),
        }
    }

    async fn call(&mut self, call: &Call) -> Reply {
        let (lock, token) = call.of();
        let (lock, fence) = (self.name(Name::Lock(lock)), self.name(Name::Fence(lock)));
        let connection = &mut self.connection;
        match call {
            Call::Take {
                ttl_ms,
                fence: proposed,
                ..
            } => {
                let mut script = ACQUIRE.key(lock);
                script.arg(&token[..]).arg(*ttl_ms);
                if let Some((proposed, remembered)) = proposed {
                    script.key(fence).arg(*proposed).arg(*remembered);
                }
                reply(script.invoke_async(connection).await, Reply::Given)
            }
            Call::Raise {
                to, remembered_ms, ..
            } => {
                let mut script = RAISE.key(lock);
                script
                    .key(fence)
                    .arg(&token[..])
                    .arg(*to)
                    .arg(*remembered_ms);
                reply(script.invoke_async(connection).await, Reply::Raised)
            }
            Call::Extend { ttl_ms, .. } => {
                let mut script = EXTEND.key(lock);
                script.arg(&token[..]).arg(*ttl_ms);
                reply(script.invoke_async(connection).await, Reply::Told)
            }
            Call::Release { .. } => {
                let mut script = RELEASE.key(lock);
                script.arg(&token[..]);
                reply(script.invoke_async(connection).await, Reply::Told)
            }
        }
    }

    async fn other(&mut self, other: &Other) {
        let mut pipe = redis::pipe();
        match other {
            Other::Set(name, value, ttl) => {
                pipe.set(self.name(*name), &value[..]);
                if let Some(ttl) = ttl {
                    pipe.pexpire(self.name(*name), *ttl);
                }
            }
            Other::Delete(name) => {
                pipe.del(self.name(*name));
            }
            Other::Expire(name) => {
                pipe.pexpire(self.name(*name), 0);
            }
            Other::MakeHash(name, field) => {
                pipe.del(self.name(*name))
                    .hset(self.name(*name), &field[..], 1);
            }
            Other::MakeList(name) => {
                pipe.del(self.name(*name)).rpush(self.name(*name), 1);
            }
        }
        let () = pipe.query_async(&mut self.connection).await.unwrap();
    }

    /// What a key holds now.
    async fn look(&mut self, name: Name) -> Option<(Kept, Option<i64>)> {
        let key = self.name(name);
        let kind: String = redis::cmd("TYPE")
            .arg(&key)
            .query_async(&mut self.connection)
            .await
            .unwrap();
        let kept = match kind.as_str() {
            "none" => return None,
            "string" => Kept::Text(
                self.connection
                    .get::<_, Vec<u8>>(&key)
                    .await
                    .unwrap()
                    .into(),
            ),
            "hash" => {
                let fields: Vec<Vec<u8>> = self.connection.hkeys(&key).await.unwrap();
                Kept::Hash(fields.into_iter().map(Bytes::from).collect())
            }
            _ => Kept::List,
        };
        let left: i64 = self.connection.pttl(&key).await.unwrap();
        Some((kept, (left >= 0).then_some(left)))
    }
}

fn reply<T>(answer: RedisResult<T>, what: impl Fn(T) -> Reply) -> Reply {
    match answer {
        Ok(answer) => what(answer),
        Err(error) if error.is_io_error() || error.is_timeout() => panic!("{error}"),
        Err(_) => Reply::Error,
    }
}

fn do_other(keys: &mut Keys, other: &Other) {
    match other {
        Other::Set(name, value, ttl) => keys.set(*name, Kept::Text(Rc::clone(value)), *ttl),
        Other::Delete(name) | Other::Expire(name) => keys.delete(*name),
        Other::MakeHash(name, field) => keys.set(*name, Kept::Hash(vec![Rc::clone(field)]), None),
        Other::MakeList(name) => keys.set(*name, Kept::List, None),
    }
}

/// Leases as multiples of [`LONG`].
fn rounded(reply: Reply) -> Reply {
    let round = |told| match told {
        Told::OtherOwner { value, pttl } => Told::OtherOwner {
            value,
            pttl: multiples(pttl),
        },
        told => told,
    };
    match reply {
        Reply::Given(Given::Refused(told)) => Reply::Given(Given::Refused(round(told))),
        Reply::Told(told) => Reply::Told(round(told)),
        reply => reply,
    }
}

fn multiples(left: i64) -> i64 {
    if left < 0 {
        left
    } else {
        (left + LONG / 2) / LONG
    }
}

async fn try_sequence(connection: MultiplexedConnection, sequence: u64) {
    let mut dice = Dice::new(sequence);
    let mut real = Real {
        connection,
        sequence,
    };
    let mut keys = Keys::default();
    let mut done: Vec<Step> = Vec::new();
    for _ in 0..COMMANDS {
        let step = a_step(&mut dice);
        done.push(step.clone());
        match step {
            Step::Call(call) => {
                let (ours, theirs) = (keys.run(&call, 0), real.call(&call).await);
                assert_eq!(
                    rounded(ours),
                    rounded(theirs),
                    "sequence {sequence}: {done:#?}"
                );
            }
            Step::Other(other) => {
                do_other(&mut keys, &other);
                real.other(&other).await;
            }
        }
    }
    for name in [Name::Lock(0), Name::Lock(1), Name::Fence(0), Name::Fence(1)] {
        let ours = keys.look(name, 0).map(|(kept, left)| (kept.clone(), left));
        let short = |seen: Option<(Kept, Option<i64>)>| {
            seen.map(|(kept, left)| (kept, left.map(multiples)))
        };
        let theirs = real.look(name).await;
        assert_eq!(
            short(ours),
            short(theirs),
            "sequence {sequence}, {name:?}: {done:#?}"
        );
    }
}

#[tokio::test]
async fn the_model_of_a_node_answers_as_a_server_does() {
    let nodes = RedisNodes::start(1).await;
    let server = &nodes.0[0];
    let lanes = (0..8).map(|lane| async move {
        let connection = server.client().await;
        for sequence in (lane..SEQUENCES).step_by(8) {
            try_sequence(connection.clone(), sequence).await;
        }
    });
    futures::future::join_all(lanes).await;
}
