//! The permissions of the user, checked by the same rule as on the server.

use leptos::prelude::*;

use super::Live;
use crate::domain::{Permission, Scope};
use crate::ui::i18n::permissions;

impl Live {
    /// Why the user lacks a permission in a scope; `None` if it is granted. Tracks the user.
    pub fn denial_reason(self, permission: Permission, scope: Scope<'_>) -> Option<String> {
        self.user.with(|me| {
            let denied = me.as_ref()?.grant.authorize(permission, scope).err()?;
            Some(permissions::permission_denied(&denied))
        })
    }
}
