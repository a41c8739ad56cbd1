//! What the palette offers: pages, groups, locks, actions, settings; and which of them a text means.

use leptos::prelude::document;

use super::recent;
use crate::domain::{Found, LockId, text};
use crate::ui::components::saved_views::View;
use crate::ui::format;
use crate::ui::paths;
use crate::ui::preferences::Preference;
use crate::ui::query::{Only, Query};
use crate::ui::words::{Language, frame, language, palette};

/// So many groups are offered at once.
const MOST_GROUPS: usize = 6;

/// Something to go to or to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Command {
    /// What it is called.
    pub(super) words: String,
    /// What kind of thing it is.
    pub(super) kind: &'static str,
    /// What else is to be known.
    pub(super) note: Option<String>,
    /// Whether the words are a name from a node.
    pub(super) is_name: bool,
    /// What it does.
    pub(super) does: Does,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Does {
    /// Goes to a page.
    Go(String),
    /// Loads something that is no page of this program.
    Leave(String),
    /// Shows the keys.
    Keys,
    /// Changes how this browser shows the console.
    Prefer(Preference, &'static str),
    /// Speaks another language.
    Speak(Language),
    /// Opens the dialog that acquires a lock.
    Acquire,
}

/// What there is to be found beside what is always there.
pub(super) struct There {
    /// Views that somebody gave a name.
    pub(super) views: Vec<View>,
    /// The list that is shown, or the usual one.
    pub(super) list: Query,
    /// The names of the groups.
    pub(super) groups: Vec<String>,
    /// Locks that the text finds.
    pub(super) locks: Vec<Found>,
}

/// The commands that a text means, the likeliest first; without a text where somebody was lately, their views and all that is
/// always there.
pub(super) fn matching(typed: &str, there: There) -> Vec<Command> {
    let wanted = typed.trim();
    let mut all = Vec::new();
    if wanted.is_empty() {
        let lately = recent::all().into_iter();
        all.extend(lately.map(|(path, id)| lock(&id, path, palette::recent(), None)));
    }
    let is_meant = |command: &Command| {
        let mut parts = wanted.split_whitespace();
        parts.all(|part| text::contains(&command.words, part))
    };
    all.extend(there.views.into_iter().map(view).filter(is_meant));
    let always = always(&there.list).into_iter();
    all.extend(always.filter(is_meant));
    if !wanted.is_empty() {
        let named = there.groups.into_iter().map(group).filter(is_meant);
        all.extend(named.take(MOST_GROUPS));
        all.extend(there.locks.into_iter().map(|found| {
            let path = paths::lock(&found.id);
            lock(&found.id, path, palette::lock(), Some(found.verdict.slug()))
        }));
    }
    all
}

fn view(view: View) -> Command {
    Command {
        words: format::visible(&view.name),
        kind: palette::view(),
        note: None,
        is_name: false,
        does: Does::Go(view.path),
    }
}

fn group(name: String) -> Command {
    let path = Query::default().with_group(Some(name.clone())).path();
    Command {
        words: format::visible(&name),
        kind: palette::group(),
        note: None,
        is_name: false,
        does: Does::Go(path),
    }
}

fn lock(id: &LockId, path: String, kind: &'static str, verdict: Option<&str>) -> Command {
    let name = format::visible(&id.key.text());
    let note = match verdict {
        Some(verdict) => format!("{} · {verdict}", format::visible(&id.group)),
        None => format::visible(&id.group),
    };
    Command {
        words: format::shorten(&name, 80),
        kind,
        note: Some(note),
        is_name: true,
        does: Does::Go(path),
    }
}

/// What is there whatever the nodes hold.
fn always(list: &Query) -> Vec<Command> {
    let command = |words: &str, kind, does| Command {
        words: words.to_owned(),
        kind,
        note: None,
        is_name: false,
        does,
    };
    let go = |words, path: &str| command(words, palette::page(), Does::Go(path.to_owned()));
    let leave = |words, kind, path: &str| command(words, kind, Does::Leave(path.to_owned()));
    let export = |words, kind| {
        let path = list.export(kind);
        command(words, palette::action(), Does::Leave(path))
    };
    let set = |words, does| command(words, palette::setting(), does);
    let theme = |words, value| set(words, Does::Prefer(Preference::Theme, value));
    let density = |words, value| set(words, Does::Prefer(Preference::Density, value));
    let other = match language() {
        Language::English => set(palette::in_chinese(), Does::Speak(Language::Chinese)),
        Language::Chinese => set(palette::in_english(), Does::Speak(Language::English)),
    };
    let attention = Query::default().with_only(Only::Attention).path();
    vec![
        go(frame::locks(), paths::LOCKS),
        command(palette::attention(), palette::view(), Does::Go(attention)),
        go(frame::owners(), paths::OWNERS),
        go(frame::nodes(), paths::NODES),
        go(frame::waits(), paths::WAITS),
        go(frame::mine(), paths::MINE),
        go(frame::audit(), paths::AUDIT),
        leave(frame::help(), palette::page(), paths::HELP),
        command(palette::acquire(), palette::action(), Does::Acquire),
        export(palette::export_csv(), "csv"),
        export(palette::export_json(), "json"),
        leave(
            palette::export_audit(),
            palette::action(),
            paths::AUDIT_EXPORT,
        ),
        command(palette::show_keys(), palette::action(), Does::Keys),
        theme(palette::light(), "light"),
        theme(palette::dark(), "dark"),
        theme(palette::system(), ""),
        density(palette::dense(), "dense"),
        density(palette::comfortable(), ""),
        other,
        leave(palette::api(), palette::page(), paths::API_DOCS),
    ]
}

/// Speaks another language: presses the button that somebody would press.
pub(super) fn speak(language: Language) {
    let button = format!(
        "form[action='{}'] button[lang='{}']",
        paths::LANGUAGE,
        language.tag()
    );
    if let Ok(Some(button)) = document().query_selector(&button) {
        wasm_bindgen::JsCast::unchecked_ref::<web_sys::HtmlElement>(&button).click();
    }
}
