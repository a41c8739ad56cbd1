//! Form controls whose value is state of the page, and that may be used before hydration.

use leptos::html::ElementType;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Shows `value` in a form control. A value that was entered before hydration, when nothing listened
/// to the control yet, is passed to `on_change` instead of being overwritten.
///
/// The server renders the value itself: with `value` in an input, `selected` in an option.
pub fn control_value<E>(
    control: NodeRef<E>,
    value: Memo<String>,
    on_change: impl Fn(String) + 'static,
) where
    E: ElementType + 'static,
    E::Output: FormControl + JsCast + Clone + 'static,
{
    let is_hydrating =
        Owner::current_shared_context().is_some_and(|shared| shared.during_hydration());
    Effect::new(move |previous: Option<bool>| {
        let value = value.get();
        let Some(control) = control.get() else {
            return previous.unwrap_or(false);
        };
        let entered = control.value();
        let is_first_run = !previous.unwrap_or(false);
        if is_first_run && is_hydrating && entered != value {
            on_change(entered);
        } else {
            control.set_value(&value);
        }
        true
    });
}

/// A form control with a value.
pub trait FormControl {
    /// Returns the value that the control shows.
    fn value(&self) -> String;
    /// Shows a value.
    fn set_value(&self, value: &str);
}

impl FormControl for web_sys::HtmlInputElement {
    fn value(&self) -> String {
        Self::value(self)
    }

    fn set_value(&self, value: &str) {
        Self::set_value(self, value);
    }
}

impl FormControl for web_sys::HtmlSelectElement {
    fn value(&self) -> String {
        Self::value(self)
    }

    fn set_value(&self, value: &str) {
        Self::set_value(self, value);
    }
}
