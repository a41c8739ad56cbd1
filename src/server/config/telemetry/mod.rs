//! The `[telemetry]` table: the OpenTelemetry collector that traces are exported to.
//!
//! The OpenTelemetry SDK itself reads the environment (`OTEL_…`) for what the table does not set. This module reads the variables that
//! the SDK does not handle here: certificates, timeout, protocol. Other programs share that environment, so a bad value there is a
//! warning and never keeps the console from starting.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::source::{Environment, Source};
use super::values::{Between, CaFile, Period, Rule, Text, Wrong, unencrypted};
use crate::server::http_client::Roots;

/// Whether this build can export traces.
const IS_BUILT_IN: bool = cfg!(feature = "otel");
/// The path that is appended to a collector's base URL for traces (OTLP over HTTP).
const TRACES: &str = "/v1/traces";
/// The timeout of one export request: the default of the OpenTelemetry specification.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, and how traces are exported to it.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// The URL that spans are sent to. Without it the SDK takes it from the environment, or uses `localhost`.
    pub endpoint: Option<Uri>,
    /// Request headers, such as `authorization`, in addition to those of the environment.
    pub headers: OtlpHeaders,
    /// The certificate authorities (`ca_file`) that the collector's certificate is verified with; the public ones if absent.
    pub roots: Option<Roots>,
    /// The share of traces begun here that is sampled, from 0 to 1. A caller's decision (`traceparent`) takes precedence. Without it the
    /// SDK reads `OTEL_TRACES_SAMPLER`.
    pub sample_ratio: Option<f64>,
    /// The resource attribute `service.name`.
    pub service_name: String,
    /// The timeout of one export request.
    pub timeout: Duration,
}

/// Headers whose values `Debug` does not show: they may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtlpHeaders(Vec<(HeaderName, HeaderValue)>);

impl OtlpConfig {
    /// The settings of the environment.
    fn of(environment: Environment<'_>, warnings: &mut Vec<String>) -> Self {
        let roots = about_exporter(environment, "CERTIFICATE").and_then(|(name, file)| {
            let read = Roots::read(Path::new(&file));
            read.map_err(|why| warnings.push(format!("{name}: {why}")))
                .ok()
        });
        let timeout = about_exporter(environment, "TIMEOUT").and_then(|(name, millis)| {
            let parsed = millis.parse().ok().filter(|millis| *millis > 0);
            if parsed.is_none() {
                warnings.push(format!("{name}: this is no number of milliseconds"));
            }
            parsed
        });
        Self {
            endpoint: None,
            headers: OtlpHeaders::default(),
            roots,
            sample_ratio: None,
            service_name: set(environment, "OTEL_SERVICE_NAME")
                .unwrap_or_else(|| "lockkeeper".to_owned()),
            timeout: timeout.map_or(USUAL_TIMEOUT, Duration::from_millis),
        }
    }
}

/// A variable that is set and not empty.
fn set(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.is_empty())
}

/// The variable for the traces exporter, else the one for all exporters: its name and value.
fn about_exporter(environment: Environment<'_>, what: &str) -> Option<(String, String)> {
    let names = ["TRACES_", ""].map(|which| format!("OTEL_EXPORTER_OTLP_{which}{what}"));
    let mut known = names
        .into_iter()
        .filter_map(|name| set(environment, &name).map(|value| (name, value)));
    known.next()
}

/// The collector that only the environment names, or `None`.
pub fn from_environment(
    environment: Environment<'_>,
    warnings: &mut Vec<String>,
) -> Option<OtlpConfig> {
    let (name, _) = about_exporter(environment, "ENDPOINT")?;
    if !IS_BUILT_IN {
        warnings.push(format!(
            "{name} is set, and this lockkeeper was built without OpenTelemetry (the cargo feature `otel`): traces are not exported"
        ));
        return None;
    }
    let is_off = is_off(environment) || speaks_otherwise(environment, warnings);
    (!is_off).then(|| OtlpConfig::of(environment, warnings))
}

/// Whether the environment turns traces off.
fn is_off(environment: Environment<'_>) -> bool {
    let is = |name, wanted: &str| {
        set(environment, name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
}

/// Whether the environment asks for a protocol that is not supported.
fn speaks_otherwise(environment: Environment<'_>, warnings: &mut Vec<String>) -> bool {
    let protocol = about_exporter(environment, "PROTOCOL");
    let other = protocol.filter(|(_, protocol)| protocol != "http/protobuf");
    if let Some((name, _)) = &other {
        let why = "only `http/protobuf` is supported: traces are not exported";
        warnings.push(format!("{name}: {why}"));
    }
    other.is_some()
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

/// Reads the tables; what is wrong in the environment is added to `warnings`.
pub(super) fn read(
    source: &Source<'_>,
    table: Table,
    environment: Environment<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<OtlpConfig>, ConfigError> {
    let Some(spanned) = table.otlp else {
        return Ok(from_environment(environment, warnings));
    };
    if !IS_BUILT_IN {
        return Err(source.error(
            &spanned,
            "this lockkeeper was built without OpenTelemetry; build it with the cargo feature `otel`, or take this table out",
        ));
    }
    let mut config = OtlpConfig::of(environment, warnings);
    let place = spanned.span();
    let table = spanned.into_inner();
    let names_endpoint = table.endpoint.is_some();
    if let Some(endpoint) = table.endpoint {
        if let Some(odd) = unencrypted(&endpoint) {
            warnings.push(source.at(place, &format!("[telemetry.otlp]: {odd}")));
        }
        config.endpoint = Some(endpoint);
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
    config.sample_ratio = table.sample_ratio;
    if let Some(name) = table.service_name {
        if name.get_ref().trim().is_empty() {
            return Err(source.error(&name, "`service_name` is empty"));
        }
        config.service_name = name.into_inner();
    }
    config.timeout = table.timeout.unwrap_or(config.timeout);
    // Which protocol the environment names is about the address that it names.
    let is_off =
        is_off(environment) || (!names_endpoint && speaks_otherwise(environment, warnings));
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
    const WRONG: &str = "a collector's address is like \"http://localhost:4318\" or \"https://otlp.example.org\" (OTLP over HTTP; not the port of gRPC)";
    if text.contains(['?', '#', '@']) {
        return Err(
            "a collector's address has no user name, query or fragment; what lets the console in belongs into `headers`",
        );
    }
    let base = text.trim_end_matches('/');
    let base = base.strip_suffix(TRACES).unwrap_or(base);
    let uri: Uri = format!("{base}{TRACES}").parse().map_err(|_| WRONG)?;
    let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_known || uri.host().is_none_or(str::is_empty) {
        return Err(WRONG);
    }
    Ok(uri)
}

#[cfg(test)]
mod tests;
