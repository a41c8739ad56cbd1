//! The files of `scripts/package` fit the program: its version, its configuration, its options.

use std::path::Path;

use lockkeeper::server::config::parse;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn package(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/package")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_configuration_of_the_compose_file_is_accepted_and_names_its_servers() {
    let config = parse("lockkeeper.toml", &package("lockkeeper.toml"), &|_| None).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let compose = package("compose.yaml");
    let nodes = &config.groups[0].nodes;
    assert_eq!(nodes.len(), 5);
    for node in nodes {
        let host = node.url.address().trim_end_matches(":6379").to_owned();
        assert!(
            compose.contains(&format!("  {host}: {{ <<: *redis")),
            "{host}"
        );
    }
}

#[test]
fn what_several_consoles_share_can_be_switched_on_in_the_compose_file() {
    let text = package("lockkeeper.toml");
    let commented = text.split("# [state]").nth(1).unwrap();
    let lines = commented.lines().map(|line| line.trim_start_matches("# "));
    let lines = lines.filter(|line| *line != "#");
    let switched_on = format!("{text}\n[state]{}", lines.collect::<Vec<_>>().join("\n"));
    let config = parse("lockkeeper.toml", &switched_on, &|_| None).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(config.audit != lockkeeper::server::config::AuditConfig::default());
    let address = config.state.unwrap().server.url.address();
    let host = address.trim_end_matches(":6379");
    assert!(package("compose.yaml").contains(&format!("\n  {host}: {{ <<: *redis")));
}

#[test]
fn the_configuration_of_the_chart_is_accepted() {
    let values = package("helm/values.yaml");
    let indented = values.split("config: |\n").nth(1).unwrap();
    let lines = indented
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "));
    let text: String = lines
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    let hash = lockkeeper::server::access::password::hash("correct horse").unwrap();
    let environment = |name: &str| (name == "ADMIN_PASSWORD_HASH").then(|| hash.clone());
    let config = parse("values.yaml", &text, &environment).unwrap();
    assert_eq!(config.groups[0].name, "default");
    assert!(
        !config.access.is_open(),
        "whoever reaches the service has to sign in"
    );
}

#[test]
fn every_package_is_of_this_version() {
    let chart = package("helm/Chart.yaml");
    assert!(
        chart.contains(&format!("\nversion: {VERSION}\n")),
        "{chart}"
    );
    assert!(
        chart.contains(&format!("\nappVersion: \"{VERSION}\"\n")),
        "{chart}"
    );
    for text in [
        include_str!("../../README.md"),
        include_str!("../../.github/CHANGELOG.md"),
    ] {
        assert!(text.contains(VERSION));
    }
}
