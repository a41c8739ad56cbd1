//! `lockkeeper token`: makes an API token, and what the configuration keeps of it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Failure;
use super::answer::{document, note, show};
use super::options::word;
use super::token::TokenFile;
use crate::domain::Timestamp;
use crate::domain::role::Role;
use crate::server::access::tokens::mint_token;
use crate::server::config::access::TokenConfig;

/// What `token` is told.
#[derive(Args)]
pub struct ApiToken {
    /// What the token is called: lower-case letters, digits, `-`. It is shown wherever the token was used.
    #[arg(value_name = "ID")]
    id: String,
    /// viewer, operator or admin.
    #[arg(long, value_name = "ROLE", value_parser = word::<Role>)]
    role: Role,
    /// Only for this group; may be given again for others.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// To act only on locks whose names match this pattern; may be given again.
    #[arg(long, value_name = "PATTERN")]
    keys: Vec<String>,
    /// The day or the moment from which on it is refused: 2027-01-31, 2027-01-31T18:00:00Z.
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    expires: Option<String>,
    /// Write the token into this new file, which only you can read, instead of showing it.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Answer in JSON.
    #[arg(long)]
    json: bool,
}

impl ApiToken {
    pub fn wants_json(&self) -> bool {
        self.json
    }
}

fn moment(text: &str) -> Result<String, String> {
    let day = format!("{text}T00:00:00Z");
    let read = Timestamp::try_from(text.to_owned()).or_else(|_| Timestamp::try_from(day));
    read.map(|_| text.to_owned())
        .map_err(|_| "write 2027-01-31 or 2027-01-31T18:00:00Z".to_owned())
}

pub fn run(options: &ApiToken) -> Result<(), Failure> {
    if !TokenConfig::is_id(&options.id) {
        return Err(Failure::unusable(
            "ID has 1 to 64 lower-case letters, digits or `-`",
        ));
    }
    let file = options.token_file.as_deref().map(TokenFile::prepare);
    let file = file.transpose()?;
    let (token, hash) = mint_token(&options.id);
    let table = table(options, &hash);
    let is_in_file = file.is_some();
    if let Some(file) = file {
        file.keep(&token)?;
    }
    let shown = (!is_in_file).then_some(token);
    if options.json {
        return show(&document(
            &json!({ "token": shown, "hash": hash, "config": table }),
        ));
    }
    show(&table)?;
    // Not beside the table: whoever appends that to the configuration must not keep the token there.
    if let Some(token) = shown {
        note(&format!("\nThe token, which is kept nowhere: {token}\n"));
    }
    Ok(())
}

/// The table for the configuration.
fn table(options: &ApiToken, hash: &str) -> String {
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
