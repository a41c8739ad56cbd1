//! Which groups the page of nodes shows, as its URL says it.

use crate::domain::{GroupView, NodeState, text::contains};

use super::paths;

/// So many groups are shown at first, and so many more each time: each is drawn whole and asked of its nodes.
const GROUPS: usize = 20;

/// The state of the page, all of it from the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodesQuery {
    /// What has to be in a group's name, or in a node's name, address or state.
    pub text: String,
    /// How many times more groups were asked for.
    more: usize,
}

impl NodesQuery {
    /// Reads the query of a URL.
    pub fn parse(search: &str) -> Self {
        let more = paths::field(search, "more").and_then(|more| more.parse::<usize>().ok());
        Self {
            text: paths::field(search, "q").unwrap_or_default(),
            more: more.unwrap_or(0).min(1_000),
        }
    }

    /// The page that shows this.
    pub fn path(&self) -> String {
        let text = (!self.text.is_empty()).then(|| ("q", self.text.clone()));
        let more = (self.more > 0).then(|| ("more", self.more.to_string()));
        paths::with_fields(paths::NODES, text.into_iter().chain(more))
    }

    /// The query of the URL.
    pub fn search(&self) -> String {
        paths::search_of(&self.path())
    }

    /// The same, narrowed to another text.
    pub fn with_text(text: String) -> Self {
        Self { text, more: 0 }
    }

    /// The same with more groups.
    pub fn with_more(&self) -> Self {
        Self {
            more: self.more + 1,
            ..self.clone()
        }
    }

    /// The names of the groups that are shown, and how many the text lets through. Where not all are shown, those with a
    /// node that cannot be used come first.
    pub fn shown(&self, groups: &[GroupView]) -> (Vec<String>, usize) {
        let text = self.text.trim();
        let mut found: Vec<&GroupView> = groups.iter().filter(|group| has(group, text)).collect();
        let (total, most) = (found.len(), GROUPS * (self.more + 1));
        if total > GROUPS {
            found.sort_by_key(|group| group.nodes_up() == group.nodes.len());
        }
        let shown = found.into_iter().take(most);
        (shown.map(|group| group.name.clone()).collect(), total)
    }
}

fn has(group: &GroupView, text: &str) -> bool {
    let within = |word: &str| contains(word, text);
    let state = |state: NodeState| state.slug().eq_ignore_ascii_case(text);
    text.is_empty()
        || within(&group.name)
        || group
            .nodes
            .iter()
            .any(|node| within(&node.name) || within(&node.address) || state(node.state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::group;

    #[test]
    fn five_hundred_groups_are_shown_a_few_at_a_time() {
        let groups: Vec<GroupView> = (0..500).map(|n| group(&format!("g{n}"), 1)).collect();
        let first = NodesQuery::parse("");
        let (shown, total) = first.shown(&groups);
        assert_eq!((shown.len(), total), (GROUPS, 500));
        let (shown, _) = first.with_more().shown(&groups);
        assert_eq!(shown.len(), 2 * GROUPS);
        let (shown, total) = NodesQuery::parse("?q=G49").shown(&groups);
        assert_eq!((shown.len(), total), (11, 11));
    }

    #[test]
    fn the_state_survives_the_address_bar() {
        let query = NodesQuery::with_text("a b&c=ü".to_owned()).with_more();
        assert_eq!(NodesQuery::parse(&query.search()), query);
        assert_eq!(NodesQuery::parse("").path(), "/nodes");
        assert_eq!(NodesQuery::parse("?q=web+2").text, "web 2");
    }
}
