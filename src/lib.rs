//! Lockkeeper: three layers (domain, server, ui). All `cfg(feature)` attributes for whole
//! modules are here.
#![doc = include_str!("README.md")]

pub mod domain;
pub mod ui;

#[cfg(feature = "ssr")]
pub mod server;

/// Hydrates the page that the server rendered.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        ui::show_fatal_error();
    }));
    leptos::mount::hydrate_lazy(ui::App);
}
