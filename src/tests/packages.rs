//! The files of `scripts/package` match the program: its version, configuration and options.

use std::path::Path;

use lockkeeper::server::config::parse;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read_package_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts/package")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_configuration_of_the_compose_file_is_valid_and_names_its_servers() {
    let config = parse(
        "lockkeeper.toml",
        &read_package_file("lockkeeper.toml"),
        &|_| None,
    )
    .unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let compose = read_package_file("compose.yaml");
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
fn shared_storage_can_be_enabled_in_the_compose_file() {
    let text = read_package_file("lockkeeper.toml");
    let commented = text.split("# [storage]").nth(1).unwrap();
    let lines = commented.lines().map(|line| line.trim_start_matches("# "));
    let lines = lines.filter(|line| *line != "#");
    let enabled = format!("{text}\n[storage]{}", lines.collect::<Vec<_>>().join("\n"));
    let config = parse("lockkeeper.toml", &enabled, &|_| None).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(config.storage != lockkeeper::server::config::StorageConfig::default());
    assert!(read_package_file("compose.yaml").contains("\n  postgres:\n"));
}

#[test]
fn the_configuration_of_the_chart_is_valid() {
    let values = read_package_file("helm/values.yaml");
    let indented = values.split("config: |\n").nth(1).unwrap();
    let lines = indented
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "));
    let text: String = lines
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    let hash = lockkeeper::server::access::password::hash_password("correct horse").unwrap();
    let environment = |name: &str| (name == "ADMIN_PASSWORD_HASH").then(|| hash.clone());
    let config = parse("values.yaml", &text, &environment).unwrap();
    assert_eq!(config.groups[0].name, "default");
    assert!(
        !config.access.is_auth_disabled(),
        "the service requires sign-in"
    );
}

#[test]
fn every_package_has_the_version_of_the_program() {
    let chart = read_package_file("helm/Chart.yaml");
    assert!(
        chart.contains(&format!("\nversion: {VERSION}\n")),
        "{chart}"
    );
    assert!(
        chart.contains(&format!("\nappVersion: \"{VERSION}\"\n")),
        "{chart}"
    );
    for text in [
        include_str!("../../docs/installation.md"),
        include_str!("../../.github/CHANGELOG.md"),
    ] {
        assert!(text.contains(VERSION));
    }
}

/// The values of a setting in the systemd unit.
fn settings_of_unit<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let setting = |line: &'a str| line.strip_prefix(name)?.strip_prefix('=');
    unit.lines().filter_map(setting).collect()
}

#[test]
fn the_systemd_unit_reads_and_reloads_the_configuration_in_place() {
    let unit = read_package_file("lockkeeper.service");
    for copies in ["LoadCredential", "LoadCredentialEncrypted", "DynamicUser"] {
        assert!(settings_of_unit(&unit, copies).is_empty(), "{copies}");
    }
    let file = "/etc/lockkeeper/lockkeeper.toml";
    let start = format!("/usr/bin/lockkeeper serve --config {file}");
    assert_eq!(settings_of_unit(&unit, "ExecStart"), [start]);
    assert_eq!(
        settings_of_unit(&unit, "ExecReload"),
        ["/bin/kill -HUP $MAINPID"]
    );
    assert_eq!(
        settings_of_unit(&unit, "ReadOnlyPaths"),
        ["/etc/lockkeeper"]
    );
    let user = settings_of_unit(&unit, "User");
    assert_eq!(user, settings_of_unit(&unit, "Group"));
    assert!(read_package_file("lockkeeper.sysusers").contains(&format!("\nu {} ", user[0])));
    // The unit's installation notes give the secrets file to root and group lockkeeper, mode 0640.
    assert!(unit.contains("-o root -g lockkeeper -m 0640"), "{unit}");
}

#[test]
fn the_systemd_unit_limits_memory_and_tasks_and_disables_core_dumps() {
    let unit = read_package_file("lockkeeper.service");
    assert_eq!(settings_of_unit(&unit, "LimitCORE"), ["0"]);
    assert_eq!(settings_of_unit(&unit, "MemoryMax"), ["1G"]);
    assert_eq!(settings_of_unit(&unit, "TasksMax"), ["256"]);
}

#[test]
fn systemd_accepts_every_setting_of_the_unit_and_rates_its_exposure_low() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package/lockkeeper.service");
    let analyze = |words: &[&str]| {
        let mut command = std::process::Command::new("systemd-analyze");
        command.args(words).arg(&unit).output()
    };
    // Without systemd on this machine, only the other tests check the unit.
    let Ok(verified) = analyze(&["verify", "--man=no"]) else {
        return;
    };
    let messages = String::from_utf8_lossy(&verified.stderr);
    // The program is not installed on this machine.
    let warnings = messages
        .lines()
        .filter(|line| !line.contains("/usr/bin/lockkeeper is not executable"));
    let warnings: Vec<&str> = warnings
        .filter(|line| line.contains("lockkeeper.service"))
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    // The threshold 20 is an exposure level of 2.0 of 10.
    let exposed = analyze(&["security", "--offline=true", "--threshold=20"]).unwrap();
    assert!(
        exposed.status.success(),
        "{}",
        String::from_utf8_lossy(&exposed.stdout)
    );
}

#[test]
fn the_volume_of_the_chart_is_large_enough_for_the_storage_and_its_wal() {
    let values = read_package_file("helm/values.yaml");
    let size = values
        .split("\n  size: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let gigabytes: u64 = size.strip_suffix("Gi").unwrap().parse().unwrap();
    // New pages are in the write-ahead log until a checkpoint moves them into the database file.
    let config = lockkeeper::server::config::StorageConfig::default();
    let max_size = config.max_size + config.history_max_size;
    assert!(
        gigabytes << 30 > max_size + max_size / 4,
        "{size} for {max_size} bytes"
    );
}

#[test]
fn the_chart_requires_values_without_defaults_and_contains_no_unsalted_digest_of_secrets() {
    let ingress = read_package_file("helm/templates/ingress.yaml");
    assert!(
        ingress.contains("fail \"ingress.trustedProxies is required"),
        "{ingress}"
    );
    let names = read_package_file("helm/templates/_names.tpl");
    assert!(
        names.contains("required \"image.repository is required"),
        "{names}"
    );
    assert!(names.contains("include \"lockkeeper.salt\" ."), "{names}");
    let deployment = read_package_file("helm/templates/deployment.yaml");
    assert!(!deployment.contains("sha256sum"), "{deployment}");
    for kind in ["NetworkPolicy", "PodDisruptionBudget"] {
        let template = read_package_file(&format!("helm/templates/{}.yaml", kind.to_lowercase()));
        assert!(
            template.contains(&format!("\nkind: {kind}\n")),
            "{template}"
        );
        // Every block that is opened is closed.
        let count = |word: &str| template.matches(word).count();
        let opened = count("{{- if ") + count("{{- with ");
        assert_eq!(opened, template.matches("end }}").count(), "{template}");
    }
}

#[test]
fn the_configuration_that_the_ingress_adds_is_valid() {
    let names = read_package_file("helm/templates/_names.tpl");
    let added = names
        .split("[sign_in]\n")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let added = added.replace(
        "{{ .Values.ingress.trustedProxies | toJson }}",
        "[\"10.244.0.0/16\"]",
    );
    let hash = lockkeeper::server::access::password::hash_password("correct horse").unwrap();
    let user = format!("[[user]]\nname = \"ada\"\nrole = \"admin\"\npassword_hash = \"{hash}\"");
    let group = "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let config = parse(
        "l.toml",
        &format!("{group}\n[sign_in]\n{added}\n{user}"),
        &|_| None,
    )
    .unwrap();
    assert_eq!(config.access.trusted_proxies.len(), 1);
}
