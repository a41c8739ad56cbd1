//! The text of a configuration file: from TOML to typed tables, and from a place in it to `file:line:column`.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::ConfigError;

/// Looks up a variable of the environment.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The fields in which `${NAME}` stands for a variable of the environment, besides all below `headers`. Others, above all patterns,
/// are taken as they are written.
const EXPANDED: [&str; 6] = [
    "client_secret",
    "hash",
    "password_hash",
    "read_from",
    "secret",
    "url",
];

/// The text of a file with its name.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    /// Reads the whole file. Every `${NAME}` is replaced in the parsed tree, before types are read from it, so a value from the
    /// environment is subject to the same rules and its mistakes have the place of what is written.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        environment: Environment<'_>,
    ) -> Result<T, ConfigError> {
        let located =
            |why: toml::de::Error| ConfigError(self.at(why.span().unwrap_or(0..0), why.message()));
        let mut tree = DeTable::parse(self.text).map_err(located)?;
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
        T::deserialize(Deserializer::from(tree)).map_err(located)
    }

    fn expand_table(
        &self,
        table: &mut DeTable<'a>,
        below_headers: bool,
        environment: Environment<'_>,
    ) -> Result<(), ConfigError> {
        for (key, value) in table.iter_mut() {
            let name: &str = key.get_ref();
            let below_headers = below_headers || name == "headers";
            let is_expanded = below_headers || EXPANDED.contains(&name);
            self.expand_value(value, is_expanded, below_headers, environment)?;
        }
        Ok(())
    }

    /// Puts the text of a webhook's `secret_file` in the place of `secret`. Other files are read when they are used.
    fn read_secret_file(&self, table: &mut DeTable<'a>) -> Result<(), ConfigError> {
        let Some(path) = table.remove("secret_file") else {
            return Ok(());
        };
        let DeValue::String(name) = path.get_ref() else {
            return Err(self.error(&path, "`secret_file` must be the path of a file"));
        };
        if table.contains_key("secret") {
            let why = "there are `secret` and `secret_file`; one of them is too many";
            return Err(self.error(&path, why));
        }
        let text = std::fs::read_to_string(&**name).map_err(|why| {
            self.error(&path, &format!("the secret's file cannot be read: {why}"))
        })?;
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
        environment: Environment<'_>,
    ) -> Result<(), ConfigError> {
        let span = value.span();
        match value.get_mut() {
            DeValue::String(text) if is_expanded && text.contains("${") => {
                let expanded = expand(text, environment);
                *text = expanded
                    .map_err(|why| ConfigError(self.at(span, &why)))?
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

    /// The message with its place in front.
    pub(super) fn at(&self, range: Range<usize>, message: &str) -> String {
        let before = self.text.get(..range.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}: {message}", self.name)
    }

    /// A mistake at the place of `spanned`.
    pub(super) fn error<T>(&self, spanned: &Spanned<T>, message: &str) -> ConfigError {
        ConfigError(self.at(spanned.span(), message))
    }
}

/// Replaces `${NAME}` by the environment variable of that name.
fn expand(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or("`${` is not closed by `}`")?;
        let value = environment(name)
            .ok_or_else(|| format!("the environment variable {name} is not set"))?;
        done.push_str(before);
        done.push_str(&value);
        rest = tail;
    }
    done.push_str(rest);
    Ok(done)
}
