//! What the README shows works as it stands there.

use lockkeeper::server::config::{LimitsConfig, LockingConfig};

#[test]
fn the_configuration_in_the_readme_is_accepted() {
    let readme = include_str!("../../README.md");
    let example = readme
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
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
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
    // The numbers that it shows as defaults are the defaults.
    assert_eq!(config.limits, LimitsConfig::default());
    let shown = &config.groups[0];
    let usual = LockingConfig::new(shown.kind);
    assert_eq!(format!("{:?}", shown.locking), format!("{usual:?}"));
}
