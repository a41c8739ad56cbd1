//! What a configuration and the environment may say of OpenTelemetry, and what is said of mistakes.

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
    // Of it there is a test of its own.
    config
        .warnings
        .retain(|warning| !warning.contains("unencrypted"));
    assert_eq!(config.warnings, [""; 0]);
    config.otlp.expect("somebody is told")
}

fn headers(config: &OtlpConfig) -> Vec<(&str, &[u8])> {
    let each = config.headers.expose().iter();
    each.map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect()
}

#[test]
fn nobody_is_told_unless_somebody_says_so() {
    assert_eq!(read_with("", &[]).unwrap().otlp, None);
    assert_eq!(read_with("[telemetry]\n", &[]).unwrap().otlp, None);
    let named = [("OTEL_SERVICE_NAME", "x"), ("OTEL_TRACES_SAMPLER_ARG", "?")];
    let config = read_with("", &named).unwrap();
    assert_eq!((config.otlp, config.warnings.len()), (None, 0));
}

#[test]
fn a_table_that_says_nothing_leaves_the_collector_to_the_sdk() {
    let told = otlp("[telemetry.otlp]\n", &[]);
    assert_eq!((told.endpoint, told.sample_ratio), (None, None));
    assert_eq!(told.service_name, "lockkeeper");
    assert_eq!(told.timeout, USUAL_TIMEOUT);
}

#[test]
fn an_address_gets_the_path_of_traces_once() {
    for (written, meant) in [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("https://c/", "https://c/v1/traces"),
        ("https://c/otlp", "https://c/otlp/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ] {
        let table = format!("[telemetry.otlp]\nendpoint = \"{written}\"\n");
        assert_eq!(otlp(&table, &[]).endpoint.unwrap(), *meant, "{written}");
    }
}

#[test]
fn every_mistake_in_the_file_has_its_place() {
    for (line, place, why) in [
        (
            "endpoint = \"collector:4318\"",
            "2:12",
            "collector's address is like",
        ),
        (
            "endpoint = \"grpc://c:4317\"",
            "2:12",
            "not the port of gRPC",
        ),
        ("endpoint = \"http://me:pw@c\"", "2:12", "no user name"),
        (
            "endpoint = \"http://c?key=1\"",
            "2:12",
            "belongs into `headers`",
        ),
        ("sample_ratio = 10.0", "2:16", "this must be from 0 to 1"),
        ("service_name = \" \"", "2:16", "is empty"),
        ("timeout = \"soon\"", "2:11", "not a span of time"),
        ("headers = { \"a b\" = \"c\" }", "2:13", "is no header"),
        ("headers = { a = \"${NONE}\" }", "2:17", "NONE is not set"),
        (
            "headers_file = \"/does/not/exist\"",
            "2:16",
            "cannot be read",
        ),
        ("ca_file = \"/does/not/exist\"", "2:11", "cannot be read"),
        ("compression = \"gzip\"", "2:1", "unknown field"),
    ] {
        let told = read_with(&format!("[telemetry.otlp]\n{line}\n"), &[]).unwrap_err();
        assert!(told.starts_with(&format!("c:{place}: ")), "{line}: {told}");
        assert!(told.contains(why), "{line}: {told}");
    }
}

#[test]
fn what_lets_the_console_in_comes_from_the_environment_or_a_file_and_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers");
    std::fs::write(&file, "\nauthorization: Bearer S3CRET: 1 \nx-scope:all\n").unwrap();
    let table = format!(
        "[telemetry.otlp]\nheaders = {{ x-key = \"k-${{KEY}}\", x-scope = \"one\" }}\nheaders_file = \"{}\"\n",
        file.display()
    );
    let told = otlp(&table, &[("KEY", "S3CRET")]);
    let mut each = headers(&told);
    each.sort_unstable();
    assert_eq!(
        each,
        [
            ("authorization", &b"Bearer S3CRET: 1"[..]),
            ("x-key", b"k-S3CRET"),
            ("x-scope", b"one"),
        ]
    );
    assert!(!format!("{told:?}").contains("S3CRET"), "{told:?}");

    std::fs::write(&file, "Bearer S3CRET").unwrap();
    let told = read_with(&table, &[("KEY", "k")]).unwrap_err();
    assert!(told.contains("is no header") && !told.contains("S3CRET"));
}

#[test]
fn the_file_says_more_than_the_environment_and_leaves_open_what_it_does_not_say() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://everywhere"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ("OTEL_SERVICE_NAME", "locks-eu"),
    ];
    let told = otlp("[telemetry.otlp]\nendpoint = \"http://here\"\n", &variables);
    assert_eq!(told.endpoint.unwrap(), *"http://here/v1/traces");
    assert_eq!(told.timeout, Duration::from_millis(2_500));
    assert_eq!(told.service_name, "locks-eu");
    let table =
        "[telemetry.otlp]\nsample_ratio = 0.5\nservice_name = \"locks\"\ntimeout = \"1s\"\n";
    let told = otlp(table, &variables);
    assert_eq!(
        (told.sample_ratio, &*told.service_name),
        (Some(0.5), "locks")
    );
    assert_eq!(told.timeout, Duration::from_secs(1));
}

#[test]
fn the_environment_can_switch_it_off() {
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
fn what_is_wrong_in_the_environment_is_pointed_out_and_keeps_nobody_from_starting() {
    let named = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
    for (variable, is_told) in [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), false),
        (("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"), true),
        (("OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist"), true),
    ] {
        let config = read_with("", &[variable, named]).unwrap();
        assert_eq!(config.otlp.is_some(), is_told, "{variable:?}");
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
fn a_collector_beyond_this_machine_is_not_spoken_to_unencrypted_without_a_word() {
    for (endpoint, is_odd) in [
        ("http://otlp.example.org:4318", true),
        ("http://10.0.0.5:4318", true),
        ("http://localhost:4318", false),
        ("http://[::1]:4318", false),
        ("https://otlp.example.org", false),
    ] {
        let table = format!("[telemetry.otlp]\nendpoint = \"{endpoint}\"\n");
        let warnings = read_with(&table, &[]).unwrap().warnings;
        assert_eq!(!warnings.is_empty(), is_odd, "{endpoint}: {warnings:?}");
    }
}
