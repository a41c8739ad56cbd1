//! A sheet (CSV, RFC 4180) whose cells are text whatever opens it.

use csv::{QuoteStyle, Terminator, WriterBuilder};

/// The rows of a sheet: every cell in quotes, and with an apostrophe before what a program would calculate.
pub fn sheet<R, C>(rows: impl IntoIterator<Item = R>) -> String
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
        let cells = row.into_iter().map(|cell| no_formula(cell.as_ref()));
        writer.write_record(cells).expect("memory takes any row");
    }
    let bytes = writer.into_inner().expect("memory takes any row");
    String::from_utf8(bytes).expect("rows of text are text")
}

/// A text of which no program takes any part for a formula.
///
/// That is asked at its beginning, and after whatever a program may take for one: where people write `1,5`, some split a sheet at
/// semicolons, and then quotes that begin in the middle count for nothing.
///
/// <https://owasp.org/www-community/attacks/CSV_Injection>
fn no_formula(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    let mut is_beginning = true;
    for sign in text.chars() {
        if is_beginning && begins_formula(sign) {
            cell.push('\'');
        }
        is_beginning = match sign {
            ';' | '\t' | '\r' | '\n' => true,
            ' ' | '"' => is_beginning,
            _ => false,
        };
        cell.push(sign);
    }
    cell
}

/// The wide ones count in some languages.
fn begins_formula(sign: char) -> bool {
    matches!(
        sign,
        '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_one_cell_and_is_never_a_formula() {
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
            assert_eq!(sheet([[text]]), format!("{cell}\r\n"));
        }
    }

    #[test]
    fn no_formula_begins_inside_a_cell_for_who_splits_elsewhere() {
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
            assert_eq!(sheet([[text]]), format!("{cell}\r\n"));
        }
    }
}
