//! Tells from idle times who else touches the locks of a node: no key is touched for it, and nothing is asked of the
//! server but `INFO` and `OBJECT`.
//!
//! Blind for those who only ask `EXISTS` or `PTTL` (node-redlock 5) or who sleep until they are called (Redisson), and for
//! what happens in the second of a write. What the owner itself reads counts as a touch.

mod seen;
mod server;
mod written;

use std::collections::HashMap;
use std::time::Duration;

use redis::{Pipeline, RedisError, RedisResult, Value};

use super::Group;
use super::chunks::chunks;
use super::line::Line;
use super::node::Node;
use crate::domain::{LockKey, Role};
use crate::server::clock::Steady;
pub use seen::Figure;
use seen::{Deadline, Doubt, Mark, Reading, Seen, Wanted};
use server::Policy;
pub use written::Written;

/// The policy of a server is seldom changed.
const POLICY_HOLDS_FOR: u32 = 20;

/// A key that was not asked about for so many rounds is forgotten.
const FORGET_AFTER: u32 = 60;

/// An answer that took longer says too little of when a key ends.
const QUICK: Duration = Duration::from_millis(50);

/// Why touches cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blind {
    /// This command may not be called.
    Forbidden(&'static str),
    /// The server has a child process (to save, rewrite or send its data), and keeps no idle times meanwhile.
    Fork,
    /// Its policy counts writes only.
    WritesOnly,
    /// It follows a primary: who fails there is not seen here.
    Replica,
    /// It does not tell its clock for idle times.
    NoClock,
    /// Small numbers are kept once for all keys.
    SharedNumber,
    /// The key has no expiry that a write would move, and the node does not tell of writes.
    Untold,
    /// It cannot be asked.
    Unanswered,
}

impl Blind {
    /// In words, to stand behind "not measurable now:".
    pub fn words(self) -> String {
        match self {
            Self::Forbidden(command) => format!("no permission for {command}"),
            Self::Fork => {
                "the server saves or sends its data and keeps no idle times meanwhile".to_owned()
            }
            Self::WritesOnly => {
                "the server's maxmemory-policy (LRM) counts writes only".to_owned()
            }
            Self::Replica => "the node is a replica".to_owned(),
            Self::NoClock => "the server does not tell its clock for idle times".to_owned(),
            Self::SharedNumber => {
                "the value is a small number, which the server keeps once for all keys, or how it is kept may not be asked"
                    .to_owned()
            }
            Self::Untold => {
                "the key has no expiry, and the node does not tell of writes".to_owned()
            }
            Self::Unanswered => "the node cannot be asked".to_owned(),
        }
    }
}

/// What became of one key in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It is not there, or not known for long enough.
    Nothing,
    /// Its touches cannot be told.
    Blind(Blind),
    /// So often it was touched.
    Seen(Figure),
}

/// What one round told.
#[derive(Debug)]
pub struct Round {
    /// Why nothing can be told of any key, if that is so.
    pub blind: Option<Blind>,
    /// One per key, in the order asked.
    pub touches: Vec<Touch>,
}

/// Watches the touches of one node's locks.
#[derive(Default)]
pub struct Sensor {
    keys: HashMap<u64, (u32, Seen)>,
    policy: Option<Policy>,
    rounds: u32,
}

impl Sensor {
    /// Asks about these locks. Ends within the node's time limit.
    pub async fn round(&mut self, node: &Node, keys: &[LockKey]) -> Round {
        self.rounds = self.rounds.wrapping_add(1);
        if self.rounds.is_multiple_of(FORGET_AFTER) {
            let now = self.rounds;
            self.keys
                .retain(|_, (asked, _)| now.wrapping_sub(*asked) < FORGET_AFTER);
        }
        let blind = |blind| Round {
            blind: Some(blind),
            touches: vec![Touch::Nothing; keys.len()],
        };
        if node.role() == Some(Role::Replica) {
            return blind(Blind::Replica);
        }
        let limit = node.command_timeout();
        let asked = node.observe(limit, |line| self.ask(line, node, keys)).await;
        match asked {
            Ok(Ok(touches)) => Round {
                blind: None,
                touches,
            },
            Ok(Err(why)) => blind(why),
            Err(_) => {
                self.keys.clear();
                self.policy = None;
                blind(Blind::Unanswered)
            }
        }
    }

    async fn ask(
        &mut self,
        mut line: Line,
        node: &Node,
        keys: &[LockKey],
    ) -> RedisResult<Result<Vec<Touch>, Blind>> {
        if let Err(why) = self.learn_policy(&mut line).await? {
            return Ok(Err(why));
        }
        let mut touches = Vec::with_capacity(keys.len());
        for keys in chunks(keys, |key| key.as_bytes().len()) {
            match self.ask_chunk(&mut line, node, keys).await? {
                Ok(some) => touches.extend(some),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(touches))
    }

    async fn learn_policy(&mut self, line: &mut Line) -> RedisResult<Result<(), Blind>> {
        if self.policy.is_none() || self.rounds.is_multiple_of(POLICY_HOLDS_FOR) {
            let mut ask = redis::cmd("INFO");
            ask.arg("memory");
            let told: Value = match ask.query_async(&mut line.connection).await {
                Err(error) if error.code() == Some("NOPERM") => {
                    return Ok(Err(Blind::Forbidden("INFO")));
                }
                other => other?,
            };
            let policy = Policy::read(&told);
            if self.policy.replace(policy) != Some(policy) {
                self.keys.clear();
            }
        }
        Ok(match self.policy {
            Some(Policy::WritesOnly) => Err(Blind::WritesOnly),
            Some(Policy::Frequency | Policy::Idle) | None => Ok(()),
        })
    }

    async fn ask_chunk(
        &mut self,
        line: &mut Line,
        node: &Node,
        keys: &[LockKey],
    ) -> RedisResult<Result<Vec<Touch>, Blind>> {
        let written = &node.feed().written;
        self.mark(&written.take());
        let by_frequency = self.policy == Some(Policy::Frequency);
        let (word, command) = if by_frequency {
            ("FREQ", "OBJECT FREQ")
        } else {
            ("IDLETIME", "OBJECT IDLETIME")
        };
        let asked: Vec<KeyRequest> = keys
            .iter()
            .map(|key| self.request(key, written.number(key.as_bytes())))
            .collect();
        let (sent_at, sent) = (node.clock().steady(), std::time::Instant::now());
        let questions = questions(&asked, word);
        let mut answers: Vec<RedisResult<Value>> =
            questions.query_async(&mut line.connection).await?;
        // The round trip may blur what is left too much to compare it.
        let is_quick = sent.elapsed() <= QUICK;
        let at = is_quick.then(|| sent_at.plus(sent.elapsed() / 2));
        let clocks = match server::clocks(answers.pop(), answers.drain(..2)) {
            Ok(clocks) => clocks,
            Err(blind) => return Ok(Err(blind)),
        };
        // What was written while we asked may be what we see.
        let meanwhile = written.take();
        self.mark(&meanwhile);
        let covers = node.feed().state().covers;
        let mut answers = answers.into_iter();
        let mut touches = Vec::with_capacity(keys.len());
        for asked in asked {
            let reply = KeyReply::next(&mut answers, asked.wants, at);
            let mark = match reply.mark {
                Ok(Some(n)) if by_frequency => Mark::Frequency(n),
                Ok(Some(n)) => Mark::Idle(n),
                Ok(None) => {
                    self.keys.remove(&asked.number);
                    touches.push(Touch::Nothing);
                    continue;
                }
                Err(error) if error.code() == Some("NOPERM") => {
                    touches.push(Touch::Blind(Blind::Forbidden(command)));
                    continue;
                }
                // Another policy, most likely: it is asked again.
                Err(error) => {
                    self.policy = None;
                    tracing::debug!(node.name = %node.name(), error = %error, "touches cannot be told");
                    return Ok(Err(Blind::NoClock));
                }
            };
            let Some((_, seen)) = self.keys.get_mut(&asked.number) else {
                continue;
            };
            if !meanwhile.has(asked.number) {
                seen.take(&Reading {
                    clocks,
                    mark,
                    deadline: reply.deadline,
                    shared: reply.shared,
                    is_told: covers.covers(asked.key),
                });
            }
            touches.push(touch(seen, clocks.before));
        }
        // One command that is refused for every key is refused as such.
        let refused = touches
            .iter()
            .all(|touch| matches!(touch, Touch::Blind(Blind::Forbidden(_))));
        if refused && !touches.is_empty() {
            return Ok(Err(Blind::Forbidden(command)));
        }
        Ok(Ok(touches))
    }

    /// What this key is asked in this round.
    fn request<'a>(&mut self, key: &'a LockKey, number: u64) -> KeyRequest<'a> {
        let (asked, seen) = self.keys.entry(number).or_default();
        *asked = self.rounds;
        KeyRequest {
            key,
            number,
            wants: seen.wants(),
        }
    }

    fn mark(&mut self, marks: &written::Marks) {
        if marks.everything {
            for (_, seen) in self.keys.values_mut() {
                seen.written();
            }
        }
        for (number, still) in &marks.read {
            if let Some((_, seen)) = self.keys.get_mut(number) {
                seen.read_by_us(*still);
            }
        }
        for number in &marks.keys {
            if let Some((_, seen)) = self.keys.get_mut(number) {
                seen.written();
            }
        }
    }
}

impl Group {
    /// Something was done to this lock from here: that is no sign of anybody else.
    pub fn touched_by_us(&self, key: &LockKey) {
        for node in self.seats(key).iter() {
            node.feed().written.note(key.as_bytes());
        }
    }
}

/// One key that a node is asked about.
struct KeyRequest<'a> {
    key: &'a LockKey,
    /// What it is remembered as.
    number: u64,
    wants: Wanted,
}

/// The server's clock and children, and the touches of the keys between them.
fn questions(keys: &[KeyRequest<'_>], word: &str) -> Pipeline {
    let mut questions = Pipeline::with_capacity(keys.len() + 3);
    questions.ignore_errors();
    questions.cmd("INFO").arg("server");
    questions.cmd("INFO").arg("persistence");
    for KeyRequest { key, wants, .. } in keys {
        let key = key.as_bytes();
        questions.cmd("OBJECT").arg(word).arg(key);
        if wants.deadline {
            questions.cmd("PTTL").arg(key);
        }
        if wants.shared {
            questions.cmd("OBJECT").arg("REFCOUNT").arg(key);
        }
    }
    questions.cmd("INFO").arg("server");
    questions
}

/// What a server answered about one key.
struct KeyReply {
    /// The last touch; nothing where the key is not there.
    mark: Result<Option<i64>, RedisError>,
    deadline: Deadline,
    shared: Option<bool>,
}

impl KeyReply {
    /// The answers that are next, as they were asked for. What is left of a key's time counts from the moment `at`, if that is
    /// known well enough.
    fn next(
        answers: &mut impl Iterator<Item = RedisResult<Value>>,
        wants: Wanted,
        at: Option<Steady>,
    ) -> Self {
        let mut next = || answers.next().map_or(Ok(None), number_in);
        let mark = next();
        let left = wants.deadline.then(&mut next);
        let shared = wants.shared.then(&mut next);
        Self {
            mark,
            deadline: match (at, left) {
                (Some(_), Some(Ok(Some(-1)))) => Deadline::Never,
                (Some(at), Some(Ok(Some(left)))) if left >= 0 => {
                    Deadline::At(at.plus(Duration::from_millis(left.unsigned_abs())))
                }
                (Some(_) | None, _) => Deadline::Unknown,
            },
            shared: match shared {
                Some(Ok(Some(count))) => Some(count >= i64::from(i32::MAX)),
                Some(_) | None => None,
            },
        }
    }
}

fn touch(seen: &Seen, now: super::trip::TouchClock) -> Touch {
    match seen.doubt() {
        Some(Doubt::SharedNumber) => Touch::Blind(Blind::SharedNumber),
        Some(Doubt::Untold) => Touch::Blind(Blind::Untold),
        None => Touch::Seen(seen.figure(now)),
    }
}

fn number_in(answer: RedisResult<Value>) -> Result<Option<i64>, RedisError> {
    Ok(redis::from_redis_value(answer?)?)
}
