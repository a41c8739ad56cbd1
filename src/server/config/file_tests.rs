//! Configuration files as people write them, with every mistake they make.

use super::*;

fn read(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
    parse("lockkeeper.toml", text, &environment).map_err(|why| why.to_string())
}

#[test]
fn the_whole_file_is_read() {
    let config = read(
        r#"
listen = "127.0.0.1:9000"
[[group]]
name = "orders"
kind = "redlock"
environment = "production"
keys = ["lock:*", "redlock:*"]
command_timeout = "200ms"
node = [
  { name = "a", url = "redis://10.0.0.1:6379" },
  { name = "b", url = "rediss://user:${REDIS_PASSWORD}@10.0.0.2:6380/0" },
  { url = "redis://10.0.0.3:6379" },
]
"#,
    )
    .unwrap();
    let group = &config.groups[0];
    assert_eq!(config.listen.port(), 9000);
    assert_eq!(
        (group.kind, group.environment),
        (GroupKind::Redlock, Environment::Production)
    );
    assert_eq!(group.command_timeout, Duration::from_millis(200));
    assert_eq!(group.nodes[1].url.address(), "10.0.0.2:6380");
    assert_eq!(group.nodes[2].name, "c");
    assert!(group.keys_are_explicit);
}

#[test]
fn every_mistake_names_its_line_and_column() {
    let group = |rest: &str| format!("[[group]]\nname = \"g\"\n{rest}");
    let one = "node = [{ url = \"redis://h:1\" }]";
    for (text, says) in [
        (
            "listen = 5".to_owned(),
            "lockkeeper.toml:1:10: invalid type",
        ),
        (
            "listen = \"here\"".to_owned(),
            "lockkeeper.toml:1:10: `listen` must be an address",
        ),
        (
            "colour = 1".to_owned(),
            "lockkeeper.toml:1:1: unknown field `colour`",
        ),
        ("listen = ".to_owned(), "lockkeeper.toml:1:"),
        (String::new(), "lockkeeper.toml:1:1: there is no [[group]]"),
        (
            group("nodes = []"),
            "lockkeeper.toml:3:1: unknown field `nodes`",
        ),
        (
            group("kind = \"ring\"\nnode = []"),
            "lockkeeper.toml:3:8: unknown variant `ring`",
        ),
        (
            group("node = []"),
            "lockkeeper.toml:3:8: the group has no node",
        ),
        (
            group("node = [{ url = \"http://h:1\" }]"),
            "lockkeeper.toml:3:17: \"http://\" is not Redis",
        ),
        (
            group("node = [{ url = \"redis://${NOPE}@h\" }]"),
            "lockkeeper.toml:3:17: the environment variable NOPE is not set",
        ),
        (
            group("node = [{ url = \"redis://${NOPE\" }]"),
            "lockkeeper.toml:3:17: `${` is not closed",
        ),
        (
            group("node = [{ url = \"redis://h\", password_file = \"/nope\" }]"),
            "lockkeeper.toml:3:46: the password file",
        ),
        (
            group(
                "node = [\n { name = \"a\", url = \"redis://h:1\" },\n { name = \"a\", url = \"redis://h:2\" }]",
            ),
            "lockkeeper.toml:5:2: the node \"a\" is there twice",
        ),
        (
            group("node = [\n { url = \"redis://h:1\" },\n { url = \"redis://h:1\" }]"),
            "lockkeeper.toml:5:10: h:1 is there twice in this group",
        ),
        (
            format!("{}\n{}", group(one), group(one)),
            "lockkeeper.toml:5:8: the group \"g\" is there twice",
        ),
        (
            group(&format!(
                "kind = \"standalone\"\n{}",
                one.replace(']', ", { url = \"redis://h:2\" }]")
            )),
            "lockkeeper.toml:3:8: a standalone group",
        ),
        (
            group(&format!("keys = []\n{one}")),
            "lockkeeper.toml:3:8: `keys` is empty",
        ),
        (
            group(&format!("keys = [\"\"]\n{one}")),
            "lockkeeper.toml:3:9: an empty pattern",
        ),
        (
            group(&format!("command_timeout = \"soon\"\n{one}")),
            "lockkeeper.toml:3:19: this is not a span of time",
        ),
        (
            group(&format!("command_timeout = \"-1s\"\n{one}")),
            "lockkeeper.toml:3:19: this is not a span of time",
        ),
        (
            format!("[[group]]\nname = \"a/b\"\n{one}"),
            "lockkeeper.toml:2:8: a name has",
        ),
    ] {
        let why = read(&text).unwrap_err();
        assert!(
            why.starts_with(says),
            "{text}\n  gave  {why}\n  not   {says}"
        );
    }
}

#[test]
fn an_even_number_of_redlock_nodes_is_pointed_out_with_its_place() {
    let config = read(
        "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }, { url = \"redis://h:2\" }]",
    )
    .unwrap();
    assert!(
        config.warnings[0].starts_with("lockkeeper.toml:3:8: group \"g\" has 2 Redlock nodes"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn no_mistake_repeats_a_secret() {
    let why = read(
        "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://:${REDIS_PASSWORD}@h:notaport\" }]",
    )
    .unwrap_err();
    assert!(!why.contains("s3cret"), "{why}");
}
