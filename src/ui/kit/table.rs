//! Tables.

use leptos::prelude::*;

/// A table with a column header row. The ARIA roles are explicit, because screen readers do not
/// recognise a table that the style sheet shows as cards on small screens.
#[component]
pub fn Table(
    /// The column titles.
    titles: Vec<&'static str>,
    /// CSS classes of the titles.
    title_class: &'static str,
    /// CSS classes of the table.
    #[prop(optional)]
    class: &'static str,
    /// The accessible name, if no heading around the table provides one.
    #[prop(into, optional)]
    label: Option<&'static str>,
    /// The rows.
    children: Children,
) -> impl IntoView {
    let title =
        |title| view! { <th scope="col" role="columnheader" class=title_class>{title}</th> };
    view! {
        <table class=class role="table" aria-label=label>
            <thead role="rowgroup">
                <tr role="row">{titles.into_iter().map(title).collect_view()}</tr>
            </thead>
            <tbody role="rowgroup">{children()}</tbody>
        </table>
    }
}
