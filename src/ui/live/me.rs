//! What whoever sees the page may do: the same rule as on the server.

use leptos::prelude::*;

use super::Live;
use crate::domain::{Place, Verb};
use crate::ui::words::faults;

impl Live {
    /// Why whoever sees the page may not do that there; tracks who that is.
    pub fn why_not(self, verb: Verb, place: Place<'_>) -> Option<String> {
        self.me.with(|me| {
            let why = me.as_ref()?.rights.may(verb, place).err()?;
            Some(faults::why_not(&why))
        })
    }
}
