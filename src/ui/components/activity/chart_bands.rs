//! Bands over all lanes: nodes that were not up, and stretches that were not recorded.

use leptos::prelude::*;

use super::chart_state::ChartState;
use super::data::LoadedActivity;
use crate::domain::{Activity, Timestamp};
use crate::ui::format;
use crate::ui::i18n::{activity as t, terms};
use crate::ui::kit::chart::{Scale, percent};

/// The maximum number of bands of each kind.
const MAX_BANDS: usize = 100;
/// The width of a letter of a label, in thousandths of a chart of 700 pixels, and of one on a narrow
/// screen: 340 pixels. Labels that would overlap are left out.
const LETTER_WIDTH: i64 = 9;
const NARROW_LETTER_WIDTH: i64 = 18;

/// What a band shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandKind {
    /// A node was not up.
    Outage,
    /// Nothing was recorded.
    Gap,
}

/// A band over all lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartBand {
    /// What it shows.
    pub kind: BandKind,
    /// The start in milliseconds since the Unix epoch.
    pub from: i64,
    /// The end.
    pub until: i64,
    /// The label.
    pub label: String,
}

/// The bands of a history.
pub fn bands(loaded: &LoadedActivity) -> Vec<ChartBand> {
    let Activity {
        from,
        holds,
        outages,
        gaps,
        is_truncated,
        recorded_since,
        ..
    } = &*loaded.activity;
    let end = |to: Option<Timestamp>| to.unwrap_or(loaded.known_until).millis();
    let outages = outages.iter().take(MAX_BANDS).map(|outage| ChartBand {
        kind: BandKind::Outage,
        from: outage.from.millis(),
        until: end(outage.to),
        label: t::node_outage(
            &format::escape_invisible(&outage.node),
            terms::node_state(outage.state),
        ),
    });
    let gaps = gaps.iter().take(MAX_BANDS).map(|gap| ChartBand {
        kind: BandKind::Gap,
        from: gap.from.millis(),
        until: end(gap.to),
        label: t::not_recorded(t::gap_cause(gap.cause)),
    });
    // The holds are complete from the earliest start that was sent.
    let earliest = holds.iter().map(|recorded| recorded.hold.started_at).min();
    let missing = earliest.filter(|at| *is_truncated && at > from);
    let missing = missing.map(|until| ChartBand {
        kind: BandKind::Gap,
        from: from.millis(),
        until: until.millis(),
        label: t::not_loaded().to_owned(),
    });
    let before = recorded_since.filter(|at| at > from);
    let before = before.map(|until| ChartBand {
        kind: BandKind::Gap,
        from: from.millis(),
        until: until.millis().min(loaded.known_until.millis()),
        label: t::before_recording().to_owned(),
    });
    let unknown = before.into_iter().chain(missing).chain(gaps);
    unknown.chain(outages).collect()
}

/// The bands, from the top of the labels to the last lane.
#[component]
pub fn ChartBands(
    /// The state of the chart.
    chart: ChartState,
    /// The bands.
    bands: Memo<Vec<ChartBand>>,
) -> impl IntoView {
    let drawn = move || {
        let scale = chart.scale();
        let band = |band: &ChartBand| {
            let (left, width) = extent(scale, band)?;
            let (class, fill) = match band.kind {
                BandKind::Outage => ("text-alarm", "url(#band-outage)"),
                BandKind::Gap => ("text-muted", "url(#band-gap)"),
            };
            Some(view! {
                <rect class=class x=percent(left) y="0" width=percent(width) height="100%" fill=fill></rect>
            })
        };
        bands.with(|bands| bands.iter().map(band).collect_view())
    };
    view! {
        <svg class="lane-bands absolute inset-0 size-full" width="100%" height="100%" aria-hidden="true">
            <defs>
                <pattern id="band-outage" class="text-alarm" width="4" height="4" patternUnits="userSpaceOnUse">
                    <rect width="4" height="4" fill="currentColor" fill-opacity="0.16"></rect>
                    <rect width="1" height="4" fill="currentColor" fill-opacity="0.45"></rect>
                </pattern>
                <pattern id="band-gap" class="text-muted" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                    <rect width="3" height="8" fill="currentColor" fill-opacity="0.45"></rect>
                </pattern>
            </defs>
            {drawn}
        </svg>
    }
}

/// The labels of the bands, in one line above the lanes.
#[component]
pub fn BandLabels(
    /// The state of the chart.
    chart: ChartState,
    /// The bands.
    bands: Memo<Vec<ChartBand>>,
) -> impl IntoView {
    let labels = move || {
        let scale = chart.scale();
        bands.with(|bands| {
            let mut visible: Vec<_> = bands
                .iter()
                .filter_map(|band| Some((extent(scale, band)?.0, band)))
                .collect();
            visible.sort_by_key(|(left, _)| *left);
            let starts: Vec<_> = visible
                .iter()
                .map(|(left, band)| (*left, band.label.as_str()))
                .collect();
            let has_space = labels_with_space(&starts, LETTER_WIDTH);
            let has_narrow_space = labels_with_space(&starts, NARROW_LETTER_WIDTH);
            visible
                .into_iter()
                .zip(has_space.into_iter().zip(has_narrow_space))
                .filter(|(_, (has_space, _))| *has_space)
                .map(|((left, band), (_, is_always_shown))| label(left, band, is_always_shown))
                .collect_view()
        })
    };
    view! {
        <svg class="block w-full text-xs" width="100%" height="16" fill="currentColor" aria-hidden="true">
            {labels}
        </svg>
    }
}

/// A label, which narrow screens leave out if it has no space there.
fn label(left: i64, band: &ChartBand, is_always_shown: bool) -> impl IntoView + use<> {
    let class = match (band.kind, is_always_shown) {
        (BandKind::Outage, true) => "text-alarm",
        (BandKind::Outage, false) => "text-alarm max-xl:hidden",
        (BandKind::Gap, true) => "text-muted",
        (BandKind::Gap, false) => "text-muted max-xl:hidden",
    };
    let (x, anchor) = match is_at_right_edge(left) {
        false => (left, "start"),
        true => (1_000, "end"),
    };
    view! {
        <text class=class x=percent(x) y="12" text-anchor=anchor>
            {band.label.clone()}
        </text>
    }
}

/// Whether there is no space for a label after the start of its band.
fn is_at_right_edge(left: i64) -> bool {
    left >= 800
}

/// Whether each label has space after the labels before it. They are sorted by their position.
fn labels_with_space(labels: &[(i64, &str)], letter_width: i64) -> Vec<bool> {
    let mut free_from = 0;
    let has_space = |(left, label): &(i64, &str)| {
        let (start, end) = label_extent(*left, label, letter_width);
        let has_space = start >= free_from;
        if has_space {
            free_from = end;
        }
        has_space
    };
    labels.iter().map(has_space).collect()
}

/// The start and end of a label in thousandths. A Chinese character is as wide as two letters.
fn label_extent(left: i64, label: &str, letter_width: i64) -> (i64, i64) {
    let letters: i64 = label
        .chars()
        .map(|c| if c.is_ascii() { 1 } else { 2 })
        .sum();
    let width = letters * letter_width;
    match is_at_right_edge(left) {
        false => (left, left + width),
        true => (1_000 - width, 1_000),
    }
}

/// The position and width of the visible part of a band in thousandths.
fn extent(scale: Scale, band: &ChartBand) -> Option<(i64, i64)> {
    let is_visible = band.until >= scale.from && band.from <= scale.until;
    let (left, right) = (scale.position(band.from), scale.position(band.until));
    is_visible.then(|| (left.min(998), (right - left).max(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_starts_with_its_band_or_ends_at_the_right_edge() {
        assert_eq!(label_extent(100, "c down", LETTER_WIDTH), (100, 154));
        assert_eq!(label_extent(900, "未记录", LETTER_WIDTH), (946, 1_000));
    }

    #[test]
    fn labels_without_space_are_left_out_sooner_on_a_narrow_screen() {
        let labels = [(100, "c down"), (170, "d loading"), (900, "not recorded")];
        assert_eq!(labels_with_space(&labels, LETTER_WIDTH), [true; 3]);
        assert_eq!(
            labels_with_space(&labels, NARROW_LETTER_WIDTH),
            [true, false, true]
        );
    }
}
