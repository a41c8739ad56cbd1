//! Parses one line of `MONITOR`: client, command and key. Values, and thus tokens, are skipped.

/// A command sent by a client or a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The client's address; `None` for a command within a script.
    pub client: Option<String>,
    /// The database number.
    pub db: i64,
    /// The command name in lower case.
    pub name: String,
    /// The first argument, which is the key for the commands that matter here.
    pub key: Option<Vec<u8>>,
    /// The command writes only if the key does not exist (`NX`).
    pub only_if_absent: bool,
    /// The third argument is a negative number.
    pub is_decrement: bool,
}

/// Commands on locks have no more arguments than this that matter.
const MAX_ARGUMENTS: usize = 12;

impl Command {
    /// Parses a line such as `1795200485.556908 [0 127.0.0.1:50010] "SET" "lock:a" "…" "NX"`.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|&byte| byte == b'[')?;
        let origin_start = line.get(open + 1..)?;
        let name_start = origin_start.iter().position(|&byte| byte == b'"')?;
        let origin = std::str::from_utf8(origin_start.get(..name_start)?)
            .ok()?
            .trim_end();
        let (db, client) = origin.strip_suffix(']')?.split_once(' ')?;
        let mut arguments = Arguments(origin_start.get(name_start..)?);
        let name = arguments.next()?;
        let name = String::from_utf8(unescape(name)).ok()?.to_ascii_lowercase();
        let key = arguments.next().map(unescape);
        // The arguments are only compared with options below. Values are never stored.
        let rest: Vec<&[u8]> = arguments.take(MAX_ARGUMENTS).collect();
        let is_set = name == "set";
        Some(Self {
            // MONITOR prints `lua` instead of an address for commands within scripts.
            client: (client != "lua").then(|| client.to_owned()),
            db: db.parse().ok()?,
            only_if_absent: name == "setnx"
                || is_set
                    && rest
                        .iter()
                        // The first argument after the key is the value, which can be "NX" itself.
                        .skip(1)
                        .any(|word| word.eq_ignore_ascii_case(b"nx")),
            is_decrement: rest.get(1).is_some_and(|word| word.starts_with(b"-")),
            name,
            key,
        })
    }
}

/// The quoted arguments of a line, still escaped.
struct Arguments<'a>(&'a [u8]);

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| byte == b'"')? + 1;
        let rest = self.0.get(start..)?;
        let mut at = 0;
        loop {
            match rest.get(at)? {
                // Skips the escaped byte, which can be a quote.
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        let (word, after_word) = rest.split_at(at);
        self.0 = after_word.get(1..).unwrap_or_default();
        Some(word)
    }
}

/// Reverses the escaping of `sdscatrepr` in Redis.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut bytes = word.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => plain.push(b'\n'),
            Some(b'r') => plain.push(b'\r'),
            Some(b't') => plain.push(b'\t'),
            Some(b'a') => plain.push(7),
            Some(b'b') => plain.push(8),
            Some(b'x') => {
                let digits: String = bytes
                    .by_ref()
                    .take(2)
                    .map(|&byte| char::from(byte))
                    .collect();
                plain.extend(u8::from_str_radix(&digits, 16).ok());
            }
            Some(&other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn client_command_key_and_options_are_parsed_without_values() {
        let line = br#"1795200485.556908 [0 127.0.0.1:50010] "SET" "lo\"ck\x00:\\a" "tok\"en" "NX" "PX" "60000""#;
        let command = Command::parse(line).unwrap();
        assert_eq!(command.key.as_deref(), Some(&b"lo\"ck\x00:\\a"[..]));
        assert_eq!(command.client.as_deref(), Some("127.0.0.1:50010"));
        assert!(command.only_if_absent && command.name == "set" && command.db == 0);
        assert!(!format!("{command:?}").contains("tok"), "{command:?}");
        let lua = br#"1795200485.5 [3 lua] "hincrby" "a" "f" "-1""#;
        let command = Command::parse(lua).unwrap();
        assert_eq!(
            (command.client, command.db, command.is_decrement),
            (None, 3, true)
        );
        let named_nx = br#"1.5 [0 unix:/tmp/redis.sock] "set" "a" "NX""#;
        assert!(!Command::parse(named_nx).unwrap().only_if_absent);
    }

    #[test]
    fn invalid_lines_are_skipped() {
        for line in [
            &b""[..],
            b"OK",
            b"1.5 [0 lua]",
            b"1.5 [0 lua] \"get",
            b"1.5 [x y] \"get\"",
        ] {
            assert_eq!(Command::parse(line), None);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_cause_a_panic(
            line in "[0-9.]{0,12} ?\\[[0-9]{0,20} \\PC{0,12}\\]?( ?\"?(set|\\PC|\\\\x?[0-9a-f]?|\"){0,6}\"?){0,6}",
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let _ = Command::parse(&bytes);
            let _ = Command::parse(line.as_bytes());
            let _ = Command::parse(&[line.as_bytes(), &bytes].concat());
        }
    }
}
