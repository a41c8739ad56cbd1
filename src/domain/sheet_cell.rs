//! One cell of a sheet (CSV, RFC 4180), which is text whatever opens it.

/// A cell: always in quotes, and with an apostrophe before what a program would calculate.
///
/// That is asked at its beginning, and after whatever a program may take for one: where people write `1,5`, some split a sheet at semicolons, and then quotes that begin in
/// the middle count for nothing.
///
/// <https://owasp.org/www-community/attacks/CSV_Injection>
pub fn sheet_cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + 2);
    cell.push('"');
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
        if sign == '"' {
            cell.push('"');
        }
        cell.push(sign);
    }
    cell.push('"');
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
            assert_eq!(sheet_cell(text), cell);
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
            assert_eq!(sheet_cell(text), cell);
        }
    }
}
