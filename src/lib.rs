//! Lockkeeper: three rooms, and every `cfg(feature)` in the crate.
#![doc = include_str!("README.md")]

pub mod domain;
pub mod ui;

#[cfg(feature = "ssr")]
pub mod server;

/// Speaks with an OpenID Connect provider, where that is built in.
#[cfg(feature = "sso")]
#[path = "server/access/oidc/spoken/mod.rs"]
mod sso;
#[cfg(all(feature = "ssr", not(feature = "sso")))]
#[path = "server/access/oidc/unspoken.rs"]
mod sso;

/// Wakes the page that the server rendered.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        ui::say_that_it_is_broken();
    }));
    leptos::mount::hydrate_lazy(ui::App);
}
