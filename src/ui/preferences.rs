//! Display preferences. They are stored in the browser only; `public/theme.js` applies them before
//! the first paint.

use leptos::prelude::*;
use web_sys::{Notification, NotificationPermission};

use super::local_storage;

/// A preference. Its values are words; the empty value is the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// `light` or `dark`, otherwise the system theme.
    Theme,
    /// `dense`, otherwise comfortable.
    Density,
    /// `on` if the browser shows notifications about locks that need attention.
    Notify,
    /// `absolute` for times of day, otherwise relative times.
    Times,
    /// `local` for times of day in the time zone of the browser, otherwise UTC.
    TimeZone,
}

impl Preference {
    /// The key in the local storage.
    fn storage_key(self) -> &'static str {
        match self {
            Self::Theme => "lockkeeper.theme",
            Self::Density => "lockkeeper.density",
            Self::Notify => "lockkeeper.notify",
            Self::Times => "lockkeeper.times",
            Self::TimeZone => "lockkeeper.time-zone",
        }
    }

    /// The attribute of the root element that the style sheet uses.
    fn attribute(self) -> &'static str {
        match self {
            Self::Theme => "data-theme",
            Self::Density => "data-density",
            Self::Notify => "data-notify",
            Self::Times => "data-times",
            Self::TimeZone => "data-time-zone",
        }
    }

    /// The stored value; empty for the default. Browser only.
    pub fn get(self) -> String {
        local_storage::get(self.storage_key()).unwrap_or_default()
    }

    /// Applies and stores a value; the empty value restores the default. Browser only. Without
    /// storage it applies until the page is closed.
    pub fn set(self, value: &str) {
        local_storage::set(self.storage_key(), value);
        let root = document().document_element();
        match value {
            "" => root.map(|root| root.remove_attribute(self.attribute())),
            value => root.map(|root| root.set_attribute(self.attribute(), value)),
        };
    }
}

/// Whether notifications are enabled here and permitted by the browser. Browser only.
pub fn notifications_enabled() -> bool {
    Preference::Notify.get() == "on"
        && Notification::permission() == NotificationPermission::Granted
}
