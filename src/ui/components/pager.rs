//! Links to the previous and the next page of a list, for browsers without JavaScript.

use leptos::prelude::*;

use crate::ui::i18n::grouping as t;
use crate::ui::initial_view::initial_rows;
use crate::ui::kit::Link;
use crate::ui::locks_query::LocksQuery;

/// The range of rows that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRange {
    /// The number of rows before the range.
    pub from: usize,
    /// The number of rows in the range.
    pub rows: usize,
    /// The number of rows in the list.
    pub total: usize,
}

impl PageRange {
    /// The offsets of the previous and the next page of `rows` rows.
    fn neighbours(self, rows: usize) -> (Option<usize>, Option<usize>) {
        let previous = (self.from > 0).then(|| self.from.saturating_sub(rows));
        let next = self.from + self.rows;
        (previous, Some(next).filter(|next| *next < self.total))
    }
}

/// The range of rows and the links. Empty if all rows are shown.
#[component]
pub fn Pager(
    /// The query of the list.
    query: Memo<LocksQuery>,
    /// The range of rows that is shown.
    #[prop(into)]
    page: Signal<PageRange>,
) -> impl IntoView {
    const LINK_CLASS: &str = "inline-flex h-7 items-center rounded-md px-2 text-accent underline underline-offset-2 hover:bg-sunken";
    let link = move |to: Option<usize>, label: &'static str| {
        let href = query.with(|query| to.map(|from| query.with_offset(from).path()));
        href.map(|href| view! { <Link href=href class=LINK_CLASS>{label}</Link> })
    };
    let content = move || {
        let page = page.get();
        let (previous, next) = page.neighbours(query.with(initial_rows));
        (previous.is_some() || next.is_some()).then(|| {
            view! {
                <nav aria-label=t::pages() class="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-muted">
                    <p>{t::shown(page.from + 1, page.from + page.rows, page.total)}</p>
                    {link(previous, t::previous())}
                    {link(next, t::next())}
                </nav>
            }
        })
    };
    view! { {move || content()} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_a_page_between_its_neighbours() {
        for (from, rows, total, neighbours) in [
            (0, 60, 60, (None, None)),
            (0, 60, 61, (None, Some(60))),
            (60, 60, 200, (Some(0), Some(120))),
            (10, 60, 200, (Some(0), Some(70))),
            (140, 60, 200, (Some(80), None)),
            (0, 0, 0, (None, None)),
        ] {
            let page = PageRange { from, rows, total };
            assert_eq!(page.neighbours(60), neighbours, "{page:?}");
        }
    }
}
