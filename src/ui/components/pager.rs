//! The way to the rows before and after those of a list that are shown: plain addresses.

use leptos::prelude::*;

use crate::ui::first_view::rows_at_first;
use crate::ui::kit::Link;
use crate::ui::query::Query;
use crate::ui::words::rows as words;

/// Which rows of a list are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// How many come before.
    pub from: usize,
    /// How many are shown.
    pub rows: usize,
    /// How many there are.
    pub total: usize,
}

impl Page {
    /// Where the page of so many rows before this one begins, and where the one behind.
    fn neighbours(self, rows: usize) -> (Option<usize>, Option<usize>) {
        let before = (self.from > 0).then(|| self.from.saturating_sub(rows));
        let behind = self.from + self.rows;
        (before, Some(behind).filter(|behind| *behind < self.total))
    }
}

/// Which rows are shown, and the pages beside them; nothing where these are all.
#[component]
pub fn Pager(
    /// The list.
    query: Memo<Query>,
    /// Which of its rows are shown.
    #[prop(into)]
    page: Signal<Page>,
) -> impl IntoView {
    const LINK: &str = "inline-flex h-7 items-center rounded-md px-2 text-accent underline underline-offset-2 hover:bg-sunken";
    let link = move |to: Option<usize>, said: &'static str| {
        let href = query.with(|query| to.map(|from| query.beginning_at(from).path()));
        href.map(|href| view! { <Link href=href class=LINK>{said}</Link> })
    };
    let shown = move || {
        let page = page.get();
        let (before, behind) = page.neighbours(query.with(rows_at_first));
        (before.is_some() || behind.is_some()).then(|| {
            view! {
                <nav aria-label=words::pages() class="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-muted">
                    <p>{words::shown(page.from + 1, page.from + page.rows, page.total)}</p>
                    {link(before, words::previous())}
                    {link(behind, words::next())}
                </nav>
            }
        })
    };
    view! { {move || shown()} }
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
            let page = Page { from, rows, total };
            assert_eq!(page.neighbours(60), neighbours, "{page:?}");
        }
    }
}
