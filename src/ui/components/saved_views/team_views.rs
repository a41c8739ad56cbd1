//! The views that all users share, as loaded from the console.

use leptos::prelude::*;

use super::SavedView;
use crate::domain::{OperationError, Permission, Scope, TeamView};
use crate::ui::calls;
use crate::ui::live::Live;

/// The views of the team, and the calls that read and change them. A cheap handle.
#[derive(Clone, Copy)]
pub struct TeamViews {
    /// The views; `None` before they are loaded.
    pub list: RwSignal<Option<Vec<TeamView>>>,
    load: ServerAction<calls::GetTeamViews>,
    save: ServerAction<calls::SaveTeamView>,
    delete: ServerAction<calls::DeleteTeamView>,
}

impl TeamViews {
    /// Creates the handle. Nothing is loaded before [`TeamViews::reload`].
    pub fn not_loaded() -> Self {
        let views = Self {
            list: RwSignal::new(None),
            load: ServerAction::new(),
            save: ServerAction::new(),
            delete: ServerAction::new(),
        };
        Effect::new(move || {
            if let Some(Ok(loaded)) = views.load.value().get() {
                views.list.set(Some(loaded));
            }
        });
        for change in [views.save.value(), views.delete.value()] {
            Effect::new(move || {
                if matches!(change.get(), Some(Ok(()))) {
                    views.reload();
                }
            });
        }
        views
    }

    /// Loads the views from the console.
    pub fn reload(self) {
        self.load.dispatch(calls::GetTeamViews {});
    }

    /// Saves a view, or replaces the one of the same name.
    pub fn save(self, SavedView { name, path }: SavedView) {
        self.save.dispatch(calls::SaveTeamView { name, path });
    }

    /// Deletes a view.
    pub fn delete(self, name: String) {
        self.delete.dispatch(calls::DeleteTeamView { name });
    }

    /// Whether the user lacks the permission to change the views. Tracks the user.
    pub fn is_change_denied(live: Live) -> bool {
        let denied = live.denial_reason(Permission::ManageViews, Scope::console());
        denied.is_some()
    }

    /// Whether a view is being saved.
    pub fn is_saving(self) -> bool {
        self.save.pending().get()
    }

    /// Whether the latest view was saved.
    pub fn is_saved(self) -> bool {
        matches!(self.save.value().get(), Some(Ok(())))
    }

    /// Why the views were not loaded.
    pub fn load_error(self) -> Option<OperationError> {
        self.load.value().with(error_of)
    }

    /// Why the latest change failed.
    pub fn change_errors(self) -> [Option<OperationError>; 2] {
        let save_error = self.save.value().with(error_of);
        let delete_error = self.delete.value().with(error_of);
        [
            save_error.filter(|_| !self.save.pending().get()),
            delete_error.filter(|_| !self.delete.pending().get()),
        ]
    }

    /// The loaded views in the form of those in the browser.
    pub fn saved(self) -> Vec<SavedView> {
        let saved = |view: &TeamView| SavedView {
            name: view.name.clone(),
            path: view.path.clone(),
        };
        self.list
            .with(|list| list.iter().flatten().map(saved).collect())
    }
}

fn error_of<T>(response: &Option<Result<T, OperationError>>) -> Option<OperationError> {
    response.as_ref()?.as_ref().err().cloned()
}
