//! A table.

use leptos::prelude::*;

/// A table with a title over each column. The roles are said in words, because a table that style sheets draw as cards on a phone
/// would be none to a screen reader.
#[component]
pub fn Table(
    /// The titles of the columns.
    titles: Vec<&'static str>,
    /// How the titles look.
    title_class: &'static str,
    /// How the table looks.
    #[prop(optional)]
    class: &'static str,
    /// What it is called, where nothing around it is called so.
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
