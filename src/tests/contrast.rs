//! Colour contrast in both themes: text in a verdict colour has at least 7:1 (WCAG AAA), other text
//! 4.5:1, and meaningful lines 3:1.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../style/main.css");

/// The surfaces that carry text.
const SURFACES: [&str; 3] = ["canvas", "surface", "sunken"];
const VERDICTS: [&str; 4] = ["held", "warn", "alarm", "unsure"];

type Colour = [f64; 3];

/// The colour tokens of one theme.
fn tokens(is_dark: bool) -> BTreeMap<&'static str, Colour> {
    let tokens = STYLE.lines().filter_map(|line| {
        let (name, value) = line
            .trim()
            .strip_prefix("--")?
            .split_once(": light-dark(#")?;
        let (light, dark) = value.strip_suffix(");")?.split_once(", #")?;
        Some((name, colour(if is_dark { dark } else { light })))
    });
    tokens.collect()
}

fn colour(hex: &str) -> Colour {
    let part = |from: usize| {
        let part = u8::from_str_radix(&hex[from..from + 2], 16).unwrap();
        f64::from(part) / 255.0
    };
    [part(0), part(2), part(4)]
}

/// The contrast ratio as defined by WCAG 2.2.
fn contrast(a: Colour, b: Colour) -> f64 {
    let luminance = |colour: Colour| {
        let linear = colour.map(|part| match part {
            0.0..=0.04045 => part / 12.92,
            _ => ((part + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn the_contrast_ratio_follows_wcag() {
    assert!((contrast(colour("000000"), colour("ffffff")) - 21.0).abs() < 0.001);
    assert!((contrast(colour("767676"), colour("ffffff")) - 4.54).abs() < 0.01);
}

#[test]
fn every_text_colour_has_enough_contrast_on_its_surfaces() {
    let mut violations = Vec::new();
    for is_dark in [false, true] {
        let tokens = tokens(is_dark);
        let mut require = |text: &str, surface: &str, min_ratio: f64| {
            let ratio = contrast(tokens[text], tokens[surface]);
            if ratio < min_ratio {
                violations.push(format!("{text} on {surface}: {ratio:.2}, dark: {is_dark}"));
            }
        };
        for surface in SURFACES {
            for verdict in VERDICTS {
                require(verdict, surface, 7.0);
            }
            require("ink", surface, 7.0);
            for text in ["muted", "faint", "accent"] {
                require(text, surface, 4.5);
            }
            require("line-strong", surface, 3.0);
            for series in 1..=8 {
                require(&format!("series-{series}"), surface, 4.5);
            }
        }
        for verdict in VERDICTS {
            let soft = format!("{verdict}-soft");
            require(verdict, &soft, 7.0);
            require("ink", &soft, 7.0);
            require("muted", &soft, 4.5);
        }
        require("ink", "accent-soft", 7.0);
        require("muted", "accent-soft", 4.5);
        require("on-accent", "accent", 4.5);
        require("on-accent", "accent-strong", 4.5);
        require("on-alarm", "alarm", 7.0);
        require("on-alarm", "alarm-strong", 7.0);
    }
    assert_eq!(violations, Vec::<String>::new());
}
