//! The colours of the pages can be read: words in the colour of a verdict at 7 : 1 (WCAG AAA), all others at 4.5 : 1, lines that
//! mean something at 3 : 1, in both themes.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../style/main.css");

/// The surfaces that words stand on.
const SURFACES: [&str; 3] = ["canvas", "surface", "sunken"];
const VERDICTS: [&str; 4] = ["held", "warn", "alarm", "unsure"];

type Colour = [f64; 3];

/// The tokens of one theme.
fn tokens(is_dark: bool) -> BTreeMap<&'static str, Colour> {
    let told = STYLE.lines().filter_map(|line| {
        let (name, value) = line
            .trim()
            .strip_prefix("--")?
            .split_once(": light-dark(#")?;
        let (light, dark) = value.strip_suffix(");")?.split_once(", #")?;
        Some((name, colour(if is_dark { dark } else { light })))
    });
    told.collect()
}

fn colour(hex: &str) -> Colour {
    let part = |from: usize| {
        let part = u8::from_str_radix(&hex[from..from + 2], 16).unwrap();
        f64::from(part) / 255.0
    };
    [part(0), part(2), part(4)]
}

/// As WCAG 2.2 defines it.
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
fn contrast_is_measured_as_the_guidelines_define_it() {
    assert!((contrast(colour("000000"), colour("ffffff")) - 21.0).abs() < 0.001);
    assert!((contrast(colour("767676"), colour("ffffff")) - 4.54).abs() < 0.01);
}

#[test]
fn every_colour_can_be_read_on_every_surface_it_stands_on() {
    let mut poor = Vec::new();
    for is_dark in [false, true] {
        let tokens = tokens(is_dark);
        let mut needs = |words: &str, surface: &str, least: f64| {
            let found = contrast(tokens[words], tokens[surface]);
            if found < least {
                poor.push(format!("{words} on {surface}: {found:.2}, dark: {is_dark}"));
            }
        };
        for surface in SURFACES {
            for verdict in VERDICTS {
                needs(verdict, surface, 7.0);
            }
            needs("ink", surface, 7.0);
            for words in ["muted", "faint", "accent"] {
                needs(words, surface, 4.5);
            }
            needs("line-strong", surface, 3.0);
        }
        for verdict in VERDICTS {
            let soft = format!("{verdict}-soft");
            needs(verdict, &soft, 7.0);
            needs("ink", &soft, 7.0);
            needs("muted", &soft, 4.5);
        }
        needs("ink", "accent-soft", 7.0);
        needs("muted", "accent-soft", 4.5);
        needs("on-accent", "accent", 4.5);
        needs("on-accent", "accent-strong", 4.5);
        needs("on-alarm", "alarm", 7.0);
        needs("on-alarm", "alarm-strong", 7.0);
    }
    assert_eq!(poor, Vec::<String>::new());
}
