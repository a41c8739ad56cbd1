//! Lockkeeper: three rooms, and every `cfg(feature)` in the crate.
#![doc = include_str!("README.md")]

pub mod domain;
pub mod ui;

#[cfg(feature = "ssr")]
pub mod server;

/// Wakes the page that the server rendered.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(ui::App);
}
