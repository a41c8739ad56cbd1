//! Prints clap's errors, with control characters in the arguments escaped.

use clap::error::{ContextKind, ContextValue};

use super::output::print_stderr;
use super::text::escape_invisible;

/// Prints an error of the command line, or the requested help, and ends the process.
pub fn print_and_exit(mut error: clap::Error) -> ! {
    if escape_typed_values(&mut error) {
        // Rendered without clap's colours, because they cannot be distinguished from typed escape
        // sequences.
        let lines: Vec<String> = error
            .render()
            .to_string()
            .lines()
            .map(escape_invisible)
            .collect();
        print_stderr(&(lines.join("\n") + "\n"));
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Escapes control characters in typed values. Returns whether there were any.
fn escape_typed_values(error: &mut clap::Error) -> bool {
    let escaped: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| {
            let escaped = match value {
                ContextValue::String(typed) => ContextValue::String(escape_invisible(typed)),
                ContextValue::Strings(typed) => ContextValue::Strings(
                    typed.iter().map(|typed| escape_invisible(typed)).collect(),
                ),
                _ => return None,
            };
            (escaped != *value).then_some((kind, escaped))
        })
        .collect();
    let has_escaped = !escaped.is_empty();
    for (kind, value) in escaped {
        error.insert(kind, value);
    }
    if has_escaped {
        // A suggestion also contains the typed value.
        error.remove(ContextKind::Suggested);
    }
    has_escaped
}
