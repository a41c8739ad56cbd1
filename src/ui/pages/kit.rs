//! `/kit`: all components of the UI kit in all states, for development.
//!
//! No page links here, and release builds answer 404. The page is a chunk of its own, which is
//! never loaded in production, so the tested program is the shipped one.

mod charts;

use leptos::prelude::*;
use leptos_meta::Title;
use strum::VariantArray as _;

use charts::Charts;

use crate::ui::components::resource_view::AwaitSnapshot;
use crate::ui::components::verdict_diagram::VerdictDiagram;
use crate::ui::kit::field::CONTROL;
use crate::ui::kit::{
    Badge, Banner, Button, CopyButton, Dialog, DialogHandle, Empty, Field, Icon, IconName, Link,
    Tone, Variant,
};

const TONES: [(&str, Tone); 5] = [
    ("plain", Tone::Plain),
    ("good", Tone::Good),
    ("warn", Tone::Warn),
    ("alarm", Tone::Alarm),
    ("unsure", Tone::Unsure),
];

const VARIANTS: [(&str, Variant); 3] = [
    ("Primary", Variant::Primary),
    ("Quiet", Variant::Quiet),
    ("Danger", Variant::Danger),
];

/// The colour tokens for surfaces and labels.
const COLOURS: [&str; 12] = [
    "bg-canvas",
    "bg-surface",
    "bg-sunken",
    "bg-accent-soft",
    "bg-accent",
    "bg-held-soft",
    "bg-held",
    "bg-warn-soft",
    "bg-warn",
    "bg-alarm-soft",
    "bg-alarm",
    "bg-unsure-soft",
];

/// The UI kit page.
#[component]
pub fn KitPage() -> impl IntoView {
    view! {
        <Title text="Kit · Lockkeeper" />
        <div class="flex flex-col gap-8">
            <h1 class="text-xl font-semibold">"Kit"</h1>
            <Colours />
            <Buttons />
            <Badges />
            <Fields />
            <Dialogs />
            <Icons />
            <Part name="Empty">
                <Empty title="Nothing of that kind">
                    <p>"Why there is nothing, and what can be done."</p>
                    <Link href="/" class="text-accent underline underline-offset-2">"A link"</Link>
                </Empty>
            </Part>
            <Part name="Diagram">
                <VerdictDiagram />
            </Part>
            <Part name="Charts">
                <Charts />
            </Part>
        </div>
        <AwaitSnapshot>""</AwaitSnapshot>
    }
}

#[component]
fn Part(name: &'static str, children: Children) -> impl IntoView {
    view! {
        <section aria-label=name class="flex flex-col gap-3">
            <h2 class="text-lg font-semibold">{name}</h2>
            {children()}
        </section>
    }
}

#[component]
fn Colours() -> impl IntoView {
    let swatch = |class: &'static str| {
        view! {
            <li class="flex w-28 flex-col gap-1 text-xs">
                <span class=format!("h-10 rounded-md border border-line {class}")></span>
                {class.trim_start_matches("bg-")}
            </li>
        }
    };
    view! {
        <Part name="Colours">
            <ul class="flex flex-wrap gap-3">{COLOURS.map(swatch).collect_view()}</ul>
        </Part>
    }
}

#[component]
fn Buttons() -> impl IntoView {
    let pair = |(name, variant): (&'static str, Variant)| {
        view! {
            <Button variant>{name}</Button>
            <Button variant disabled_reason=Signal::stored(Some("The reason why it cannot be pressed".to_owned()))>
                {format!("{name}, not now")}
            </Button>
        }
    };
    view! {
        <Part name="Buttons">
            <div class="flex flex-wrap gap-2">
                {VARIANTS.map(pair).collect_view()}
                <Button>
                    <Icon name=IconName::Plus />
                    "With an icon"
                </Button>
                <CopyButton text="copied text".to_owned() label="Copy" />
            </div>
        </Part>
    }
}

#[component]
fn Badges() -> impl IntoView {
    let badge = |(name, tone): (&'static str, Tone)| view! { <Badge tone>{name}</Badge> };
    let text = |(name, tone): (&'static str, Tone)| {
        view! { <span class=tone.text()>{name}</span> }
    };
    let banner = |(name, tone): (&'static str, Tone)| {
        view! {
            <Banner tone announced=false>
                <p class="font-semibold">{format!("A sentence that is {name}.")}</p>
                <p>"What can be done about it."</p>
            </Banner>
        }
    };
    view! {
        <Part name="Badges and banners">
            <div class="flex flex-wrap gap-2">{TONES.map(badge).collect_view()}</div>
            <div class="flex flex-wrap gap-3">{TONES.map(text).collect_view()}</div>
            <div class="flex flex-wrap items-center gap-2">
                <kbd class="key">"Ctrl K"</kbd>
                <code>"lock:invoice:1842"</code>
            </div>
            <div class="flex flex-col gap-2">{TONES.map(banner).collect_view()}</div>
        </Part>
    }
}

#[component]
fn Fields() -> impl IntoView {
    let wrong = Signal::stored(Some("What is wrong with it.".to_owned()));
    view! {
        <Part name="Fields">
            <div class="grid gap-4 md:grid-cols-3">
                <Field id="kit-empty" label="Empty" hint="What helps to answer.".to_owned()>
                    <input id="kit-empty" class=CONTROL placeholder="A placeholder" aria-describedby="kit-empty-hint" />
                </Field>
                <Field id="kit-wrong" label="Wrong" error=wrong>
                    <input id="kit-wrong" class=CONTROL value="no such thing" aria-invalid="true" aria-describedby="kit-wrong-hint" />
                </Field>
                <Field id="kit-choice" label="A choice">
                    <select id="kit-choice" class=CONTROL>
                        <option>"One"</option>
                        <option>"Another"</option>
                    </select>
                </Field>
            </div>
        </Part>
    }
}

#[component]
fn Dialogs() -> impl IntoView {
    let open = RwSignal::new(false);
    let children = Callback::new(|dialog: DialogHandle| {
        view! {
            <div class="flex flex-col gap-3 p-5">
                <h2 id="kit-dialog" class="text-lg font-semibold">"A dialog"</h2>
                <p>"It keeps the focus inside, closes on Escape, and gives the focus back."</p>
                <div class="flex justify-end gap-2">
                    <Button autofocus=true on_press=move |()| dialog.close()>"Cancel"</Button>
                    <Button variant=Variant::Danger on_press=move |()| dialog.close()>"Destroy"</Button>
                </div>
            </div>
        }
        .into_any()
    });
    view! {
        <Part name="Dialog">
            <div>
                <Button on_press=move |()| open.set(true)>"Open the dialog"</Button>
            </div>
            <Dialog open labelled_by="kit-dialog" children />
        </Part>
    }
}

#[component]
fn Icons() -> impl IntoView {
    let icon = |sign: IconName| {
        view! {
            <li class="inline-flex items-center gap-1.5">
                <Icon name=sign />
                {format!("{sign:?}")}
            </li>
        }
    };
    view! {
        <Part name="Icons">
            <ul class="flex flex-wrap gap-4">{IconName::VARIANTS.iter().copied().map(icon).collect_view()}</ul>
        </Part>
    }
}
