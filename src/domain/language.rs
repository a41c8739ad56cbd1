//! The languages that the console speaks, and which of them a request asks for.

use strum::VariantArray;

/// The cookie that holds the language somebody chose, as its [tag](Language::tag).
pub const COOKIE: &str = "lockkeeper-language";

/// A language that the console speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantArray)]
pub enum Language {
    /// English, for whoever asked for none that is spoken here.
    #[default]
    English,
    /// 简体中文.
    Chinese,
}

impl Language {
    /// Its tag (BCP 47): `en`, `zh-CN`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// What it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "简体中文",
        }
    }

    /// The language of a tag, whatever its region: `zh`, `zh-Hans-CN`, `EN-us`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split('-').next().unwrap_or_default();
        Self::VARIANTS
            .iter()
            .copied()
            .find(|language| language.tag()[..2].eq_ignore_ascii_case(primary))
    }

    /// The language to answer in: the one chosen before, or the most wanted one of `Accept-Language` that is spoken here.
    pub fn asked_for(cookies: &str, accepted: &str) -> Self {
        let chosen = cookies
            .split(';')
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .and_then(|(_, tag)| Self::from_tag(tag));
        chosen.unwrap_or_else(|| Self::accepted(accepted))
    }

    fn accepted(accepted: &str) -> Self {
        let wanted = accepted.split(',').filter_map(|range| {
            let (tag, weight) = range.split_once(";q=").unwrap_or((range, "1"));
            let weight: f32 = weight.trim().parse().ok().filter(|weight| *weight > 0.0)?;
            Some((Self::from_tag(tag)?, weight))
        });
        // The first of those wanted equally.
        let most = wanted.reduce(|best, next| if next.1 > best.1 { next } else { best });
        most.map_or_else(Self::default, |(language, _)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_language_that_is_spoken_is_taken() {
        for (accepted, language) in [
            ("", Language::English),
            ("zh-CN,zh;q=0.9,en;q=0.8", Language::Chinese),
            ("en-US,en;q=0.9,zh;q=0.8", Language::English),
            ("fr, de;q=0.9, zh-Hans;q=0.5, en;q=0.3", Language::Chinese),
            ("zh;q=0, en;q=0.1", Language::English),
            ("*;q=x,,;q=", Language::English),
        ] {
            assert_eq!(Language::asked_for("", accepted), language, "{accepted}");
        }
    }

    #[test]
    fn what_was_chosen_goes_before_what_the_browser_wants() {
        let chosen = "theme=dark; lockkeeper-language=zh-CN";
        assert_eq!(Language::asked_for(chosen, "en"), Language::Chinese);
        let unknown = "lockkeeper-language=tlh";
        assert_eq!(Language::asked_for(unknown, "zh"), Language::Chinese);
    }
}
