//! The state of the lock list in the URL: search, filters, sort order, grouping and page.

use crate::domain::listing::{Filter, Sort, SortOrder};
use crate::domain::search::{Predicate, SearchTerm};
use crate::domain::{
    Confidence, Flag, GroupBy, Lock, LockId, SearchError, SearchQuery, Verdict, VisibleGroups,
    WindowQuery,
};

use super::paths;

/// Locks with longer encoded ids are not pinned in the event stream, because the URL would become
/// too long.
const MAX_PINNED_KEY_BYTES: usize = 8_192;

/// The filter by state that is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// All locks.
    #[default]
    All,
    /// Locks that need attention.
    Attention,
    /// Locks with this verdict.
    Verdict(Verdict),
    /// Locks with this flag.
    Flag(Flag),
    /// Possible locks. All other filters exclude them.
    Possible,
}

/// The state of the lock list. All of it is kept in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocksQuery {
    /// The search text for names, owners and fingerprints.
    pub text: String,
    /// Show only this group.
    pub group: Option<String>,
    /// The selected filter by state.
    pub status: StatusFilter,
    /// The sort field.
    pub sort: Sort,
    /// The sort direction, if it is not the default of the field.
    pub order: Option<SortOrder>,
    /// The grouping of the rows.
    pub group_by: Option<GroupBy>,
    /// The number of rows before the first visible row.
    pub offset: usize,
}

impl LocksQuery {
    /// Parses the query string of a URL. Unknown fields and values are ignored, so that old
    /// bookmarks still open.
    pub fn parse(search: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in paths::fields(search) {
            match name {
                "q" => query.text = value,
                "group" => query.group = Some(value).filter(|group| !group.is_empty()),
                "show" if value == "attention" => query.status = StatusFilter::Attention,
                "show" if value == "possible" => query.status = StatusFilter::Possible,
                "verdict" => {
                    query.status = value.parse().map_or(query.status, StatusFilter::Verdict);
                }
                "flag" => query.status = value.parse().map_or(query.status, StatusFilter::Flag),
                "sort" => query.sort = value.parse().unwrap_or(query.sort),
                "order" => query.order = value.parse().ok(),
                "group_by" => query.group_by = value.parse().ok(),
                "offset" => query.offset = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        query.order = query
            .order
            .filter(|order| *order != query.sort.default_order());
        query
    }

    /// The fields that differ from the defaults, for a URL or for hidden form fields.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        if !self.text.is_empty() {
            fields.push(("q", self.text.clone()));
        }
        if let Some(group) = &self.group {
            fields.push(("group", group.clone()));
        }
        match self.status {
            StatusFilter::All => {}
            StatusFilter::Attention => fields.push(("show", "attention".to_owned())),
            StatusFilter::Verdict(verdict) => fields.push(("verdict", verdict.slug().to_owned())),
            StatusFilter::Flag(flag) => fields.push(("flag", flag.slug().to_owned())),
            StatusFilter::Possible => fields.push(("show", "possible".to_owned())),
        }
        if self.sort != Sort::default() {
            fields.push(("sort", self.sort.slug().to_owned()));
        }
        if let Some(order) = self.order {
            fields.push(("order", order.slug().to_owned()));
        }
        if let Some(by) = self.group_by {
            fields.push(("group_by", by.slug().to_owned()));
        }
        if self.offset > 0 {
            fields.push(("offset", self.offset.to_string()));
        }
        fields
    }

    /// The URL of the page in this state.
    pub fn path(&self) -> String {
        paths::with_fields(paths::LOCKS, self.fields())
    }

    /// The URL of the export of all locks in the list: `csv` or `json`.
    pub fn export_path(&self, kind: &str) -> String {
        let kind = [("as", kind.to_owned())];
        paths::with_fields(
            paths::LOCKS_EXPORT,
            kind.into_iter().chain(self.api_params()),
        )
    }

    /// The URL of the event stream for `rows` rows of the list from `from` on, and for the pinned
    /// locks `also`.
    pub fn events_path<'a>(
        &self,
        from: usize,
        rows: usize,
        also: impl Iterator<Item = &'a LockId>,
    ) -> String {
        let lock = |id: &LockId| format!("{}/{}", paths::segment(&id.group), id.key.encoded());
        let mut also: Vec<String> = also.map(lock).collect();
        // A lock whose id would make the URL too long is not pinned; its page reports that it is
        // not live.
        also.retain(|lock| lock.len() <= MAX_PINNED_KEY_BYTES);
        let mut fields = vec![("limit", rows.to_string())];
        if from > 0 {
            fields.push(("offset", from.to_string()));
        }
        fields.extend(self.api_params());
        fields.extend(self.group_by.map(|by| ("group_by", by.slug().to_owned())));
        if !also.is_empty() {
            fields.push(("pinned", also.join(",")));
        }
        paths::with_fields(paths::EVENTS, fields)
    }

    /// The state with another filter by state.
    ///
    /// Contended locks are sorted by the demand for them, unless another order was selected.
    pub fn with_status(&self, only: StatusFilter) -> Self {
        const CONTENDED: StatusFilter = StatusFilter::Flag(Flag::Contended);
        let is_default_order = self.order.is_none();
        let sort = match (self.status, only, self.sort) {
            (_, CONTENDED, Sort::Attention) if is_default_order => Sort::Contention,
            (CONTENDED, _, Sort::Contention) if is_default_order => Sort::default(),
            (_, _, sort) => sort,
        };
        Self {
            status: only,
            sort,
            ..self.reset_offset()
        }
    }

    /// The state with another group filter.
    pub fn with_group(&self, group: Option<String>) -> Self {
        Self {
            group,
            ..self.reset_offset()
        }
    }

    /// The group to which the list is limited: by the menu, or by a term of the search.
    pub fn selected_group(&self) -> Option<String> {
        let from_search = || {
            let search = self.parse_search().ok()?;
            let mut groups = search.terms.iter().filter_map(SearchTerm::single_group);
            groups.next().map(str::to_owned)
        };
        self.group.clone().or_else(from_search)
    }

    /// The state with another group. Terms of the search that select one are removed.
    pub fn with_selected_group(&self, group: Option<String>) -> Self {
        let text = match self.parse_search() {
            Ok(mut search)
                if search
                    .terms
                    .iter()
                    .any(|term| term.single_group().is_some()) =>
            {
                search.terms.retain(|term| term.single_group().is_none());
                search.to_string()
            }
            Ok(_) | Err(_) => self.text.clone(),
        };
        self.with_text(text).with_group(group)
    }

    /// The state with another search text.
    pub fn with_text(&self, text: String) -> Self {
        Self {
            text,
            ..self.reset_offset()
        }
    }

    /// The state with another grouping.
    pub fn with_group_by(&self, by: Option<GroupBy>) -> Self {
        Self {
            group_by: by,
            ..self.reset_offset()
        }
    }

    /// The list of the locks in one bucket.
    pub fn narrowed_to_bucket(&self, by: GroupBy, name: &str) -> Self {
        let group = (by == GroupBy::Group).then(|| name.to_owned());
        let text = match Predicate::for_bucket(by, name) {
            Some(ask) => SearchQuery::parse_lenient(&self.text)
                .with_term(ask)
                .to_string(),
            None => self.text.clone(),
        };
        Self {
            text,
            group: group.or_else(|| self.group.clone()),
            group_by: None,
            ..self.reset_offset()
        }
    }

    /// The state with another offset.
    pub fn with_offset(&self, from: usize) -> Self {
        Self {
            offset: from,
            ..self.clone()
        }
    }

    /// The state with the offset reset.
    fn reset_offset(&self) -> Self {
        self.with_offset(0)
    }

    /// The state sorted by this column; the direction is reversed if it is sorted by this column
    /// already.
    pub fn toggle_sort(&self, sort: Sort) -> Self {
        let turned = match self.order() {
            SortOrder::Asc => SortOrder::Desc,
            SortOrder::Desc => SortOrder::Asc,
        };
        let order = (self.sort == sort && turned != sort.default_order()).then_some(turned);
        Self {
            sort,
            order,
            ..self.reset_offset()
        }
    }

    /// The state sorted by this field in its default direction.
    pub fn with_sort(&self, sort: Sort) -> Self {
        Self {
            sort,
            order: None,
            ..self.reset_offset()
        }
    }

    /// The state without filters. Sort order and grouping are kept.
    pub fn without_filters(&self) -> Self {
        Self {
            sort: self.sort,
            order: self.order,
            group_by: self.group_by,
            ..Self::default()
        }
    }

    /// The query parameters of the API for this list.
    pub fn api_params(&self) -> Vec<(&'static str, String)> {
        let mut params = vec![
            ("sort", self.sort.slug().to_owned()),
            ("order", self.order().slug().to_owned()),
        ];
        let search = SearchQuery::parse_lenient(&self.text);
        if !search.is_empty() {
            params.push(("q", search.to_string()));
        }
        params.extend(self.group.clone().map(|group| ("group", group)));
        params.extend(match self.status {
            StatusFilter::All => None,
            StatusFilter::Attention => Some(("attention", "true".to_owned())),
            StatusFilter::Verdict(verdict) => Some(("verdict", verdict.slug().to_owned())),
            StatusFilter::Flag(flag) => Some(("flag", flag.slug().to_owned())),
            StatusFilter::Possible => Some(("confidence", Confidence::Possible.slug().to_owned())),
        });
        params
    }

    /// The parsed search.
    pub fn parse_search(&self) -> Result<SearchQuery, SearchError> {
        self.text.parse()
    }

    /// The query for the lock index, with at most `rows` rows. Invalid search terms are ignored;
    /// the page reports the error.
    pub fn window_query(&self, rows: usize) -> WindowQuery {
        let mut filter = self.filter();
        match self.status {
            StatusFilter::All | StatusFilter::Possible => {}
            StatusFilter::Attention => filter.attention = true,
            StatusFilter::Verdict(verdict) => filter.verdict = Some(verdict),
            StatusFilter::Flag(flag) => filter.flag = Some(flag),
        }
        WindowQuery {
            filter,
            sort: self.sort,
            order: self.order(),
            group_by: self.group_by,
            offset: self.offset,
            limit: rows,
        }
    }

    /// The effective sort direction.
    pub fn order(&self) -> SortOrder {
        self.order.unwrap_or(self.sort.default_order())
    }

    /// Whether any filter is active.
    pub fn is_filtered(&self) -> bool {
        !self.text.trim().is_empty() || self.group.is_some() || self.status != StatusFilter::All
    }

    /// The filter by group and search, without the state: the filters by state count these locks. Possible
    /// locks are counted separately.
    pub fn filter(&self) -> Filter {
        Filter {
            visible_groups: VisibleGroups::All,
            group: self.group.clone(),
            search: SearchQuery::parse_lenient(&self.text),
            confidence: (self.status == StatusFilter::Possible).then_some(Confidence::Possible),
            ..Filter::default()
        }
    }

    /// Sorts the locks that the server selected in the order of the list.
    pub fn sort_locks<'a>(&self, locks: impl Iterator<Item = &'a Lock>) -> Vec<&'a Lock> {
        let mut ranked: Vec<_> = locks.map(|lock| (self.sort.sort_key(lock), lock)).collect();
        let order = self.order();
        ranked.sort_unstable_by(|(a, _), (b, _)| order.compare(a, b));
        ranked.into_iter().map(|(_, lock)| lock).collect()
    }
}

#[cfg(test)]
mod tests;
