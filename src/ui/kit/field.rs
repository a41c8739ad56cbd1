//! Form fields: label, control, hint, and the error that belongs to it.

use leptos::prelude::*;

/// The look of a text field, for the control inside.
pub const CONTROL: &str = "h-9 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-ink placeholder:text-faint aria-invalid:border-alarm";

/// What a field shows and changes: a signal, or a field of one (`slice!`).
#[derive(Debug)]
pub struct Binding<T: Send + Sync + 'static>(Signal<T>, SignalSetter<T>);

impl<T: Send + Sync> Clone for Binding<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync> Copy for Binding<T> {}

impl<T: Clone + Send + Sync + 'static> From<RwSignal<T>> for Binding<T> {
    fn from(signal: RwSignal<T>) -> Self {
        Self(signal.into(), signal.into())
    }
}

impl<T: Send + Sync + 'static> From<(Signal<T>, SignalSetter<T>)> for Binding<T> {
    fn from((get, set): (Signal<T>, SignalSetter<T>)) -> Self {
        Self(get, set)
    }
}

/// A label, the control, a hint and an error. The control's `aria-describedby` should name `{id}-hint`.
#[component]
pub fn Field(
    /// The id of the control.
    id: &'static str,
    /// What is asked for.
    #[prop(into)]
    label: String,
    /// What helps to answer.
    #[prop(into, optional)]
    hint: String,
    /// What is wrong with the answer.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
    /// The control.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="flex flex-col gap-1">
            <label for=id class="font-medium">
                {label}
            </label>
            {children()}
            <p id=format!("{id}-hint") class="text-xs">
                <span class="text-muted">{hint}</span>
                " "
                <span class="font-medium text-alarm" role="status">
                    {error}
                </span>
            </p>
        </div>
    }
}

/// A line of text.
#[component]
pub fn TextField(
    /// The id of the control.
    id: &'static str,
    /// What is asked for.
    #[prop(into)]
    label: String,
    /// What is typed.
    #[prop(into)]
    value: Binding<String>,
    /// What helps to answer.
    #[prop(into, optional)]
    hint: String,
    /// What is wrong with the answer.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
    /// What an answer looks like.
    #[prop(into, optional)]
    placeholder: Option<String>,
    /// Whether the form is not sent without an answer.
    #[prop(optional)]
    required: bool,
    /// Whether a number is asked for.
    #[prop(optional)]
    decimal: bool,
    /// Whether a name is asked for: characters of one width, and no spelling to check.
    #[prop(optional)]
    mono: bool,
    /// Whether it has the focus when its dialog opens.
    #[prop(optional)]
    autofocus: bool,
) -> impl IntoView {
    let Binding(get, set) = value;
    let class = match mono {
        true => format!("{CONTROL} font-mono"),
        false => CONTROL.to_owned(),
    };
    view! {
        <Field id label hint error>
            <input
                id=id
                class=class
                autofocus=autofocus
                autocomplete="off"
                spellcheck=mono.then_some("false")
                inputmode=decimal.then_some("decimal")
                placeholder=placeholder
                aria-describedby=format!("{id}-hint")
                aria-required=required.then_some("true")
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                bind:value=(get, set)
            />
        </Field>
    }
}

/// Something to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What it stands for.
    pub value: String,
    /// What it is called.
    pub label: String,
    /// Why it cannot be chosen, where it cannot.
    pub why_not: Option<String>,
}

/// One of several choices.
#[component]
pub fn SelectField(
    /// The id of the control.
    id: &'static str,
    /// What is asked for.
    #[prop(into)]
    label: String,
    /// What is chosen.
    #[prop(into)]
    value: Binding<String>,
    /// What can be chosen.
    choices: Vec<Choice>,
    /// What is wrong with the choice.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
) -> impl IntoView {
    let Binding(get, set) = value;
    let option = move |choice: Choice| {
        let is_chosen = get.with_untracked(|chosen| *chosen == choice.value);
        view! {
            <option value=choice.value disabled=choice.why_not.is_some() title=choice.why_not selected=is_chosen>
                {choice.label}
            </option>
        }
    };
    view! {
        <Field id label error>
            <select
                id=id
                class=CONTROL
                aria-describedby=format!("{id}-hint")
                on:change=move |event| set.set(event_target_value(&event))
            >
                {choices.into_iter().map(option).collect_view()}
            </select>
        </Field>
    }
}

/// Yes or no.
#[component]
pub fn CheckboxField(
    /// The id of the control.
    id: &'static str,
    /// What is asked.
    #[prop(into)]
    label: String,
    /// What it means.
    #[prop(into)]
    hint: String,
    /// The answer.
    #[prop(into)]
    value: Binding<bool>,
) -> impl IntoView {
    let Binding(get, set) = value;
    view! {
        <div class="flex gap-2">
            <input
                id=id
                type="checkbox"
                class="mt-1 size-4 shrink-0 accent-accent"
                aria-describedby=format!("{id}-hint")
                checked=get.get_untracked()
                on:change=move |event| set.set(event_target_checked(&event))
            />
            <div>
                <label for=id class="font-medium">
                    {label}
                </label>
                <p id=format!("{id}-hint") class="text-xs text-muted">
                    {hint}
                </p>
            </div>
        </div>
    }
}
