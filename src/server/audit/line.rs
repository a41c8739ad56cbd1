//! What a line says, before it is put into the chain.

use serde::Serialize;

use super::asked::{Asked, By, End, short};
use crate::domain::{
    ActEnd, ActKind, Fingerprint, Format, LockKey, NodeAct, NodeAnswer, Timestamp,
};

/// The longest name of a lock; longer ones are not accepted.
const LONGEST_KEY: usize = 16 * 1024;

/// One line before it is in the chain. `line` and `id` come first: whoever looks for one act need not read the rest.
#[derive(Serialize)]
struct Body<'a> {
    line: &'static str,
    id: &'a str,
    act: ActKind,
    #[serde(flatten)]
    by: By<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// Only of a name that is not UTF-8: then it is the exact one.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_encoded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    auto_renew: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    began_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<ActEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nodes: &'a [NodeAct],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    seen: &'a [NodeAnswer],
}

/// What says that an act begins.
pub fn begin(id: &str, asked: &Asked<'_>, at: Timestamp) -> Vec<u8> {
    written(id, asked, at, None)
}

/// What says how an act ended: all of it once more, so that one line tells the whole act.
pub fn end(id: &str, asked: &Asked<'_>, began_at: Timestamp, end: &End, at: Timestamp) -> Vec<u8> {
    written(id, asked, began_at, Some((end, at)))
}

fn written(
    id: &str,
    asked: &Asked<'_>,
    began_at: Timestamp,
    end: Option<(&End, Timestamp)>,
) -> Vec<u8> {
    let (ended, ended_at) = end.unzip();
    // A name that no lock has is not written: it was refused for that.
    let key = asked.key.filter(|key| key.as_bytes().len() <= LONGEST_KEY);
    let text = key.map(LockKey::text);
    let who = short(asked.by.who);
    let subject = asked.by.subject.map(short);
    let by = By {
        who: &who,
        subject: subject.as_deref(),
        ..asked.by
    };
    let (group, label, reason) = (
        asked.group.map(short),
        asked.label.map(short),
        asked.reason.map(short),
    );
    let is_text = |key: &&LockKey| std::str::from_utf8(key.as_bytes()).is_ok();
    let body = Body {
        line: if ended.is_some() { "end" } else { "begin" },
        id,
        act: asked.act,
        by,
        group: group.as_deref(),
        key: text.as_deref(),
        key_encoded: key.filter(|key| !is_text(key)).map(LockKey::encoded),
        fingerprint: ended
            .and_then(|end| end.fingerprint.as_ref())
            .or(asked.fingerprint.as_ref()),
        label: label.as_deref(),
        format: asked.format,
        ttl_ms: asked.ttl_ms,
        auto_renew: asked.auto_renew,
        reason: reason.as_deref(),
        began_at,
        ended_at,
        end: ended.map(|end| end.end),
        code: ended.and_then(|end| end.code),
        detail: ended
            .and_then(|end| end.detail.as_deref())
            .or(asked.detail.as_deref()),
        nodes: ended.map_or(&[], |end| &end.nodes),
        seen: ended.map_or(&[], |end| &end.seen),
    };
    serde_json::to_vec(&body).expect("a line has no maps with odd keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ActOutcome, Audited, Fault, LockId};
    use crate::server::audit::asked::LONGEST_TEXT;
    use crate::server::audit::chain::{self, Head};

    const BY: By<'static> = By {
        who: "alice",
        subject: Some("https://login.example.org 7"),
        via: "browser",
        address: None,
        request: Some("r-1"),
    };

    fn read(body: &[u8]) -> Audited {
        let mut line = Vec::new();
        chain::write(&Head::START, body, &mut line);
        serde_json::from_slice(&line).unwrap()
    }

    #[test]
    fn the_end_tells_the_whole_act() {
        let lock = LockId {
            group: "orders".into(),
            key: LockKey::new([0xff, b'\n']),
        };
        let mut asked = Asked::on(ActKind::ForceRelease, BY, &lock);
        asked.reason = Some("it is \"stuck\"\n");
        let nodes = [NodeAct {
            node: "a".into(),
            outcome: ActOutcome::Released,
        }];
        let at = Timestamp::from_millis;
        let told = read(&end("x-1", &asked, at(5), &End::done(&nodes), at(9)));
        assert_eq!(told.lock().as_ref(), Some(&lock));
        assert_eq!((told.end, told.ended_at), (ActEnd::Done, Some(at(9))));
        assert_eq!(told.reason.as_deref(), asked.reason);
        assert_eq!(
            (told.who.as_str(), told.subject.as_deref()),
            (BY.who, BY.subject)
        );
        assert_eq!(told.nodes, nodes);
        let began = read(&begin("x-1", &asked, at(5)));
        assert_eq!((began.end, began.began_at), (ActEnd::InProgress, at(5)));
    }

    #[test]
    fn a_fault_is_refused_or_failed_and_its_text_is_not_endless() {
        let asked = Asked::new(ActKind::Extend, BY);
        let at = Timestamp::from_millis(5);
        for (fault, how) in [
            (
                Fault::Forbidden {
                    why: "é".repeat(2_000),
                },
                ActEnd::Refused,
            ),
            (Fault::NotOwner { nodes: Vec::new() }, ActEnd::Refused),
            (
                Fault::Internal {
                    detail: "x".to_owned(),
                },
                ActEnd::Failed,
            ),
        ] {
            let line = end("x-1", &asked, at, &End::fault(&fault), at);
            let told = read(&line);
            assert_eq!((told.end, told.code.as_deref()), (how, Some(fault.code())));
            assert!(line.len() < 3 * LONGEST_TEXT, "{}", line.len());
        }
    }
}
