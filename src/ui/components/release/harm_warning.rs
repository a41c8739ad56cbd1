//! A warning before the release form, for formats whose release does harm.

use leptos::prelude::*;

use super::super::lock_name::LockName;
use crate::domain::Lock;
use crate::ui::i18n::{libraries, operations as t, punctuation};
use crate::ui::kit::{Banner, Button, DialogHandle, Tone, Variant};

/// Describes the harm, and continues to the form only if the user accepts it.
#[component]
pub fn HarmWarning(
    /// The lock when the dialog was opened.
    lock: Lock,
    /// The description of the harm.
    harm: &'static str,
    /// The dialog's handle.
    handle: DialogHandle,
    /// Called when the user accepts the harm.
    #[prop(into)]
    on_accept: Callback<()>,
) -> impl IntoView {
    let next = punctuation::labelled(lock.format.slug(), libraries::after_release(lock.format));
    let next = punctuation::sentence(&next);
    view! {
        <div class="flex flex-col gap-4">
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                {t::releasing()} <LockName key=lock.id.key max_chars=120 /> {t::has_side_effects()}
            </h2>
            <Banner tone=Tone::Alarm announced=false>
                <p class="font-semibold">{punctuation::sentence(harm)}</p>
                <p>{next}</p>
            </Banner>
            <div class="flex justify-end gap-2">
                <Button autofocus=true on_press=move |()| handle.close()>
                    {t::cancel()}
                </Button>
                <Button variant=Variant::Danger on_press=move |()| on_accept.run(())>
                    {t::continue_anyway()}
                </Button>
            </div>
        </div>
    }
}
