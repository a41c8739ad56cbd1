//! The state of the nodes page in the URL.

use crate::domain::{GroupView, NodeState, text::contains};

use super::paths;

/// Groups per page. Every visible group is rendered completely and its nodes are queried.
const GROUPS_PER_PAGE: usize = 20;

/// The state of the page. All of it is kept in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodesQuery {
    /// The search text for group names and for node names, addresses and states.
    pub text: String,
    /// The number of additional pages.
    extra_pages: usize,
}

impl NodesQuery {
    /// Parses the query string of a URL.
    pub fn parse(search: &str) -> Self {
        let more = paths::field(search, "more").and_then(|more| more.parse::<usize>().ok());
        Self {
            text: paths::field(search, "q").unwrap_or_default(),
            extra_pages: more.unwrap_or(0).min(1_000),
        }
    }

    /// The URL of the page in this state.
    pub fn path(&self) -> String {
        let text = (!self.text.is_empty()).then(|| ("q", self.text.clone()));
        let more = (self.extra_pages > 0).then(|| ("more", self.extra_pages.to_string()));
        paths::with_fields(paths::NODES, text.into_iter().chain(more))
    }

    /// The query string of the page.
    pub fn query_string(&self) -> String {
        paths::query_string(&self.path())
    }

    /// The state with another search text.
    pub fn with_text(text: String) -> Self {
        Self {
            text,
            extra_pages: 0,
        }
    }

    /// The state with one more page.
    pub fn with_next_page(&self) -> Self {
        Self {
            extra_pages: self.extra_pages + 1,
            ..self.clone()
        }
    }

    /// The names of the visible groups, and the number of matching groups. If not all groups fit on
    /// one page, groups with unavailable nodes come first.
    pub fn visible_groups(&self, groups: &[GroupView]) -> (Vec<String>, usize) {
        let text = self.text.trim();
        let mut found: Vec<&GroupView> = groups
            .iter()
            .filter(|group| matches_text(group, text))
            .collect();
        let (total, most) = (found.len(), GROUPS_PER_PAGE * (self.extra_pages + 1));
        if total > GROUPS_PER_PAGE {
            found.sort_by_key(|group| group.nodes_up() == group.nodes.len());
        }
        let shown = found.into_iter().take(most);
        (shown.map(|group| group.name.clone()).collect(), total)
    }
}

fn matches_text(group: &GroupView, text: &str) -> bool {
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
    fn five_hundred_groups_are_shown_in_pages() {
        let groups: Vec<GroupView> = (0..500).map(|n| group(&format!("g{n}"), 1)).collect();
        let first = NodesQuery::parse("");
        let (shown, total) = first.visible_groups(&groups);
        assert_eq!((shown.len(), total), (GROUPS_PER_PAGE, 500));
        let (shown, _) = first.with_next_page().visible_groups(&groups);
        assert_eq!(shown.len(), 2 * GROUPS_PER_PAGE);
        let (shown, total) = NodesQuery::parse("?q=G49").visible_groups(&groups);
        assert_eq!((shown.len(), total), (11, 11));
    }

    #[test]
    fn the_state_round_trips_through_the_url() {
        let query = NodesQuery::with_text("a b&c=ü".to_owned()).with_next_page();
        assert_eq!(NodesQuery::parse(&query.query_string()), query);
        assert_eq!(NodesQuery::parse("").path(), "/nodes");
        assert_eq!(NodesQuery::parse("?q=web+2").text, "web 2");
    }
}
