//! CSV (RFC 4180) with protection against formula injection.

use csv::{QuoteStyle, Terminator, WriterBuilder};

/// Formats rows as CSV. Every field is quoted, and text that a spreadsheet would evaluate as a
/// formula is prefixed with an apostrophe.
pub fn to_csv<R, C>(rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item = C>,
    C: AsRef<str>,
{
    let mut writer = WriterBuilder::new()
        .quote_style(QuoteStyle::Always)
        .terminator(Terminator::CRLF)
        .flexible(true)
        .from_writer(Vec::new());
    for row in rows {
        let cells = row.into_iter().map(|cell| escape_formulas(cell.as_ref()));
        writer
            .write_record(cells)
            .expect("writing to a buffer in memory does not fail");
    }
    let bytes = writer
        .into_inner()
        .expect("writing to a buffer in memory does not fail");
    String::from_utf8(bytes).expect("CSV of UTF-8 fields is UTF-8")
}

/// Prefixes formulas in a field with an apostrophe.
///
/// Formulas are also detected behind separators within the field: in locales with a decimal comma,
/// spreadsheets split the file at semicolons, and quotes in the middle of a field do not protect
/// it.
///
/// <https://owasp.org/www-community/attacks/CSV_Injection>
fn escape_formulas(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    let mut is_start = true;
    for c in text.chars() {
        if is_start && starts_formula(c) {
            cell.push('\'');
        }
        is_start = match c {
            ';' | '\t' | '\r' | '\n' => true,
            ' ' | '"' => is_start,
            _ => false,
        };
        cell.push(c);
    }
    cell
}

/// Includes the full-width forms, which some locales accept.
fn starts_formula(c: char) -> bool {
    matches!(
        c,
        '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_escaped() {
        for (text, cell) in [
            ("plain", "\"plain\""),
            ("a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\""),
            (
                "=HYPERLINK(\"http://x\")",
                "\"'=HYPERLINK(\"\"http://x\"\")\"",
            ),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"\t'=1\""),
            (" =1", "\" '=1\""),
            ("a=1", "\"a=1\""),
            ("2026-11-22", "\"2026-11-22\""),
            ("\u{ff1d}1+1", "\"'\u{ff1d}1+1\""),
            ("", "\"\""),
        ] {
            assert_eq!(to_csv([[text]]), format!("{cell}\r\n"));
        }
    }

    #[test]
    fn formulas_behind_other_separators_are_escaped() {
        for (text, cell) in [
            (
                "lock:a;=cmd|' /C calc'!A0",
                "\"lock:a;'=cmd|' /C calc'!A0\"",
            ),
            ("a;\"=1", "\"a;\"\"'=1\""),
            ("a; \"\"@SUM(A1)", "\"a; \"\"\"\"'@SUM(A1)\""),
            ("gone\r\n=1", "\"gone\r\n'=1\""),
            ("a\t-1", "\"a\t'-1\""),
        ] {
            assert_eq!(to_csv([[text]]), format!("{cell}\r\n"));
        }
    }
}
