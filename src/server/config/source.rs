//! The text of a configuration file: deserializes TOML into typed tables, and converts offsets to
//! `file:line:column`.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::ConfigError;

/// Looks up an environment variable.
pub(super) type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The fields in which `${NAME}` is replaced by an environment variable, besides those below
/// `headers`. Other fields, such as patterns, are used verbatim.
const EXPANDED_FIELDS: [&str; 6] = [
    "client_secret",
    "hash",
    "password_hash",
    "read_from",
    "secret",
    "url",
];

/// The name and text of a file.
pub(super) struct SourceFile<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl<'a> SourceFile<'a> {
    /// Deserializes the whole file. `${NAME}` is replaced in the parsed tree before types are read
    /// from it, so values from the environment follow the same rules and their errors have the
    /// position of the field.
    pub(super) fn deserialize<T: DeserializeOwned>(
        &self,
        environment: EnvLookup<'_>,
    ) -> Result<T, ConfigError> {
        let with_position = |why: toml::de::Error| {
            ConfigError(self.message_at(why.span().unwrap_or(0..0), why.message()))
        };
        let mut tree = DeTable::parse(self.text).map_err(with_position)?;
        self.expand_table(tree.get_mut(), false, environment)?;
        if let Some(webhooks) = tree.get_mut().get_mut("webhook")
            && let DeValue::Array(webhooks) = webhooks.get_mut()
        {
            for webhook in webhooks.iter_mut() {
                if let DeValue::Table(webhook) = webhook.get_mut() {
                    self.read_secret_file(webhook)?;
                }
            }
        }
        T::deserialize(Deserializer::from(tree)).map_err(|why| {
            let message = match suggestion(why.message()) {
                Some(field) => format!("{}; did you mean `{field}`?", why.message()),
                None => why.message().to_owned(),
            };
            ConfigError(self.message_at(why.span().unwrap_or(0..0), &message))
        })
    }

    fn expand_table(
        &self,
        table: &mut DeTable<'a>,
        below_headers: bool,
        environment: EnvLookup<'_>,
    ) -> Result<(), ConfigError> {
        for (key, value) in table.iter_mut() {
            let name: &str = key.get_ref();
            let below_headers = below_headers || name == "headers";
            let is_expanded = below_headers || EXPANDED_FIELDS.contains(&name);
            self.expand_value(value, is_expanded, below_headers, environment)?;
        }
        Ok(())
    }

    /// Replaces a webhook's `secret_file` by `secret` with the file's text. Other files are read
    /// when they are used.
    fn read_secret_file(&self, table: &mut DeTable<'a>) -> Result<(), ConfigError> {
        let Some(path) = table.remove("secret_file") else {
            return Ok(());
        };
        let DeValue::String(name) = path.get_ref() else {
            return Err(self.error(&path, "`secret_file` must be the path of a file"));
        };
        if table.contains_key("secret") {
            let why = "`secret` and `secret_file` are both set; remove one of them";
            return Err(self.error(&path, why));
        }
        let text = std::fs::read_to_string(&**name)
            .map_err(|why| self.error(&path, &format!("the secret file cannot be read: {why}")))?;
        let text = text.trim_end_matches(['\r', '\n']).to_owned();
        let secret = Spanned::new(path.span(), DeValue::String(text.into()));
        table.insert(Spanned::new(path.span(), "secret".into()), secret);
        Ok(())
    }

    fn expand_value(
        &self,
        value: &mut Spanned<DeValue<'a>>,
        is_expanded: bool,
        below_headers: bool,
        environment: EnvLookup<'_>,
    ) -> Result<(), ConfigError> {
        let span = value.span();
        match value.get_mut() {
            DeValue::String(text) if is_expanded && text.contains("${") => {
                let expanded = expand_variables(text, environment);
                *text = expanded
                    .map_err(|why| ConfigError(self.message_at(span, &why)))?
                    .into();
                Ok(())
            }
            DeValue::Array(values) => values
                .iter_mut()
                .try_for_each(|value| self.expand_value(value, false, below_headers, environment)),
            DeValue::Table(table) => self.expand_table(table, below_headers, environment),
            _ => Ok(()),
        }
    }

    /// Prefixes the message with its position.
    pub(super) fn message_at(&self, range: Range<usize>, message: &str) -> String {
        let before = self.text.get(..range.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}: {message}", self.name)
    }

    /// An error at the position of `spanned`.
    pub(super) fn error<T>(&self, spanned: &Spanned<T>, message: &str) -> ConfigError {
        ConfigError(self.message_at(spanned.span(), message))
    }
}

/// The known field or value that is most similar to the unknown one in a serde error, if it is
/// similar enough.
///
/// serde provides the names only in its message: "unknown field `a`, expected one of `b`, `c`".
/// Messages of another form have no suggestion.
fn suggestion(message: &str) -> Option<&str> {
    /// The least Jaro-Winkler similarity (0 to 1). clap uses 0.7 for options.
    const MIN_SIMILARITY: f64 = 0.75;
    let rest = message.strip_prefix("unknown ")?;
    let (_, rest) = rest.split_once(" `")?;
    let (unknown, known) = rest.split_once('`')?;
    let closest = known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|name| (strsim::jaro_winkler(unknown, name), name))
        .max_by(|(left, _), (right, _)| left.total_cmp(right));
    closest
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .map(|(_, name)| name)
}

/// Replaces each `${NAME}` by the environment variable of that name.
fn expand_variables(text: &str, environment: EnvLookup<'_>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or("`${` is not closed by `}`")?;
        let value = environment(name)
            .ok_or_else(|| format!("the environment variable {name} is not set"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use crate::server::config::parse;

    #[test]
    fn the_error_for_a_misspelled_field_or_value_suggests_the_closest_known_one() {
        let group = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";
        for (text, suggested) in [
            (
                "[limits]\nmax_conections = 5\n".to_owned(),
                Some("max_connections"),
            ),
            (format!("{group}max_leases = \"1h\""), Some("max_lease")),
            (format!("{group}kind = \"redlok\""), Some("redlock")),
            ("[limits]\ncolour = 1\n".to_owned(), None),
        ] {
            let error = parse("l.toml", &text, &|_| None).unwrap_err().to_string();
            let ending = suggested.map(|field| format!("; did you mean `{field}`?"));
            assert_eq!(ending.is_some(), error.contains("did you mean"), "{error}");
            assert!(error.ends_with(&ending.unwrap_or_default()), "{error}");
        }
    }
}
