//! The command line as people type it, mistakes included.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::console::Person;

fn lockkeeper(arguments: &[&str], folder: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", folder)
        .output()
        .unwrap()
}

fn complaint(output: &Output) -> (i32, String) {
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_mistake_in_the_configuration_is_told_with_its_place_and_ends_with_status_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("lockkeeper.toml"),
        "listen = \"127.0.0.1:0\"\n[[group]]\nnam = \"x\"\n",
    )
    .unwrap();
    for arguments in [&["serve"][..], &["serve", "--config", "lockkeeper.toml"]] {
        let (status, said) = complaint(&lockkeeper(arguments, folder.path()));
        assert_eq!(status, 2, "{said}");
        assert!(
            said.starts_with("lockkeeper: lockkeeper.toml:3:1: unknown field `nam`"),
            "{said}"
        );
    }
    let (status, said) = complaint(&lockkeeper(
        &["serve", "--config", "nowhere.toml"],
        folder.path(),
    ));
    assert_eq!(
        (
            status,
            said.starts_with("lockkeeper: nowhere.toml: cannot be read")
        ),
        (2, true),
        "{said}"
    );
}

#[test]
fn a_url_that_is_not_redis_is_refused_without_repeating_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let (status, said) = complaint(&lockkeeper(
        &["serve", "--redis", "http://me:s3cret@h:1"],
        folder.path(),
    ));
    assert_eq!(status, 2);
    assert!(
        said.contains("--redis number 1") && said.contains("not Redis") && !said.contains("s3cret"),
        "{said}"
    );
    let (status, said) = complaint(&lockkeeper(
        &["serve", "--redis", "redis://h", "--config", "x"],
        folder.path(),
    ));
    assert_eq!(status, 2);
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_port_in_use_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, said) = complaint(&lockkeeper(
        &[
            "serve",
            "--redis",
            "redis://127.0.0.1:1",
            "--listen",
            &address,
        ],
        folder.path(),
    ));
    assert_eq!(status, 1);
    assert!(
        said.contains(&format!("{address} is in use")) && said.contains("--listen"),
        "{said}"
    );
}

#[tokio::test]
async fn it_runs_from_any_folder_and_carries_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args([
            "serve",
            "--redis",
            "redis://127.0.0.1:1",
            "--listen",
            "127.0.0.1:0",
        ])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(10), said.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let person = Person::of(line.rsplit("http://").next().unwrap().parse().unwrap());
    let page = person.get("/").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("Lockkeeper") && page.text.contains("/pkg/lockkeeper.js"),
        "{}",
        page.text
    );
    assert_eq!(person.get("/no/such/page").await.status, 404);
    server.kill().await.unwrap();
}
