//! OpenTelemetry settings in the file and the environment, and the error of each mistake.

use super::super::{Config, parse};
use super::*;

const GROUP: &str = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";

fn read_with(table: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let environment = |name: &str| {
        let known = variables.iter().find(|(known, _)| *known == name);
        known.map(|(_, value)| (*value).to_owned())
    };
    parse("c", &format!("{table}{GROUP}"), &environment).map_err(|why| why.to_string())
}

fn otlp(table: &str, variables: &[(&str, &str)]) -> OtlpConfig {
    let mut config = read_with(table, variables).unwrap();
    // Another test covers this warning.
    config
        .warnings
        .retain(|warning| !warning.contains("unencrypted"));
    assert_eq!(config.warnings, [""; 0]);
    config.otlp.expect("a collector is configured")
}

fn headers(config: &OtlpConfig) -> Vec<(&str, &[u8])> {
    let each = config.headers.expose().iter();
    each.map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect()
}

#[test]
fn traces_are_not_exported_by_default() {
    assert_eq!(read_with("", &[]).unwrap().otlp, None);
    assert_eq!(read_with("[telemetry]\n", &[]).unwrap().otlp, None);
    let named = [("OTEL_SERVICE_NAME", "x"), ("OTEL_TRACES_SAMPLER_ARG", "?")];
    let config = read_with("", &named).unwrap();
    assert_eq!((config.otlp, config.warnings.len()), (None, 0));
}

#[test]
fn an_empty_table_leaves_the_collector_to_the_sdk() {
    let config = otlp("[telemetry.otlp]\n", &[]);
    assert_eq!((config.endpoint, config.sample_ratio), (None, None));
    assert_eq!(config.service_name, "lockkeeper");
    assert_eq!(config.timeout, DEFAULT_TIMEOUT);
}

#[test]
fn the_path_for_traces_is_appended_once() {
    for (written, expected) in [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("https://c/", "https://c/v1/traces"),
        ("https://c/otlp", "https://c/otlp/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ] {
        let table = format!("[telemetry.otlp]\nendpoint = \"{written}\"\n");
        assert_eq!(otlp(&table, &[]).endpoint.unwrap(), *expected, "{written}");
    }
}

#[test]
fn every_error_in_the_file_has_its_position() {
    for (line, position, why) in [
        (
            "endpoint = \"collector:4318\"",
            "2:12",
            "invalid collector URL",
        ),
        (
            "endpoint = \"grpc://c:4317\"",
            "2:12",
            "not the port of gRPC",
        ),
        (
            "endpoint = \"http://me:pw@c\"",
            "2:12",
            "must not have a user name",
        ),
        (
            "endpoint = \"http://c?key=1\"",
            "2:12",
            "put credentials into `headers`",
        ),
        (
            "sample_ratio = 10.0",
            "2:16",
            "the value must be from 0 to 1",
        ),
        ("service_name = \" \"", "2:16", "is empty"),
        ("timeout = \"soon\"", "2:11", "invalid duration"),
        ("headers = { \"a b\" = \"c\" }", "2:13", "invalid header"),
        ("headers = { a = \"${NONE}\" }", "2:17", "NONE is not set"),
        (
            "headers_file = \"/does/not/exist\"",
            "2:16",
            "cannot be read",
        ),
        (
            "ca_file = \"/does/not/exist\"",
            "2:11",
            "cannot read CA certificates",
        ),
        ("compression = \"gzip\"", "2:1", "unknown field"),
    ] {
        let error = read_with(&format!("[telemetry.otlp]\n{line}\n"), &[]).unwrap_err();
        assert!(
            error.starts_with(&format!("c:{position}: ")),
            "{line}: {error}"
        );
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn credentials_come_from_the_environment_or_a_file_and_are_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers");
    std::fs::write(&file, "\nauthorization: Bearer S3CRET: 1 \nx-scope:all\n").unwrap();
    let table = format!(
        "[telemetry.otlp]\nheaders = {{ x-key = \"k-${{KEY}}\", x-scope = \"one\" }}\nheaders_file = \"{}\"\n",
        file.display()
    );
    let config = otlp(&table, &[("KEY", "S3CRET")]);
    let mut each = headers(&config);
    each.sort_unstable();
    assert_eq!(
        each,
        [
            ("authorization", &b"Bearer S3CRET: 1"[..]),
            ("x-key", b"k-S3CRET"),
            ("x-scope", b"one"),
        ]
    );
    assert!(!format!("{config:?}").contains("S3CRET"), "{config:?}");

    std::fs::write(&file, "Bearer S3CRET").unwrap();
    let error = read_with(&table, &[("KEY", "k")]).unwrap_err();
    assert!(error.contains("invalid line") && !error.contains("S3CRET"));
}

#[test]
fn the_file_takes_precedence_over_the_environment() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://everywhere"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ("OTEL_SERVICE_NAME", "locks-eu"),
    ];
    let config = otlp("[telemetry.otlp]\nendpoint = \"http://here\"\n", &variables);
    assert_eq!(config.endpoint.unwrap(), *"http://here/v1/traces");
    assert_eq!(config.timeout, Duration::from_millis(2_500));
    assert_eq!(config.service_name, "locks-eu");
    let table =
        "[telemetry.otlp]\nsample_ratio = 0.5\nservice_name = \"locks\"\ntimeout = \"1s\"\n";
    let config = otlp(table, &variables);
    assert_eq!(
        (config.sample_ratio, &*config.service_name),
        (Some(0.5), "locks")
    );
    assert_eq!(config.timeout, Duration::from_secs(1));
}

#[test]
fn the_environment_can_disable_traces() {
    for off in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        for table in ["", "[telemetry.otlp]\n"] {
            let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), off];
            assert_eq!(read_with(table, &variables).unwrap().otlp, None, "{off:?}");
        }
    }
}

#[test]
fn invalid_environment_variables_lead_to_warnings_not_errors() {
    let named = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
    for (variable, is_exported) in [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), false),
        (("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"), true),
        (("OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist"), true),
    ] {
        let config = read_with("", &[variable, named]).unwrap();
        assert_eq!(config.otlp.is_some(), is_exported, "{variable:?}");
        let [warning] = &config.warnings[..] else {
            panic!("{variable:?}: {:?}", config.warnings)
        };
        assert!(
            warning.starts_with(&format!("{}: ", variable.0)),
            "{warning}"
        );
    }
}

#[test]
fn an_unencrypted_collector_on_another_machine_leads_to_a_warning() {
    for (endpoint, has_warning) in [
        ("http://otlp.example.org:4318", true),
        ("http://10.0.0.5:4318", true),
        ("http://localhost:4318", false),
        ("http://[::1]:4318", false),
        ("https://otlp.example.org", false),
    ] {
        let table = format!("[telemetry.otlp]\nendpoint = \"{endpoint}\"\n");
        let warnings = read_with(&table, &[]).unwrap().warnings;
        assert_eq!(
            !warnings.is_empty(),
            has_warning,
            "{endpoint}: {warnings:?}"
        );
    }
}
