//! What somebody chose for how this browser shows the console. It stays in the browser; `public/theme.js` applies it before the
//! first paint.

use leptos::prelude::*;
use web_sys::{Notification, NotificationPermission};

use super::traces;

/// Something that can be chosen, each value a word; the empty one is what nobody chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// `light` or `dark`, else what the system prefers.
    Theme,
    /// `dense`, else comfortable.
    Density,
    /// `on` where the browser tells of new attention, else not.
    Notify,
    /// `absolute` where moments are told as times of day, else by how long ago they were.
    Times,
}

impl Preference {
    /// What it is stored as.
    fn stored(self) -> &'static str {
        match self {
            Self::Theme => "lockkeeper.theme",
            Self::Density => "lockkeeper.density",
            Self::Notify => "lockkeeper.notify",
            Self::Times => "lockkeeper.times",
        }
    }

    /// The attribute of the page that says it to the style.
    fn attribute(self) -> &'static str {
        match self {
            Self::Theme => "data-theme",
            Self::Density => "data-density",
            Self::Notify => "data-notify",
            Self::Times => "data-times",
        }
    }

    /// What was chosen. In the browser only.
    pub fn chosen(self) -> String {
        traces::kept(self.stored()).unwrap_or_default()
    }

    /// Chooses; the empty word takes the choice back. In the browser only. Storage that is switched off remembers nothing.
    pub fn choose(self, value: &str) {
        traces::keep(self.stored(), value);
        let root = document().document_element();
        match value {
            "" => root.map(|root| root.remove_attribute(self.attribute())),
            value => root.map(|root| root.set_attribute(self.attribute(), value)),
        };
    }
}

/// Whether the browser is to tell of new attention, and may. In the browser only.
pub fn notifies() -> bool {
    Preference::Notify.chosen() == "on"
        && Notification::permission() == NotificationPermission::Granted
}
