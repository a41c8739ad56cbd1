//! The values of the overview's charts as a table, in a dialog.

use leptos::prelude::*;

use super::Figure;
use crate::domain::trend::TrendPoint;
use crate::ui::format;
use crate::ui::i18n::{palette, trends as t};
use crate::ui::kit::{Button, Dialog, DialogHandle, Table};
use crate::ui::lazy::{lazy, lazy_view};

/// The dialog.
#[component]
pub fn TrendTableDialog(
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// The points, the oldest first.
    points: Signal<Vec<TrendPoint>>,
) -> impl IntoView {
    let children = Callback::new(move |dialog: DialogHandle| {
        lazy_view(move || content(dialog, points)).into_any()
    });
    view! { <Dialog open labelled_by="trends-title" children /> }
}

lazy! { dialogs: fn content(dialog: DialogHandle, points: Signal<Vec<TrendPoint>>) -> view! { <TrendTable dialog points /> } }

/// The points, the latest first.
#[component]
fn TrendTable(dialog: DialogHandle, points: Signal<Vec<TrendPoint>>) -> impl IntoView {
    const FIGURES: [Figure; 3] = [Figure::Held, Figure::Attempts, Figure::RoundTrip];
    let titles = [t::time()].into_iter().chain(FIGURES.map(Figure::label));
    let rows = move || {
        let row = |point: &TrendPoint| {
            let cell = |figure: Figure| {
                view! { <td class="py-0.5 pe-4">{figure.text(figure.value(point))}</td> }
            };
            view! { <tr><td class="py-0.5 pe-4">{format::time_of_day(point.at)}</td>{FIGURES.map(cell).collect_view()}</tr> }
        };
        points.with(|points| points.iter().rev().map(row).collect_view())
    };
    view! {
        <div class="flex flex-col gap-3 p-5">
            <h2 id="trends-title" class="text-lg font-semibold">{t::last_minutes()}</h2>
            <Table titles=titles.collect() title_class="pe-4 text-start font-medium text-muted" class="tabular-nums">
                {rows}
            </Table>
            <div class="flex justify-end">
                <Button autofocus=true on_press=move |()| dialog.close()>{palette::close()}</Button>
            </div>
        </div>
    }
}
