//! The `[telemetry]` table: who is told, span by span, what the console does and how long it takes (OpenTelemetry).

mod environment;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::source::Source;
use super::values::{Between, CaFile, Period, Rule, Text, Wrong, unencrypted};
use crate::otel;
use crate::server::https::Roots;
pub use environment::from_environment;

/// Where a collector on this machine listens, as OpenTelemetry has it.
const USUAL_ENDPOINT: &str = "http://localhost:4318/v1/traces";
/// What is added to a collector's address for traces.
const TRACES: &str = "/v1/traces";
/// How long one request to the collector may take, as OpenTelemetry has it.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, and what it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// Where spans are posted to.
    pub endpoint: Uri,
    /// What is sent along, above all what lets the console in there.
    pub headers: OtlpHeaders,
    /// The certificates (`ca_file`) that its own is checked with; the public ones where it is absent.
    pub roots: Option<Roots>,
    /// Which traces it is told of.
    pub sampling: Sampling,
    /// What the console is called there.
    pub service_name: String,
    /// How long one request to it may take.
    pub timeout: Duration,
}

/// Headers whose values are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtlpHeaders(Vec<(HeaderName, HeaderValue)>);

/// Which traces are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// So many of those that begin here, from 0 to 1.
    pub ratio: f64,
    /// Whether a request that comes with a decision of its caller's (`traceparent`) follows that.
    pub follows_callers: bool,
}

impl OtlpConfig {
    /// The collector on this machine is told everything.
    fn usual() -> Self {
        Self {
            endpoint: Uri::from_static(USUAL_ENDPOINT),
            headers: OtlpHeaders::default(),
            roots: None,
            sampling: Sampling {
                ratio: 1.0,
                follows_callers: true,
            },
            service_name: "lockkeeper".to_owned(),
            timeout: USUAL_TIMEOUT,
        }
    }
}

impl OtlpHeaders {
    /// The headers, for the request.
    pub fn expose(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0
    }

    /// Adds one; one of that name that is there already gives way.
    fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("\"{name}\" and what follows it is no header");
        let name: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value));
        Ok(())
    }
}

impl fmt::Debug for OtlpHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// The tables as they stand in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    otlp: Option<Spanned<OtlpTable>>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtlpTable {
    #[serde_as(as = "Option<Text<Endpoint>>")]
    endpoint: Option<Uri>,
    #[serde(default)]
    headers: BTreeMap<Spanned<String>, String>,
    headers_file: Option<Spanned<PathBuf>>,
    #[serde_as(as = "Option<Text<CaFile>>")]
    ca_file: Option<Roots>,
    #[serde_as(as = "Option<Between<0, 1>>")]
    sample_ratio: Option<f64>,
    service_name: Option<Spanned<String>>,
    #[serde_as(as = "Option<Text<Period>>")]
    timeout: Option<Duration>,
}

/// Reads the tables. What they leave open, the environment says (`OTEL_…`); what is wrong there is added to `warnings`, because
/// the same environment is that of other programs too.
pub(super) fn read(
    source: &Source<'_>,
    table: Table,
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<Option<OtlpConfig>, ConfigError> {
    let Some(spanned) = table.otlp else {
        return Ok(from_environment(environment, warnings));
    };
    if !otel::IS_BUILT_IN {
        return Err(source.error(
            &spanned,
            "this lockkeeper was built without OpenTelemetry; build it with the cargo feature `otel`, or take this table out",
        ));
    }
    let mut config = environment::or_usual(environment, warnings);
    let place = spanned.span();
    let table = spanned.into_inner();
    let names_endpoint = table.endpoint.is_some();
    if let Some(endpoint) = table.endpoint {
        if let Some(odd) = unencrypted(&endpoint) {
            warnings.push(source.at(place, &format!("[telemetry.otlp]: {odd}")));
        }
        config.endpoint = endpoint;
    }
    if let Some(path) = &table.headers_file {
        let text = std::fs::read_to_string(path.get_ref()).map_err(|why| {
            let why = format!("the headers' file cannot be read: {why}");
            source.error(path, &why)
        })?;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or(("", ""));
            // What stands there may be a secret: it is not repeated.
            let why = "a line of the headers' file is no header, like `authorization: Bearer …`";
            let added = config.headers.add(name.trim(), value.trim());
            added.map_err(|_| source.error(path, why))?;
        }
    }
    for (name, value) in &table.headers {
        let added = config.headers.add(name.get_ref(), value);
        added.map_err(|why| source.error(name, &why))?;
    }
    config.roots = table.ca_file.or(config.roots);
    config.sampling.ratio = table.sample_ratio.unwrap_or(config.sampling.ratio);
    if let Some(name) = table.service_name {
        if name.get_ref().trim().is_empty() {
            return Err(source.error(&name, "`service_name` is empty"));
        }
        config.service_name = name.into_inner();
    }
    config.timeout = table.timeout.unwrap_or(config.timeout);
    // Which protocol the environment names is about the address that it names.
    let is_off = environment::is_off(environment)
        || (!names_endpoint && environment::speaks_otherwise(environment, warnings));
    Ok((!is_off).then_some(config))
}

struct Endpoint;

impl Rule for Endpoint {
    type Value = Uri;

    fn read(text: &str) -> Result<Uri, Wrong> {
        Ok(endpoint(text)?)
    }
}

/// A collector's address, with the path for traces where it has not got that yet.
fn endpoint(text: &str) -> Result<Uri, &'static str> {
    let whole = if text.trim_end_matches('/').ends_with(TRACES) {
        text.to_owned()
    } else {
        format!("{}{TRACES}", text.trim_end_matches('/'))
    };
    address(&whole)
}

/// An address that can be posted to.
fn address(text: &str) -> Result<Uri, &'static str> {
    const WRONG: &str = "a collector's address is like \"http://localhost:4318\" or \"https://otlp.example.org\" (OTLP over HTTP; not the port of gRPC)";
    if text.contains(['?', '#', '@']) {
        return Err(
            "a collector's address has no user name, query or fragment; what lets the console in belongs into `headers`",
        );
    }
    let uri: Uri = text.parse().map_err(|_| WRONG)?;
    let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_known || uri.host().is_none_or(str::is_empty) {
        return Err(WRONG);
    }
    Ok(uri)
}

#[cfg(test)]
mod tests;
