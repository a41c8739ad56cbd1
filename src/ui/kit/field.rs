//! Form fields with label, control, hint and error.

use leptos::prelude::*;

/// The CSS classes of a form control.
pub const CONTROL: &str = "h-9 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-ink placeholder:text-faint aria-invalid:border-alarm";

/// A two-way binding of a form control: a signal, or a field of one (`slice!`).
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

/// A form field. The control's `aria-describedby` should name `{id}-hint`.
#[component]
pub fn Field(
    /// The id of the control.
    id: &'static str,
    /// The label.
    #[prop(into)]
    label: String,
    /// The hint.
    #[prop(into, optional)]
    hint: String,
    /// The error.
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

/// A single-line text field.
#[component]
pub fn TextField(
    /// The id of the control.
    id: &'static str,
    /// The label.
    #[prop(into)]
    label: String,
    /// The value.
    #[prop(into)]
    value: Binding<String>,
    /// The hint.
    #[prop(into, optional)]
    hint: String,
    /// The error.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
    /// The placeholder.
    #[prop(into, optional)]
    placeholder: Option<String>,
    /// Whether a value is required.
    #[prop(optional)]
    required: bool,
    /// Whether the value is a decimal number.
    #[prop(optional)]
    decimal: bool,
    /// Whether to use a monospaced font without spell checking, for names.
    #[prop(optional)]
    mono: bool,
    /// Whether the control is focused when its dialog opens.
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

/// An option of a select field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectOption {
    /// The value.
    pub value: String,
    /// The label.
    pub label: String,
    /// Why the option is disabled; `None` if it is enabled.
    pub disabled_reason: Option<String>,
}

/// A drop-down field.
#[component]
pub fn SelectField(
    /// The id of the control.
    id: &'static str,
    /// The label.
    #[prop(into)]
    label: String,
    /// The selected value.
    #[prop(into)]
    value: Binding<String>,
    /// The options.
    choices: Vec<SelectOption>,
    /// The error.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
) -> impl IntoView {
    let Binding(get, set) = value;
    let option = move |choice: SelectOption| {
        let is_chosen = get.with_untracked(|chosen| *chosen == choice.value);
        view! {
            <option value=choice.value disabled=choice.disabled_reason.is_some() title=choice.disabled_reason selected=is_chosen>
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

/// A checkbox with a label and a hint.
#[component]
pub fn CheckboxField(
    /// The id of the control.
    id: &'static str,
    /// The label.
    #[prop(into)]
    label: String,
    /// The hint.
    #[prop(into)]
    hint: String,
    /// Whether the box is checked.
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
