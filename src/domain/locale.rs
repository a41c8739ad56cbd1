//! The supported locales, and the locale of a request.

use strum::VariantArray;

/// The cookie with the [tag](Locale::tag) of the locale that the user selected.
pub const COOKIE: &str = "lockkeeper-language";

/// A supported locale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantArray)]
pub enum Locale {
    /// English, the default.
    #[default]
    English,
    /// 简体中文.
    Chinese,
}

impl Locale {
    /// The BCP 47 tag: `en`, `zh-CN`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// The name of the language in that language.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "简体中文",
        }
    }

    /// The locale of a language tag. Script and region are ignored: `zh`, `zh-Hans-CN`, `EN-us`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split('-').next().unwrap_or_default();
        Self::VARIANTS
            .iter()
            .copied()
            .find(|language| language.tag()[..2].eq_ignore_ascii_case(primary))
    }

    /// The locale of a request: the one in the cookie, or the supported one with the highest weight
    /// in `Accept-Language`.
    pub fn negotiate(cookies: &str, accepted: &str) -> Self {
        let selected = cookies
            .split(';')
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .and_then(|(_, tag)| Self::from_tag(tag));
        selected.unwrap_or_else(|| Self::from_accept_language(accepted))
    }

    fn from_accept_language(header: &str) -> Self {
        let supported = header.split(',').filter_map(|range| {
            let (tag, weight) = range.split_once(";q=").unwrap_or((range, "1"));
            let weight: f32 = weight.trim().parse().ok().filter(|weight| *weight > 0.0)?;
            Some((Self::from_tag(tag)?, weight))
        });
        // Among equal weights the first one wins.
        let best = supported.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map_or_else(Self::default, |(locale, _)| locale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supported_locale_with_the_highest_weight_is_selected() {
        for (accepted, language) in [
            ("", Locale::English),
            ("zh-CN,zh;q=0.9,en;q=0.8", Locale::Chinese),
            ("en-US,en;q=0.9,zh;q=0.8", Locale::English),
            ("fr, de;q=0.9, zh-Hans;q=0.5, en;q=0.3", Locale::Chinese),
            ("zh;q=0, en;q=0.1", Locale::English),
            ("*;q=x,,;q=", Locale::English),
        ] {
            assert_eq!(Locale::negotiate("", accepted), language, "{accepted}");
        }
    }

    #[test]
    fn the_cookie_takes_precedence_over_the_header() {
        let chosen = "theme=dark; lockkeeper-language=zh-CN";
        assert_eq!(Locale::negotiate(chosen, "en"), Locale::Chinese);
        let unknown = "lockkeeper-language=tlh";
        assert_eq!(Locale::negotiate(unknown, "zh"), Locale::Chinese);
    }
}
