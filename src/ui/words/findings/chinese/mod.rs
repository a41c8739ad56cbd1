//! What each finding says in Chinese: what is so, why that matters, and what helps.

mod failover;
mod leases;
mod persistence;
mod reach;

use crate::domain::Finding;

/// What is so, why that matters, and what helps.
type Sentences = (String, &'static str, String);

/// What a finding's sentences are made of.
struct Facts<'a>(&'a Finding);

impl Facts<'_> {
    fn code(&self) -> &str {
        &self.0.code
    }

    fn nodes(&self) -> String {
        format!("节点 {}", self.0.nodes.join("、"))
    }

    fn figure(&self, name: &str) -> &str {
        self.0.figure(name).unwrap_or("?")
    }
}

/// What is so, why that matters, and what helps; nothing for a code that is not known here.
pub(super) fn sentences(finding: &Finding) -> Option<[String; 3]> {
    let facts = Facts(finding);
    let topics = [
        reach::sentences,
        failover::sentences,
        persistence::sentences,
        leases::sentences,
    ];
    let (what, why, fix) = topics.into_iter().find_map(|of_topic| of_topic(&facts))?;
    Some([what, why.to_owned(), fix])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Severity;

    /// Every code that the doctor's rules name.
    fn codes() -> Vec<&'static str> {
        let rules = [
            include_str!("../../../../server/doctor/clocks.rs"),
            include_str!("../../../../server/doctor/failover.rs"),
            include_str!("../../../../server/doctor/independence.rs"),
            include_str!("../../../../server/doctor/leases.rs"),
            include_str!("../../../../server/doctor/memory.rs"),
            include_str!("../../../../server/doctor/permissions.rs"),
            include_str!("../../../../server/doctor/persistence.rs"),
            include_str!("../../../../server/doctor/reach.rs"),
            include_str!("../../../../server/doctor/sentinels.rs"),
        ];
        let named = rules.iter().flat_map(|text| text.split("code: \"").skip(1));
        named.filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_finding_of_the_doctor_has_chinese_words() {
        assert!(codes().len() >= 48);
        for code in codes() {
            let finding = Finding {
                code: code.to_owned(),
                severity: Severity::Note,
                nodes: vec!["a".to_owned(), "b".to_owned()],
                what: String::new(),
                evidence: Vec::new(),
                why: String::new(),
                fix: String::new(),
                commands: Vec::new(),
                figures: Vec::new(),
            };
            let worded =
                sentences(&finding).unwrap_or_else(|| panic!("{code} has no Chinese words"));
            for sentence in worded {
                assert!(
                    sentence.ends_with('。') || sentence.contains('。'),
                    "{code}: {sentence}"
                );
            }
        }
    }
}
