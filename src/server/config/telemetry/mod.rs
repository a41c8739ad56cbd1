//! The `[telemetry]` table: the OpenTelemetry collector that traces are exported to.
//!
//! The OpenTelemetry SDK reads the environment (`OTEL_…`) for settings that are absent from the
//! table. This module reads the variables that the SDK does not handle here: certificates, timeout,
//! protocol. Other programs share that environment, so an invalid value is a warning, not an error.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::ConfigError;
use super::source::{EnvLookup, SourceFile};
use super::values::{
    Between, BoundedDuration, CaFile, InvalidValue, Parsed, TextRule, cleartext_warning,
};
use crate::server::http_client::CaCertificates;

/// Whether this build can export traces.
const IS_BUILT_IN: bool = cfg!(feature = "otel");
/// The path that is appended to a collector's base URL for traces (OTLP over HTTP).
const TRACES_PATH: &str = "/v1/traces";
/// The timeout of one export request: the default of the OpenTelemetry specification.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, and how traces are exported to it.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// The URL that spans are sent to. Without it the SDK takes it from the environment, or uses
    /// `localhost`.
    pub endpoint: Option<Uri>,
    /// Request headers, such as `authorization`, in addition to those of the environment.
    pub headers: OtlpHeaders,
    /// The certificate authorities (`ca_file`) that the collector's certificate is verified with;
    /// the public ones if absent.
    pub roots: Option<CaCertificates>,
    /// The share of sampled traces among those that start here, from 0 to 1. A caller's decision
    /// (`traceparent`) takes precedence. Without it the SDK reads `OTEL_TRACES_SAMPLER`.
    pub sample_ratio: Option<f64>,
    /// The resource attribute `service.name`.
    pub service_name: String,
    /// The timeout of one export request.
    pub timeout: Duration,
}

/// Request headers. `Debug` does not show their values, which may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtlpHeaders(Vec<(HeaderName, HeaderValue)>);

impl OtlpConfig {
    /// The settings from the environment.
    fn from_env(environment: EnvLookup<'_>, warnings: &mut Vec<String>) -> Self {
        let roots = exporter_variable(environment, "CERTIFICATE").and_then(|(name, file)| {
            let read = CaCertificates::read(Path::new(&file));
            read.map_err(|why| warnings.push(format!("{name}: {why}")))
                .ok()
        });
        let timeout = exporter_variable(environment, "TIMEOUT").and_then(|(name, millis)| {
            let parsed = millis.parse().ok().filter(|millis| *millis > 0);
            if parsed.is_none() {
                warnings.push(format!(
                    "{name}: not a positive number of milliseconds; using the default"
                ));
            }
            parsed
        });
        Self {
            endpoint: None,
            headers: OtlpHeaders::default(),
            roots,
            sample_ratio: None,
            service_name: non_empty_variable(environment, "OTEL_SERVICE_NAME")
                .unwrap_or_else(|| "lockkeeper".to_owned()),
            timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
        }
    }
}

/// The value of a variable that is set and not empty.
fn non_empty_variable(environment: EnvLookup<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.is_empty())
}

/// The name and value of the variable for the traces exporter, else of the one for all exporters.
fn exporter_variable(environment: EnvLookup<'_>, setting: &str) -> Option<(String, String)> {
    let names = ["TRACES_", ""].map(|signal| format!("OTEL_EXPORTER_OTLP_{signal}{setting}"));
    let mut values = names
        .into_iter()
        .filter_map(|name| non_empty_variable(environment, &name).map(|value| (name, value)));
    values.next()
}

/// The collector that is configured by the environment alone, or `None`.
pub fn config_from_env(
    environment: EnvLookup<'_>,
    warnings: &mut Vec<String>,
) -> Option<OtlpConfig> {
    let (name, _) = exporter_variable(environment, "ENDPOINT")?;
    if !IS_BUILT_IN {
        warnings.push(format!(
            "{name} is set, but this build of lockkeeper does not support OpenTelemetry (cargo feature `otel`); traces are not exported"
        ));
        return None;
    }
    if is_disabled(environment) {
        return None;
    }
    if let Some(warning) = unsupported_protocol_warning(environment) {
        warnings.push(warning);
        return None;
    }
    Some(OtlpConfig::from_env(environment, warnings))
}

/// Whether the environment disables traces.
fn is_disabled(environment: EnvLookup<'_>) -> bool {
    let has_value = |name, expected: &str| {
        non_empty_variable(environment, name)
            .is_some_and(|value| value.eq_ignore_ascii_case(expected))
    };
    has_value("OTEL_SDK_DISABLED", "true") || has_value("OTEL_TRACES_EXPORTER", "none")
}

/// A warning if the environment selects a protocol that is not supported.
fn unsupported_protocol_warning(environment: EnvLookup<'_>) -> Option<String> {
    let protocol = exporter_variable(environment, "PROTOCOL");
    let (name, _) = protocol.filter(|(_, protocol)| protocol != "http/protobuf")?;
    Some(format!(
        "{name}: only `http/protobuf` is supported; traces are not exported"
    ))
}

impl OtlpHeaders {
    /// The headers, for the request.
    pub fn expose(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0
    }

    /// Adds a header and replaces one of the same name.
    fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let invalid = || {
            format!(
                "invalid header \"{name}\": the name or the value contains characters that are not allowed"
            )
        };
        let name: HeaderName = name.parse().map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
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

/// The `[telemetry]` table in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TelemetryTable {
    otlp: Option<Spanned<OtlpTable>>,
}

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtlpTable {
    #[serde_as(as = "Option<Parsed<Endpoint>>")]
    endpoint: Option<Uri>,
    #[serde(default)]
    headers: BTreeMap<Spanned<String>, String>,
    headers_file: Option<Spanned<PathBuf>>,
    #[serde_as(as = "Option<Parsed<CaFile>>")]
    ca_file: Option<CaCertificates>,
    #[serde_as(as = "Option<Between<0, 1>>")]
    sample_ratio: Option<f64>,
    service_name: Option<Spanned<String>>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    timeout: Option<Duration>,
}

/// Reads the tables. Invalid environment variables are added to `warnings`.
pub(super) fn read(
    source: &SourceFile<'_>,
    table: TelemetryTable,
    environment: EnvLookup<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<OtlpConfig>, ConfigError> {
    let Some(spanned) = table.otlp else {
        return Ok(config_from_env(environment, warnings));
    };
    if !IS_BUILT_IN {
        return Err(source.error(
            &spanned,
            "this build of lockkeeper does not support OpenTelemetry; build it with the cargo feature `otel`, or remove this table",
        ));
    }
    let mut config = OtlpConfig::from_env(environment, warnings);
    let span = spanned.span();
    let table = spanned.into_inner();
    let has_endpoint = table.endpoint.is_some();
    if let Some(endpoint) = table.endpoint {
        if let Some(warning) = cleartext_warning(&endpoint) {
            warnings.push(source.message_at(span, &format!("[telemetry.otlp]: {warning}")));
        }
        config.endpoint = Some(endpoint);
    }
    if let Some(path) = &table.headers_file {
        let text = std::fs::read_to_string(path.get_ref()).map_err(|why| {
            let why = format!("the headers file cannot be read: {why}");
            source.error(path, &why)
        })?;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or(("", ""));
            // The line may contain a secret, so the error does not repeat it.
            let why = "the headers file has an invalid line; write one header per line, like `authorization: Bearer …`";
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
    // The protocol in the environment belongs to the endpoint in the environment.
    if is_disabled(environment) {
        return Ok(None);
    }
    if !has_endpoint && let Some(warning) = unsupported_protocol_warning(environment) {
        warnings.push(warning);
        return Ok(None);
    }
    Ok(Some(config))
}

struct Endpoint;

impl TextRule for Endpoint {
    type Value = Uri;

    fn parse(text: &str) -> Result<Uri, InvalidValue> {
        Ok(parse_endpoint(text)?)
    }
}

/// Parses the URL of a collector and appends the path for traces unless it is present.
fn parse_endpoint(text: &str) -> Result<Uri, &'static str> {
    const INVALID_URL: &str = "invalid collector URL; write it like \"http://localhost:4318\" or \"https://otlp.example.org\" (OTLP over HTTP; not the port of gRPC)";
    if text.contains(['?', '#', '@']) {
        return Err(
            "a collector URL must not have a user name, query or fragment; put credentials into `headers`",
        );
    }
    let base = text.trim_end_matches('/');
    let base = base.strip_suffix(TRACES_PATH).unwrap_or(base);
    let uri: Uri = format!("{base}{TRACES_PATH}")
        .parse()
        .map_err(|_| INVALID_URL)?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(INVALID_URL);
    }
    Ok(uri)
}

#[cfg(test)]
mod tests;
