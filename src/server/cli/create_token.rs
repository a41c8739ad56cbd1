//! `lockkeeper create-token`: creates an API token and the `[[token]]` table for the configuration.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Failure;
use super::options::parse_variant;
use super::output::{json_line, print_stderr, print_stdout};
use super::token::TokenFile;
use crate::domain::Timestamp;
use crate::domain::role::Role;
use crate::server::access::tokens::generate_token;
use crate::server::config::access::TokenConfig;

/// The arguments of `create-token`.
#[derive(Args)]
pub struct CreateTokenArgs {
    /// The id of the token: lower-case letters, digits, `-`. It appears in the audit log.
    #[arg(value_name = "ID")]
    id: String,
    /// The role: viewer, operator or admin.
    #[arg(long, value_name = "ROLE", value_parser = parse_variant::<Role>)]
    role: Role,
    /// Limit the token to this group; can be repeated.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Limit operations to locks whose names match this pattern; can be repeated.
    #[arg(long, value_name = "PATTERN")]
    keys: Vec<String>,
    /// The date or time at which the token expires: 2027-01-31, 2027-01-31T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_expiry)]
    expires: Option<String>,
    /// Write the token to this new file, readable only by you, instead of printing it.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

impl CreateTokenArgs {
    pub fn prints_json(&self) -> bool {
        self.json
    }
}

fn parse_expiry(text: &str) -> Result<String, String> {
    let day = format!("{text}T00:00:00Z");
    let read = Timestamp::try_from(text.to_owned()).or_else(|_| Timestamp::try_from(day));
    read.map(|_| text.to_owned())
        .map_err(|_| "invalid date or time; write 2027-01-31 or 2027-01-31T18:00:00Z".to_owned())
}

pub fn run(options: &CreateTokenArgs) -> Result<(), Failure> {
    if !TokenConfig::is_valid_id(&options.id) {
        return Err(Failure::invalid_input(
            "invalid ID; use 1 to 64 lower-case letters, digits or `-`",
        ));
    }
    let file = options.token_file.as_deref().map(TokenFile::prepare);
    let file = file.transpose()?;
    let (token, hash) = generate_token(&options.id);
    let table = token_table(options, &hash);
    let is_in_file = file.is_some();
    if let Some(file) = file {
        file.write(&token)?;
    }
    let shown = (!is_in_file).then_some(token);
    if options.json {
        return print_stdout(&json_line(
            &json!({ "token": shown, "hash": hash, "config": table }),
        ));
    }
    print_stdout(&table)?;
    // On standard error, so that redirecting the table into the configuration does not store the
    // token there.
    if let Some(token) = shown {
        print_stderr(&format!("\nToken (not stored anywhere): {token}\n"));
    }
    Ok(())
}

/// The table for the configuration.
fn token_table(options: &CreateTokenArgs, hash: &str) -> String {
    let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
    let list = |texts: &[String]| texts.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let mut table = format!(
        "[[token]]\nid = \"{}\"\nrole = \"{}\"\nhash = \"{hash}\"\n",
        options.id,
        options.role.slug()
    );
    if !options.group.is_empty() {
        table.push_str(&format!("groups = [{}]\n", list(&options.group)));
    }
    if !options.keys.is_empty() {
        table.push_str(&format!("keys = [{}]\n", list(&options.keys)));
    }
    if let Some(expires) = &options.expires {
        table.push_str(&format!("expires = \"{expires}\"\n"));
    }
    table
}
