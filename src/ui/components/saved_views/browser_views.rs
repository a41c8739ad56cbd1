//! The views in the local storage of the browser, per user.

use leptos::prelude::*;

use super::SavedView;
use crate::domain::SessionKind;
use crate::ui::live::Live;
use crate::ui::local_storage;

const STORAGE_KEY: &str = "lockkeeper.views";
/// The maximum number of views. The oldest is dropped.
const MAX_VIEWS: usize = 50;

/// Loads the saved views of the current user. Browser only.
pub fn load_views(live: Live) -> Vec<SavedView> {
    parse(&local_storage::get(&storage_key(live)).unwrap_or_default())
}

/// Stores the views of the current user.
pub(super) fn store_views(live: Live, views: &[SavedView]) {
    local_storage::set(&storage_key(live), &serialize(views));
}

/// Adds a view. It replaces a view of the same name or the same path.
pub(super) fn with_view(mut views: Vec<SavedView>, added: SavedView) -> Vec<SavedView> {
    views.retain(|view| view.name != added.name && view.path != added.path);
    views.push(added);
    views.drain(..views.len().saturating_sub(MAX_VIEWS));
    views
}

/// The storage key, one per signed-in user.
fn storage_key(live: Live) -> String {
    let name = live.user.with_untracked(|me| match me {
        Some(me) if matches!(me.session, SessionKind::SignedIn | SessionKind::External) => {
            Some(me.name.clone())
        }
        Some(_) | None => None,
    });
    name.map_or_else(
        || STORAGE_KEY.to_owned(),
        |name| format!("{STORAGE_KEY}.{name}"),
    )
}

/// Serializes the views, one per line: path, space, name.
fn serialize(views: &[SavedView]) -> String {
    let line = |view: &SavedView| format!("{} {}", view.path, view.name);
    views.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn parse(text: &str) -> Vec<SavedView> {
    let line = |line: &str| {
        let (path, name) = line.split_once(' ')?;
        // Only paths of this console are accepted, because stored data may have been tampered with.
        let is_local = path.starts_with('/') && !path.starts_with("//");
        is_local.then(|| SavedView {
            name: name.to_owned(),
            path: path.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, path: &str) -> SavedView {
        SavedView {
            name: name.to_owned(),
            path: path.to_owned(),
        }
    }

    #[test]
    fn saved_views_survive_a_round_trip() {
        let views = with_view(Vec::new(), view("stuck ones", "/?q=held%3E10m"));
        let views = with_view(views, view("all", "/"));
        assert_eq!(parse(&serialize(&views)), views);
        let renamed = with_view(views, view("old ones", "/?q=held%3E10m"));
        let names: Vec<&str> = renamed.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["all", "old ones"]);
    }

    #[test]
    fn tampered_paths_cannot_leave_the_console() {
        assert_eq!(
            parse("//evil.example x\nhttp://evil y\nnonsense\n\n/?q=a b c"),
            [view("b c", "/?q=a")]
        );
    }
}
