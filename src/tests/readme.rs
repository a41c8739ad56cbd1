//! What the README and the pages beside it show works as it stands there, and their links lead somewhere.

use std::path::Path;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::access::SessionsConfig;
use lockkeeper::server::config::{
    AuditConfig, LimitsConfig, LockingConfig, LogFormat, StorageConfig, WebhookConfig, parse,
};

use crate::support::certificates::{Authority, text};

#[test]
fn the_configuration_that_is_shown_is_accepted() {
    let page = include_str!("../../.github/configuration.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("redis");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let example = example.replace("/run/secrets/redis", secret.to_str().unwrap());
    let environment = |name: &str| match name {
        "REDIS_PASSWORD" => Some("s3cret".to_owned()),
        "WEBHOOK_SECRET" => Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        _ => None,
    };
    let config =
        lockkeeper::server::config::parse("lockkeeper.toml", &example, &environment).unwrap();
    assert_eq!(
        config
            .groups
            .iter()
            .map(|group| group.nodes.len())
            .collect::<Vec<_>>(),
        [3, 1]
    );
    assert!(config.warnings.is_empty());
    // What it shows as defaults are the defaults.
    assert_eq!(config.log_format, LogFormat::default());
    let shown = &config.webhooks[0];
    let usual = WebhookConfig {
        groups: shown.groups.clone(),
        ..WebhookConfig::new("pager", shown.url.clone(), shown.secret.clone())
    };
    assert_eq!(format!("{shown:?}"), format!("{usual:?}"));
    assert_eq!(config.limits, LimitsConfig::default());
    assert_eq!(config.audit, AuditConfig::default());
    assert_eq!(config.storage, StorageConfig::default());
    let shown = &config.groups[0];
    let usual = LockingConfig::new(shown.kind);
    assert_eq!(format!("{:?}", shown.locking), format!("{usual:?}"));
}

#[test]
fn who_may_come_in_is_read_as_it_is_shown() {
    let page = include_str!("../../.github/configuration.md");
    let shown = page.split("```toml\n").nth(2).unwrap();
    let shown = shown.split("```").next().unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    let groups = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let text = format!("{groups}{}", shown.replace("sha256:…", &digest));
    let hash = lockkeeper::server::access::password::hash("correct horse").unwrap();
    let environment = |name: &str| (name == "ALICE_HASH").then(|| hash.clone());
    let config = lockkeeper::server::config::parse("c", &text, &environment).unwrap();
    assert_eq!(
        (config.access.users.len(), config.access.tokens.len()),
        (1, 1)
    );
    // The numbers that it shows as defaults are the defaults.
    assert_eq!(config.access.sessions, SessionsConfig::default());
}

#[test]
fn the_other_kinds_of_groups_that_are_shown_are_accepted() {
    let page = include_str!("../../.github/configuration.md");
    let example = page.split("```toml\n").nth(3).unwrap();
    let example = example.split("```").next().unwrap();
    let authority = Authority::new();
    let console = authority.vouch_for("console");
    let secret = authority.file().with_file_name("redis");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let example = example
        .replace("/run/secrets/redis", text(&secret))
        .replace("/run/secrets/ca.pem", text(&authority.file()))
        .replace("/run/secrets/console.pem", text(&console.certificate))
        .replace("/run/secrets/console.key", text(&console.key));
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
    let config = parse("lockkeeper.toml", &example, &environment).unwrap();
    let of = |n: usize| (config.groups[n].name.as_str(), config.groups[n].kind);
    assert_eq!(of(0), ("payments", GroupKind::Sentinel));
    assert_eq!(of(1), ("carts", GroupKind::Cluster));
    assert_eq!(of(2), ("sessions.0", GroupKind::Standalone));
    assert_eq!(of(3), ("sessions.4", GroupKind::Standalone));
    assert!(config.warnings.is_empty());
}

#[test]
fn the_short_configuration_of_the_readme_is_accepted() {
    let readme = include_str!("../../README.md");
    let example = readme.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
    let config = parse("lockkeeper.toml", example, &environment).unwrap();
    let kinds: Vec<_> = config.groups.iter().map(|group| group.kind).collect();
    assert_eq!(kinds, [GroupKind::Redlock, GroupKind::Sentinel]);
    assert!(config.warnings.is_empty());
}

#[test]
fn every_link_of_the_readme_and_the_pages_beside_it_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = std::fs::read_dir(root.join(".github")).unwrap();
    let beside = beside.map(|entry| entry.unwrap().path());
    let pages = beside.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut links = 0;
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        let targets = text.split("](").skip(1).chain(text.split("src=\"").skip(1));
        for target in targets {
            let target = target.split([')', '"', '#']).next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                let file = page.parent().unwrap().join(target);
                assert!(file.exists(), "{}: {target}", page.display());
                links += 1;
            }
        }
    }
    assert!(links > 20, "{links}");
}
