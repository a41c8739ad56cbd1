//! What is wrong with a command line, told as clap tells it, with what somebody typed made visible.

use clap::error::{ContextKind, ContextValue};

use super::answer::note;
use super::text::visible;

/// Tells what is wrong with the command line, or the help that was asked for, and ends the process.
pub fn tell(mut told: clap::Error) -> ! {
    if is_made_visible(&mut told) {
        // A terminal cannot be trusted with the rest as it is: without clap's colours, which nothing tells from typed ones.
        let lines: Vec<String> = told.render().to_string().lines().map(visible).collect();
        note(&(lines.join("\n") + "\n"));
        std::process::exit(told.exit_code());
    }
    told.exit()
}

/// Replaces what was typed where it would do something to a terminal; whether there was any.
fn is_made_visible(told: &mut clap::Error) -> bool {
    let seen: Vec<_> = told
        .context()
        .filter_map(|(kind, value)| {
            let seen = match value {
                ContextValue::String(typed) => ContextValue::String(visible(typed)),
                ContextValue::Strings(typed) => {
                    ContextValue::Strings(typed.iter().map(|typed| visible(typed)).collect())
                }
                _ => return None,
            };
            (seen != *value).then_some((kind, seen))
        })
        .collect();
    let is_any = !seen.is_empty();
    for (kind, seen) in seen {
        told.insert(kind, seen);
    }
    if is_any {
        // A tip repeats what was typed, too, among colours.
        told.remove(ContextKind::Suggested);
    }
    is_any
}
