//! What the environment says of OpenTelemetry: the variables that all programs share which tell a collector of traces.
//!
//! They may be meant for others, and be wrong for all of them. So nothing here keeps the console from starting.

use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::{OtlpConfig, Sampling, address, endpoint};
use crate::otel;
use crate::server::https::Roots;

/// The variables, and where to say what is odd about them.
struct Variables<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    warnings: &'a mut Vec<String>,
}

/// A collector that only the environment names; nothing where it names none.
pub fn from_environment(
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Option<OtlpConfig> {
    let named = [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ];
    let is_set = |name: &&str| environment(name).is_some_and(|value| !value.is_empty());
    let name = named.into_iter().find(is_set)?;
    if !otel::IS_BUILT_IN {
        warnings.push(format!(
            "{name} is set, and this lockkeeper was built without OpenTelemetry (the cargo feature `otel`): nobody is told of traces"
        ));
        return None;
    }
    if is_off(environment) || speaks_otherwise(environment, warnings) {
        return None;
    }
    let before = warnings.len();
    let config = or_usual(environment, warnings);
    // An address that is none must not become the usual one.
    let is_odd = |warning: &String| warning.starts_with(&format!("{name}:"));
    (!warnings[before..].iter().any(is_odd)).then_some(config)
}

/// Whether nobody is to be told of traces, whoever is named.
pub(super) fn is_off(environment: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name, wanted: &str| {
        environment(name).is_some_and(|value: String| value.eq_ignore_ascii_case(wanted))
    };
    is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
}

/// Whether the collector that the environment names is to be spoken to in another way than the one that is spoken here.
pub(super) fn speaks_otherwise(
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> bool {
    let mut variables = Variables {
        environment,
        warnings,
    };
    match variables.about_exporter("PROTOCOL") {
        Some((name, protocol)) if protocol != "http/protobuf" => {
            variables.warn(
                &name,
                "only `http/protobuf` is spoken here: nobody is told of traces",
            );
            true
        }
        _ => false,
    }
}

/// What the environment says, and where it says nothing, the usual.
pub(super) fn or_usual(
    environment: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> OtlpConfig {
    let mut config = OtlpConfig::usual();
    if !otel::IS_BUILT_IN {
        return config;
    }
    let mut variables = Variables {
        environment,
        warnings,
    };
    // The one for traces is the whole address, the one for everything is where all of them begin.
    if let Some((name, text)) = variables.about_exporter("ENDPOINT") {
        let is_whole = name.contains("TRACES");
        match if is_whole {
            address(&text)
        } else {
            endpoint(&text)
        } {
            Ok(uri) => config.endpoint = uri,
            Err(why) => variables.warn(&name, why),
        }
    }
    if let Some((name, text)) = variables.about_exporter("HEADERS") {
        for header in text.split(',').filter(|header| !header.trim().is_empty()) {
            let (key, value) = header.split_once('=').unwrap_or(("", ""));
            let value = percent_decode_str(value.trim()).decode_utf8_lossy();
            // What stands there may be a secret: it is not repeated.
            if config.headers.add(key.trim(), &value).is_err() {
                variables.warn(&name, "one of the headers is none; it is left out");
            }
        }
    }
    if let Some((name, path)) = variables.about_exporter("CERTIFICATE") {
        match Roots::read(Path::new(&path)) {
            Ok(roots) => config.roots = Some(roots),
            Err(why) => variables.warn(&name, &why),
        }
    }
    if let Some((name, millis)) = variables.about_exporter("TIMEOUT") {
        match millis.parse() {
            Ok(millis @ 1..) => config.timeout = Duration::from_millis(millis),
            Ok(0) | Err(_) => variables.warn(&name, "this is no number of milliseconds"),
        }
    }
    if let Some(name) = variables.value("OTEL_SERVICE_NAME") {
        config.service_name = name;
    }
    config.sampling = variables.sampling(config.sampling);
    config
}

impl Variables<'_> {
    /// What it is set to; empty is not set.
    fn value(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// The variable about the exporter of traces, else the one about all exporters.
    fn about_exporter(&self, what: &str) -> Option<(String, String)> {
        let names = ["TRACES_", ""].map(|which| format!("OTEL_EXPORTER_OTLP_{which}{what}"));
        let mut set = names
            .into_iter()
            .filter_map(|name| self.value(&name).map(|value| (name, value)));
        set.next()
    }

    fn warn(&mut self, name: &str, why: &str) {
        self.warnings.push(format!("{name}: {why}"));
    }

    fn sampling(&mut self, usual: Sampling) -> Sampling {
        const NAMES: (&str, &str) = ("OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG");
        let Some(sampler) = self.value(NAMES.0) else {
            return usual;
        };
        let (follows_callers, rest) = match sampler.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, sampler.as_str()),
        };
        let ratio = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let given = self.value(NAMES.1).map(|given| given.parse::<f64>());
                match given {
                    None => 1.0,
                    Some(Ok(ratio)) if (0.0..=1.0).contains(&ratio) => ratio,
                    Some(_) => {
                        self.warn(NAMES.1, "this is no number from 0 to 1; 1 is taken");
                        1.0
                    }
                }
            }
            _ => {
                self.warn(
                    NAMES.0,
                    "there is no such sampler here; `parentbased_always_on` is taken",
                );
                return usual;
            }
        };
        Sampling {
            ratio,
            follows_callers,
        }
    }
}
