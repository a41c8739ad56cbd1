//! The examples in the README and the documentation are valid, and their links are not broken.

use std::path::Path;

use lockkeeper::domain::GroupKind;
use lockkeeper::server::config::access::SessionsConfig;
use lockkeeper::server::config::{
    AuditConfig, LimitsConfig, LockingConfig, LogFormat, StorageConfig, WebhookConfig, parse,
};

use crate::support::certificates::{CertificateAuthority, path_str};

#[test]
fn the_example_in_the_configuration_reference_is_valid_and_shows_the_defaults() {
    let page = include_str!("../../docs/configuration.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("redis");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let example = example.replace("/run/secrets/redis", secret.to_str().unwrap());
    let environment = |name: &str| match name {
        "REDIS_PASSWORD" | "PG_PASSWORD" => Some("s3cret".to_owned()),
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
        [3, 1, 0, 0, 0]
    );
    let kinds: Vec<GroupKind> = config.groups.iter().map(|group| group.kind).collect();
    assert_eq!(
        kinds[2..],
        [GroupKind::Zookeeper, GroupKind::Etcd, GroupKind::Postgres]
    );
    assert!(config.warnings.is_empty());
    // The values that the page calls defaults are the defaults.
    assert_eq!(config.log_format, LogFormat::default());
    let shown = &config.webhooks[0];
    let default = WebhookConfig {
        groups: shown.groups.clone(),
        ..WebhookConfig::new("pager", shown.url.clone(), shown.secret.clone().unwrap())
    };
    assert_eq!(format!("{shown:?}"), format!("{default:?}"));
    assert_eq!(config.limits, LimitsConfig::default());
    assert_eq!(config.audit, AuditConfig::default());
    assert_eq!(config.storage, StorageConfig::default());
    let shown = &config.groups[0];
    let default = LockingConfig::new(shown.kind);
    assert_eq!(format!("{:?}", shown.locking), format!("{default:?}"));
}

#[test]
fn the_example_of_users_and_tokens_is_valid() {
    let page = include_str!("../../docs/sign-in.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    let groups = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n";
    let text = format!("{groups}{}", example.replace("sha256:…", &digest));
    let hash = lockkeeper::server::access::password::hash_password("correct horse").unwrap();
    let environment = |name: &str| (name == "ALICE_HASH").then(|| hash.clone());
    let config = lockkeeper::server::config::parse("c", &text, &environment).unwrap();
    assert_eq!(
        (config.access.users.len(), config.access.tokens.len()),
        (1, 1)
    );
    // The values that the page calls defaults are the defaults.
    assert_eq!(config.access.sessions, SessionsConfig::default());
}

#[test]
fn the_examples_of_redis_topologies_are_valid() {
    let page = include_str!("../../docs/topologies.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let authority = CertificateAuthority::new();
    let console = authority.issue("console");
    let secret = authority.ca_file().with_file_name("redis");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let example = example
        .replace("/run/secrets/redis", path_str(&secret))
        .replace("/run/secrets/ca.pem", path_str(&authority.ca_file()))
        .replace("/run/secrets/console.pem", path_str(&console.certificate))
        .replace("/run/secrets/console.key", path_str(&console.key));
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
    let config = parse("lockkeeper.toml", &example, &environment).unwrap();
    let name_and_kind = |n: usize| (config.groups[n].name.as_str(), config.groups[n].kind);
    assert_eq!(name_and_kind(0), ("payments", GroupKind::Sentinel));
    assert_eq!(name_and_kind(1), ("carts", GroupKind::Cluster));
    assert_eq!(name_and_kind(2), ("sessions.0", GroupKind::Standalone));
    assert_eq!(name_and_kind(3), ("sessions.4", GroupKind::Standalone));
    assert!(config.warnings.is_empty());
}

#[test]
fn the_configuration_in_the_readme_is_valid() {
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
fn every_relative_link_of_the_documentation_points_to_an_existing_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directories = [".github", "docs"].map(|name| std::fs::read_dir(root.join(name)).unwrap());
    let files = directories.into_iter().flatten();
    let files = files.map(|entry| entry.unwrap().path());
    let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut links = 0;
    for page in pages.chain([root.join("README.md"), root.join("src/README.md")]) {
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
    assert!(links > 60, "{links}");
}
