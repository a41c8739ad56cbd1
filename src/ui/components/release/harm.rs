//! What stands before the dialog's form where a release does harm: what happens, said plainly, and whether to go on.

use leptos::prelude::*;

use super::super::lock_name::LockName;
use crate::domain::Lock;
use crate::ui::kit::{Banner, Button, DialogHandle, Tone, Variant};
use crate::ui::words::{act as words, libraries, punctuation};

/// Says what harm a release does, and asks for the first time.
#[component]
pub fn ReleaseHarm(
    /// The lock as it was when the dialog opened.
    lock: Lock,
    /// What harm it does.
    harm: &'static str,
    /// Closes the dialog.
    handle: DialogHandle,
    /// Goes on to the form.
    #[prop(into)]
    on_accept: Callback<()>,
) -> impl IntoView {
    let next = punctuation::told(lock.format.slug(), libraries::after_release(lock.format));
    let next = punctuation::sentence(&next);
    view! {
        <div class="flex flex-col gap-4">
            <h2 id="release-title" class="text-lg font-semibold wrap-anywhere">
                {words::releasing()} <LockName key=lock.id.key most=120 /> {words::does_harm()}
            </h2>
            <Banner tone=Tone::Alarm announced=false>
                <p class="font-semibold">{punctuation::sentence(harm)}</p>
                <p>{next}</p>
            </Banner>
            <div class="flex justify-end gap-2">
                <Button autofocus=true on_press=move |()| handle.close()>
                    {words::cancel()}
                </Button>
                <Button variant=Variant::Danger on_press=move |()| on_accept.run(())>
                    {words::all_the_same()}
                </Button>
            </div>
        </div>
    }
}
