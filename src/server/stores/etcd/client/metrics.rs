//! The state of a member in its metrics, for users that may not read its status.

/// What the metrics of a member show. `None` is what they do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberMetrics {
    /// The version of the server.
    pub version: Option<String>,
    /// The member leads.
    pub is_leader: Option<bool>,
    /// The member knows a leader.
    pub has_leader: Option<bool>,
    /// The member does not vote.
    pub is_learner: Option<bool>,
    /// The last entry of the log that the member has applied: `raftAppliedIndex` of its status.
    pub applied_index: Option<u64>,
    /// The last entry of the log that the member knows to be committed.
    pub committed_index: Option<u64>,
}

impl MemberMetrics {
    /// Parses the text format of Prometheus: `etcd_server_is_leader 1`.
    pub fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        };
        let flag = |name: &str| value(name).map(|value| value.trim() == "1");
        let index = |name: &str| value(name).and_then(parse_count);
        let version = text.lines().find_map(|line| {
            let labels = line.strip_prefix("etcd_server_version{")?;
            let version = labels.split_once("server_version=\"")?.1;
            version.split('"').next()
        });
        Self {
            version: version.map(str::to_owned),
            is_leader: flag("etcd_server_is_leader"),
            has_leader: flag("etcd_server_has_leader"),
            is_learner: flag("etcd_server_is_learner"),
            applied_index: index("etcd_server_proposals_applied_total"),
            committed_index: index("etcd_server_proposals_committed_total"),
        }
    }
}

/// Parses a count, which has an exponent if it is large: `1.234567e+06`.
fn parse_count(text: &str) -> Option<u64> {
    // Larger numbers are not exact in this format.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let value: f64 = text.trim().parse().ok()?;
    let is_count = (0.0..=MAX_EXACT).contains(&value) && value.fract() == 0.0;
    // Without a fraction, the text has only digits.
    is_count
        .then(|| format!("{value:.0}").parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leader_and_version_are_read_from_metrics() {
        let text = "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n\
                    etcd_server_is_leader 0\netcd_server_is_learner 0\n\
                    etcd_server_proposals_applied_total 1.234567e+06\n\
                    etcd_server_proposals_committed_total 17\n\
                    etcd_server_version{server_version=\"3.5.30\"} 1\n";
        let expected = MemberMetrics {
            version: Some("3.5.30".to_owned()),
            is_leader: Some(false),
            has_leader: Some(true),
            is_learner: Some(false),
            applied_index: Some(1_234_567),
            committed_index: Some(17),
        };
        assert_eq!(MemberMetrics::parse(text), expected);
        assert_eq!(MemberMetrics::parse(""), MemberMetrics::default());
    }
}
