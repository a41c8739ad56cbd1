//! The looks of the bars of a lane. Series differ by colour and by shape.

use leptos::prelude::*;

/// The CSS classes of the colours.
const COLOURS: [&str; 8] = [
    "text-series-1",
    "text-series-2",
    "text-series-3",
    "text-series-4",
    "text-series-5",
    "text-series-6",
    "text-series-7",
    "text-series-8",
];

/// The shape of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarShape {
    /// The full height of the row.
    Full,
    /// The upper half.
    Upper,
    /// The lower half.
    Lower,
    /// Two thin bars.
    Double,
}

/// The look of the bars of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarStyle {
    /// A colour of the palette and a shape.
    Series(u8, BarShape),
    /// Bars of several series that are too close to draw them apart.
    Mixed,
}

impl BarStyle {
    /// The style of a name. A name has the same style in every chart.
    pub fn of_name(name: &str) -> Self {
        // FNV-1a, and a final mix: without it, names that differ in the last letter would have the
        // same upper bits.
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
        let hash = hash ^ (hash >> 13);
        let shape = match (hash >> 8) & 3 {
            0 => BarShape::Upper,
            1 => BarShape::Lower,
            2 => BarShape::Double,
            _ => BarShape::Full,
        };
        let colour = hash % 8;
        Self::Series(u8::try_from(colour).unwrap_or(0), shape)
    }

    /// The CSS class of the colour.
    pub fn class(self) -> &'static str {
        match self {
            Self::Series(colour, _) => COLOURS.get(usize::from(colour)).unwrap_or(&COLOURS[0]),
            Self::Mixed => "text-muted",
        }
    }

    /// The vertical parts of a row of this height: offset and height.
    pub(super) fn parts(self, height: i64) -> Vec<(i64, i64)> {
        let half = (height * 3 / 5).max(2);
        let third = (height / 3).max(1);
        match self {
            Self::Series(_, BarShape::Full) => vec![(0, height)],
            Self::Series(_, BarShape::Upper) => vec![(0, half)],
            Self::Series(_, BarShape::Lower) => vec![(height - half, half)],
            Self::Series(_, BarShape::Double) => vec![(0, third), (height - third, third)],
            Self::Mixed => vec![(height / 4, (height / 2).max(1))],
        }
    }
}

/// A sample of a style, for legends.
#[component]
pub fn LaneSwatch(
    /// The style.
    style: BarStyle,
) -> impl IntoView {
    let rect = |(offset, height): (i64, i64)| {
        view! {
            <rect x="0" y=offset.to_string() width="16" height=height.to_string() fill="currentColor"></rect>
        }
    };
    let class = format!("inline-block shrink-0 {}", style.class());
    view! {
        <svg class=class width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
            {style.parts(12).into_iter().map(rect).collect_view()}
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_has_one_style_and_names_have_different_ones() {
        let styles: BTreeSet<BarStyle> = (0..40)
            .map(|n| BarStyle::of_name(&format!("web-{n}")))
            .collect();
        assert_eq!(BarStyle::of_name("web-1"), BarStyle::of_name("web-1"));
        assert!(styles.len() >= 16, "{}", styles.len());
    }
}
