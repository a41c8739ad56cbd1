//! A build without OpenTelemetry says so where a configuration or the environment asks for it.

use lockkeeper::server::config::parse;

const GROUP: &str = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";

#[test]
fn a_configuration_that_asks_for_opentelemetry_is_told_that_it_is_not_built_in() {
    let text = format!("[telemetry.otlp]\n{GROUP}");
    let why = parse("c", &text, &|_| None).unwrap_err().to_string();
    assert!(
        why.starts_with("c:1:1: this lockkeeper was built without OpenTelemetry"),
        "{why}"
    );
}

#[test]
fn an_environment_that_asks_for_it_is_a_warning_and_keeps_nobody_from_starting() {
    let name = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let environment = |asked: &str| (asked == name).then(|| "http://localhost:4318".to_owned());
    let config = parse("c", GROUP, &environment).unwrap();
    assert_eq!(config.otlp, None);
    let warning = &config.warnings[0];
    assert!(warning.contains(name) && warning.contains("without OpenTelemetry"));
}
