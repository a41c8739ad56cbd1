//! A build without OpenTelemetry rejects a configuration that enables it and warns if the
//! environment does.

use lockkeeper::server::config::parse;

const GROUP: &str = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";

#[test]
fn a_configuration_with_opentelemetry_is_rejected() {
    let text = format!("[telemetry.otlp]\n{GROUP}");
    let error = parse("c", &text, &|_| None).unwrap_err().to_string();
    assert!(
        error.starts_with("c:1:1: this build of lockkeeper does not support OpenTelemetry"),
        "{error}"
    );
}

#[test]
fn an_environment_variable_for_opentelemetry_is_a_warning() {
    let name = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let environment =
        |variable: &str| (variable == name).then(|| "http://localhost:4318".to_owned());
    let config = parse("c", GROUP, &environment).unwrap();
    assert_eq!(config.otlp, None);
    let warning = &config.warnings[0];
    assert!(warning.contains(name) && warning.contains("does not support OpenTelemetry"));
}
