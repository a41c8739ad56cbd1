//! Finds out what a node's user may not do, by trying each thing once on a key that is not there.

use redis::{Pipeline, RedisResult, Value};

use crate::domain::MissingPermission;

/// A name that no lock has. That this user may see it is not expected.
const NOBODYS_KEY: &str = "lockkeeper:probe";

/// What is tried: the words, the permission, and what is missing on the screen without it.
const TRIED: [(&[&str], &str, &str); 9] = [
    (
        &["CLIENT", "SETNAME", "lockkeeper-feed"],
        "client|setname",
        "a name for our connections in CLIENT LIST",
    ),
    (
        &["CLIENT", "NO-TOUCH", "ON"],
        "client|no-touch",
        "reading without resetting idle times (a detour is taken)",
    ),
    (
        &["INFO", "server"],
        "info",
        "version, role, restarts, and idle times to the second",
    ),
    (
        &["TIME"],
        "time",
        "the difference between the server's clock and ours",
    ),
    (
        &["OBJECT", "IDLETIME", NOBODYS_KEY],
        "object|idletime",
        "who else touches a lock",
    ),
    (&["TYPE", NOBODYS_KEY], "type", "the locks themselves"),
    (&["PTTL", NOBODYS_KEY], "pttl", "the locks themselves"),
    (
        &["SCAN", "0", "COUNT", "1"],
        "scan",
        "locks that are not written while we watch",
    ),
    (
        &["PUBSUB", "NUMSUB", NOBODYS_KEY],
        "pubsub|numsub",
        "who waits for a Redisson lock",
    ),
];

/// All that is tried, in one go.
pub(super) fn questions() -> Pipeline {
    let mut questions = redis::pipe();
    questions.ignore_errors();
    for (words, _, _) in TRIED {
        for (n, word) in words.iter().enumerate() {
            if n == 0 {
                questions.cmd(word);
            } else {
                questions.arg(word);
            }
        }
    }
    questions
}

/// What the answers say is missing.
pub(super) fn missing(answers: &[RedisResult<Value>], acl_user: &str) -> Vec<MissingPermission> {
    let tried = TRIED.into_iter().zip(answers);
    tried
        .filter(|(_, answer)| is_forbidden(answer))
        .map(|((_, permission, costs), _)| not_allowed(acl_user, permission, "", costs))
        .collect()
}

/// A permission that is missing, with the line that grants it; `channel` is one that is needed beside it.
pub(super) fn not_allowed(
    acl_user: &str,
    permission: &str,
    channel: &str,
    costs: &str,
) -> MissingPermission {
    let channel = if channel.is_empty() {
        String::new()
    } else {
        format!(" {channel}")
    };
    MissingPermission {
        permission: permission.to_owned(),
        costs: costs.to_owned(),
        acl: format!("ACL SETUSER {acl_user} +{permission}{channel}"),
    }
}

/// Whether the user may not call the command. One that may not see the key could call it on others.
pub(super) fn is_forbidden<T>(answer: &RedisResult<T>) -> bool {
    answer.as_ref().err().is_some_and(|error| {
        error.code() == Some("NOPERM")
            && !error
                .detail()
                .is_some_and(|text| text.contains("the keys used as arguments"))
    })
}
