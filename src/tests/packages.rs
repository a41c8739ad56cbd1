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
    let commented = text.split("# [storage]").nth(1).unwrap();
    let lines = commented.lines().map(|line| line.trim_start_matches("# "));
    let lines = lines.filter(|line| *line != "#");
    let switched_on = format!("{text}\n[storage]{}", lines.collect::<Vec<_>>().join("\n"));
    let config = parse("lockkeeper.toml", &switched_on, &|_| None).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(config.storage != lockkeeper::server::config::StorageConfig::default());
    assert!(package("compose.yaml").contains("\n  postgres:\n"));
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

/// What stands behind `name=` in the systemd unit.
fn settings<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let setting = |line: &'a str| line.strip_prefix(name)?.strip_prefix('=');
    unit.lines().filter_map(setting).collect()
}

#[test]
fn the_systemd_unit_reads_the_configuration_where_it_is_edited_and_reads_it_again() {
    let unit = package("lockkeeper.service");
    for copies in ["LoadCredential", "LoadCredentialEncrypted", "DynamicUser"] {
        assert!(settings(&unit, copies).is_empty(), "{copies}");
    }
    let file = "/etc/lockkeeper/lockkeeper.toml";
    let start = format!("/usr/bin/lockkeeper serve --config {file}");
    assert_eq!(settings(&unit, "ExecStart"), [start]);
    assert_eq!(settings(&unit, "ExecReload"), ["/bin/kill -HUP $MAINPID"]);
    assert_eq!(settings(&unit, "ReadOnlyPaths"), ["/etc/lockkeeper"]);
    let user = settings(&unit, "User");
    assert_eq!(user, settings(&unit, "Group"));
    assert!(package("lockkeeper.sysusers").contains(&format!("\nu {} ", user[0])));
    // The readable file of secrets is the group's, and of nobody else.
    assert!(unit.contains("-o root -g lockkeeper -m 0640"), "{unit}");
}

#[test]
fn the_systemd_unit_bounds_what_the_console_takes_and_leaves_no_memory_behind() {
    let unit = package("lockkeeper.service");
    assert_eq!(settings(&unit, "LimitCORE"), ["0"]);
    assert_eq!(settings(&unit, "MemoryMax"), ["1G"]);
    assert_eq!(settings(&unit, "TasksMax"), ["256"]);
}

#[test]
fn systemd_knows_every_setting_of_the_unit_and_finds_little_exposed() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package/lockkeeper.service");
    let analyze = |words: &[&str]| {
        let mut command = std::process::Command::new("systemd-analyze");
        command.args(words).arg(&unit).output()
    };
    // Elsewhere than on machines with systemd, the other tests say what they can.
    let Ok(verified) = analyze(&["verify", "--man=no"]) else {
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    // It is not installed here.
    let odd = said
        .lines()
        .filter(|line| !line.contains("/usr/bin/lockkeeper is not executable"));
    let odd: Vec<&str> = odd
        .filter(|line| line.contains("lockkeeper.service"))
        .collect();
    assert!(odd.is_empty(), "{odd:#?}");
    // 2.0 of 10.
    let exposed = analyze(&["security", "--offline=true", "--threshold=20"]).unwrap();
    assert!(
        exposed.status.success(),
        "{}",
        String::from_utf8_lossy(&exposed.stdout)
    );
}

#[test]
fn the_volume_of_the_chart_has_room_for_all_of_the_audit() {
    let values = package("helm/values.yaml");
    let size = values
        .split("\n  size: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let gigabytes: u64 = size.strip_suffix("Gi").unwrap().parse().unwrap();
    // What is written meanwhile is beside the file until it is in it.
    let most = lockkeeper::server::config::StorageConfig::default().max_size;
    assert!(gigabytes << 30 > most + most / 4, "{size} for {most} bytes");
}

#[test]
fn the_chart_asks_for_what_it_cannot_know_and_shows_no_plain_digest_of_secrets() {
    let ingress = package("helm/templates/ingress.yaml");
    assert!(
        ingress.contains("fail \"ingress.trustedFrom is needed"),
        "{ingress}"
    );
    let names = package("helm/templates/_names.tpl");
    assert!(
        names.contains("required \"image.repository is needed"),
        "{names}"
    );
    assert!(names.contains("include \"lockkeeper.salt\" ."), "{names}");
    let deployment = package("helm/templates/deployment.yaml");
    assert!(!deployment.contains("sha256sum"), "{deployment}");
    for kind in ["NetworkPolicy", "PodDisruptionBudget"] {
        let template = package(&format!("helm/templates/{}.yaml", kind.to_lowercase()));
        assert!(
            template.contains(&format!("\nkind: {kind}\n")),
            "{template}"
        );
        // Opened and closed as often.
        let count = |word: &str| template.matches(word).count();
        let opened = count("{{- if ") + count("{{- with ");
        assert_eq!(opened, template.matches("end }}").count(), "{template}");
    }
}

#[test]
fn what_the_ingress_adds_to_the_configuration_is_accepted() {
    let names = package("helm/templates/_names.tpl");
    let added = names
        .split("[sign_in]\n")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let added = added.replace(
        "{{ .Values.ingress.trustedFrom | toJson }}",
        "[\"10.244.0.0/16\"]",
    );
    let hash = lockkeeper::server::access::password::hash("correct horse").unwrap();
    let user = format!("[[user]]\nname = \"ada\"\nrole = \"admin\"\npassword_hash = \"{hash}\"");
    let group = "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let config = parse(
        "l.toml",
        &format!("{group}\n[sign_in]\n{added}\n{user}"),
        &|_| None,
    )
    .unwrap();
    assert_eq!(config.access.proxies.len(), 1);
}
