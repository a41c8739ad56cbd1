//! The commands of the palette: pages, groups, locks, actions and settings, and the search in them.

use leptos::prelude::document;

use super::recent;
use crate::domain::{LockId, SearchHit, text};
use crate::ui::components::saved_views::SavedView;
use crate::ui::format;
use crate::ui::i18n::{Locale, locale, palette, shell};
use crate::ui::locks_query::{LocksQuery, StatusFilter};
use crate::ui::paths;
use crate::ui::preferences::Preference;
use crate::ui::shortcuts::LockCommand;

/// The number of groups offered at a time.
const MAX_GROUPS: usize = 6;

/// A command of the palette.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PaletteCommand {
    pub(super) label: String,
    /// The kind of the command, such as page or action.
    pub(super) kind: &'static str,
    /// Additional text, such as the group of a lock.
    pub(super) note: Option<String>,
    /// Whether the label is a lock name, shown in monospace.
    pub(super) is_name: bool,
    /// The action.
    pub(super) action: CommandAction,
}

/// The action of a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CommandAction {
    /// Opens a page of the console.
    Navigate(String),
    /// Loads a URL that is not a page of the application.
    LoadPage(String),
    /// Opens the dialog with the keyboard shortcuts.
    ShowShortcuts,
    /// Stores a display preference in the browser.
    SetPreference(Preference, &'static str),
    /// Switches the language.
    SetLocale(Locale),
    /// Opens the dialog that acquires a lock.
    AcquireLock,
    /// Runs a command of the lock in view.
    Lock(LockCommand),
    /// Copies a text.
    Copy(String),
}

/// The searchable items that depend on the console's state.
pub(super) struct SearchContext {
    /// The views in the browser.
    pub(super) views: Vec<SavedView>,
    /// The views of the team.
    pub(super) team_views: Vec<SavedView>,
    /// The query of the current page, or the default one.
    pub(super) query: LocksQuery,
    /// The lock in view, and whether its page has commands.
    pub(super) lock_in_view: Option<(LockId, bool)>,
    /// The URL of the current page.
    pub(super) page_url: String,
    /// The group names.
    pub(super) groups: Vec<String>,
    /// The locks that match the text.
    pub(super) locks: Vec<SearchHit>,
}

/// Returns the commands that match a text, the most likely first. Without a text: recent locks,
/// saved views and the static commands.
pub(super) fn matching_commands(typed: &str, context: SearchContext) -> Vec<PaletteCommand> {
    let search_text = typed.trim();
    let mut all = Vec::new();
    if search_text.is_empty() {
        let recent = recent::recent_locks().into_iter();
        all.extend(recent.map(|(path, id)| lock(&id, path, palette::recent(), None)));
    }
    let is_match = |command: &PaletteCommand| {
        let mut parts = search_text.split_whitespace();
        parts.all(|part| text::contains(&command.label, part))
    };
    if let Some((id, has_commands)) = context.lock_in_view {
        let lock_commands = lock_commands(&id, has_commands).into_iter();
        all.extend(lock_commands.filter(is_match));
    }
    let views = context.views.into_iter();
    let views = views.map(|saved| view(saved, palette::view()));
    let team_views = context.team_views.into_iter();
    let team_views = team_views.map(|saved| view(saved, palette::team_view()));
    all.extend(views.chain(team_views).filter(is_match));
    let copy_link = CommandAction::Copy(context.page_url);
    let copy_link = page_command(shell::copy_link(), None, copy_link);
    all.extend(Some(copy_link).filter(is_match));
    let static_commands = static_commands(&context.query).into_iter();
    all.extend(static_commands.filter(is_match));
    if !search_text.is_empty() {
        let groups = context.groups.into_iter().map(group).filter(is_match);
        all.extend(groups.take(MAX_GROUPS));
        all.extend(context.locks.into_iter().map(|hit| {
            let path = paths::lock(&hit.id);
            lock(&hit.id, path, palette::lock(), Some(hit.verdict.slug()))
        }));
    }
    all
}

/// The commands of the lock in view. Without `has_commands` its page shows no live lock.
fn lock_commands(id: &LockId, has_commands: bool) -> Vec<PaletteCommand> {
    let mut all = Vec::new();
    if has_commands {
        let release = CommandAction::Lock(LockCommand::Release);
        let incident = CommandAction::Lock(LockCommand::CopyIncident);
        all.push(page_command(palette::force_release(), Some(id), release));
        all.push(page_command(palette::copy_incident(), Some(id), incident));
    }
    let key = CommandAction::Copy(id.key.text().into_owned());
    all.push(page_command(palette::copy_key(), Some(id), key));
    all
}

fn page_command(label: &str, id: Option<&LockId>, action: CommandAction) -> PaletteCommand {
    PaletteCommand {
        label: label.to_owned(),
        kind: palette::action(),
        note: id.map(|id| format::shorten(&format::escape_invisible(&id.key.text()), 40)),
        is_name: false,
        action,
    }
}

fn view(view: SavedView, kind: &'static str) -> PaletteCommand {
    PaletteCommand {
        label: format::escape_invisible(&view.name),
        kind,
        note: None,
        is_name: false,
        action: CommandAction::Navigate(view.path),
    }
}

fn group(name: String) -> PaletteCommand {
    let path = LocksQuery::default().with_group(Some(name.clone())).path();
    PaletteCommand {
        label: format::escape_invisible(&name),
        kind: palette::group(),
        note: None,
        is_name: false,
        action: CommandAction::Navigate(path),
    }
}

fn lock(id: &LockId, path: String, kind: &'static str, verdict: Option<&str>) -> PaletteCommand {
    let name = format::escape_invisible(&id.key.text());
    let note = match verdict {
        Some(verdict) => format!("{} · {verdict}", format::escape_invisible(&id.group)),
        None => format::escape_invisible(&id.group),
    };
    PaletteCommand {
        label: format::shorten(&name, 80),
        kind,
        note: Some(note),
        is_name: true,
        action: CommandAction::Navigate(path),
    }
}

/// The commands that are always available.
fn static_commands(query: &LocksQuery) -> Vec<PaletteCommand> {
    let command = |label: &str, kind, action| PaletteCommand {
        label: label.to_owned(),
        kind,
        note: None,
        is_name: false,
        action,
    };
    let navigate = |label, path: &str| {
        command(
            label,
            palette::page(),
            CommandAction::Navigate(path.to_owned()),
        )
    };
    let load =
        |label, kind, path: &str| command(label, kind, CommandAction::LoadPage(path.to_owned()));
    let export = |label, kind| {
        let path = query.export_path(kind);
        command(label, palette::action(), CommandAction::LoadPage(path))
    };
    let set = |label, action| command(label, palette::setting(), action);
    let theme = |label, value| {
        set(
            label,
            CommandAction::SetPreference(Preference::Theme, value),
        )
    };
    let density = |label, value| {
        set(
            label,
            CommandAction::SetPreference(Preference::Density, value),
        )
    };
    let other_locale = match locale() {
        Locale::English => set(
            palette::in_chinese(),
            CommandAction::SetLocale(Locale::Chinese),
        ),
        Locale::Chinese => set(
            palette::in_english(),
            CommandAction::SetLocale(Locale::English),
        ),
    };
    let attention = LocksQuery::default()
        .with_status(StatusFilter::Attention)
        .path();
    vec![
        navigate(shell::locks(), paths::LOCKS),
        command(
            palette::attention(),
            palette::view(),
            CommandAction::Navigate(attention),
        ),
        navigate(shell::owners(), paths::OWNERS),
        navigate(shell::nodes(), paths::NODES),
        navigate(shell::waits(), paths::WAITS),
        navigate(shell::activity(), paths::ACTIVITY),
        navigate(shell::mine(), paths::MINE),
        navigate(shell::audit(), paths::AUDIT),
        navigate(shell::webhooks(), paths::WEBHOOKS),
        load(shell::help(), palette::page(), paths::HELP),
        command(
            palette::acquire(),
            palette::action(),
            CommandAction::AcquireLock,
        ),
        export(palette::export_csv(), "csv"),
        export(palette::export_json(), "json"),
        load(
            palette::export_audit(),
            palette::action(),
            paths::AUDIT_EXPORT,
        ),
        command(
            palette::show_shortcuts(),
            palette::action(),
            CommandAction::ShowShortcuts,
        ),
        theme(palette::light(), "light"),
        theme(palette::dark(), "dark"),
        theme(palette::system(), ""),
        density(palette::dense(), "dense"),
        density(palette::comfortable(), ""),
        other_locale,
        load(palette::api(), palette::page(), paths::API_DOCS),
    ]
}

/// Switches the language by a click on the button of the language form, which stores the choice on
/// the server.
pub(super) fn switch_locale(locale: Locale) {
    let button = format!(
        "form[action='{}'] button[lang='{}']",
        paths::LANGUAGE,
        locale.tag()
    );
    if let Ok(Some(button)) = document().query_selector(&button) {
        wasm_bindgen::JsCast::unchecked_ref::<web_sys::HtmlElement>(&button).click();
    }
}
