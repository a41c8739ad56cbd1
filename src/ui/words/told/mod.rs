//! What the server words itself, as the page says it: why a node cannot be used, why an act was refused, what findings rest on.
//!
//! On the wire such a reason is its English sentence, for scripts and the command line too. A page in another
//! language recognises that sentence and says the same; what it does not recognise, above all what a server of Redis says, it
//! quotes.
//!
//! `src/tests/languages.rs` reads the sources of the server for sentences that are not known here.

mod acts;
mod doctor;
mod nodes;

use super::{Language, language};
use crate::ui::format;

/// Sentences in English and Chinese; `{}` stands for what is named in them, in the same order in both.
type Sentences = &'static [(&'static str, &'static str)];

/// A reason in the language of the page, with what cannot be seen in it made visible.
pub fn said(reason: &str) -> String {
    let reason = format::visible(reason);
    match language() {
        Language::English => reason,
        Language::Chinese => chinese(&reason).unwrap_or_else(|| quoted(&reason)),
    }
}

/// What a finding is concluded from, in Chinese.
pub fn evidence(told: &str) -> String {
    // `a: …` of each node.
    let (node, told) = match told.split_once(": ") {
        Some((node, told)) if !node.contains(' ') => (format!("{node}："), told),
        _ => (String::new(), told),
    };
    let chinese = match told.strip_prefix("without ") {
        Some(list) => Some(permissions(list)),
        None => chinese_evidence(told),
    };
    format!("{node}{}", chinese.as_deref().unwrap_or(told))
}

/// `monitor (what that costs), pttl (…)`.
fn permissions(list: &str) -> String {
    let each = list.split_inclusive(')').filter_map(|one| {
        let (permission, _) = one.trim_start_matches(", ").split_once(" (")?;
        let costs = super::costs::chinese(permission).unwrap_or("不详");
        Some(format!("{permission}（{costs}）"))
    });
    format!("缺少 {}", each.collect::<Vec<_>>().join("、"))
}

/// A reason in Chinese; nothing where it is not one of ours.
pub fn chinese(reason: &str) -> Option<String> {
    recognised(reason, &[nodes::SENTENCES, acts::SENTENCES])
}

/// A finding's evidence in Chinese; nothing where it is not one of ours.
pub fn chinese_evidence(told: &str) -> Option<String> {
    recognised(told, &[doctor::SENTENCES, nodes::SENTENCES])
}

fn recognised(text: &str, tables: &[Sentences]) -> Option<String> {
    let said = |is_in_two: bool| {
        let sentences = tables.iter().flat_map(|table| table.iter());
        let mut sentences =
            sentences.filter(move |(english, _)| english.contains("; ") == is_in_two);
        sentences.find_map(|(english, chinese)| {
            let named = named_in(text, english)?;
            let named = named.into_iter().map(|name| named_as(name, tables));
            Some(filled(chinese, named))
        })
    };
    let in_a_row = || {
        let (first, rest) = text.split_once("; ")?;
        let first = recognised(first, tables)?;
        Some(format!("{first}；{}", named_as(rest, tables)))
    };
    said(true).or_else(in_a_row).or_else(|| said(false))
}

/// What the sentence names, where it is that sentence.
fn named_in<'a>(text: &'a str, sentence: &str) -> Option<Vec<&'a str>> {
    let mut parts = sentence.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut named = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let at = match (is_last, part) {
            (true, "") => rest.len(),
            (true, part) => rest.strip_suffix(part)?.len(),
            (false, part) => rest.find(part)?,
        };
        if at == 0 {
            return None;
        }
        named.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    rest.is_empty().then_some(named)
}

/// A reason within a reason, or a name, an address, a number.
fn named_as(named: &str, tables: &[Sentences]) -> String {
    recognised(named, tables).unwrap_or_else(|| match named.split(' ').count() {
        0..=2 => named.to_owned(),
        _ => quoted(named),
    })
}

fn filled(sentence: &str, named: impl Iterator<Item = String>) -> String {
    let mut parts = sentence.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, name) in parts.zip(named) {
        text.push_str(&name);
        text.push_str(part);
    }
    text
}

fn quoted(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("“{text}”"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_recognised_with_what_it_names_and_with_reasons_in_it() {
        for (english, wanted) in [
            ("connection refused", "连接被拒绝"),
            ("no answer within 500 ms", "500 毫秒内没有应答"),
            (
                "no answer within 500 ms; it may have been released",
                "500 毫秒内没有应答；它可能已被释放",
            ),
            (
                "CLIENT TRACKING was refused: ERR this is what Redis says; keyspace notifications are off (notify-keyspace-events needs K and A)",
                "CLIENT TRACKING 被拒绝：“ERR this is what Redis says”；键空间通知没有打开（notify-keyspace-events 需要 K 和 A）",
            ),
            (
                "another owner has it: web-3 thread 87",
                "另一个持有者有了它：“web-3 thread 87”",
            ),
            (
                "the role `viewer` may not acquire locks; that takes `operator`",
                "角色“观察者”不能获取锁；这需要“操作员”",
            ),
        ] {
            assert_eq!(chinese(english).as_deref(), Some(wanted), "{english}");
        }
        assert_eq!(chinese("ERR this is what Redis says"), None);
    }

    #[test]
    fn both_wordings_name_the_same_number_of_things_and_none_hides_behind_another() {
        let holes = |text: &str| text.matches("{}").count();
        for table in [nodes::SENTENCES, acts::SENTENCES, doctor::SENTENCES] {
            for (nth, (english, chinese)) in table.iter().enumerate() {
                assert_eq!(holes(english), holes(chinese), "{english}");
                let example = english.replace("{}", "7");
                let hides = |(other, _): &(&str, &str)| named_in(&example, other).is_some();
                let first = table.iter().position(hides);
                assert_eq!(first, Some(nth), "{english} is never reached");
            }
        }
    }

    #[test]
    fn evidence_keeps_the_node_that_it_is_of_and_the_words_of_redis() {
        for (english, wanted) in [
            ("a: a round trip takes 3 ms", "a：往返一次要 3 ms"),
            (
                "b: connected_slaves:1 (INFO replication)",
                "b：connected_slaves:1 (INFO replication)",
            ),
            ("and 3 more", "另有 3 把"),
            (
                "a: without monitor (samples of who tries in vain to take a lock), info (version, role, restarts, and idle times to the second)",
                "a：缺少 monitor（谁在徒劳地抢锁的采样）、info（版本、角色、重启，以及精确到秒的空闲时间）",
            ),
        ] {
            assert_eq!(evidence(english), wanted);
        }
    }
}
