//! Tokens are secrets: how they are passed, where they are written and where they must not appear.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;

use super::{Shell, no_lock_left, output_of, wait_for_output};
use crate::support::redis_nodes::RedisNodes;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), more].concat()
}

#[tokio::test]
async fn a_token_is_written_only_to_a_new_private_file() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let acquire = ["--ttl", "1m", "--json", "--token-file"];
    let acquired = shell
        .run("acquire", &with(&[&acquire[..], &["token"]].concat()))
        .await;
    assert_eq!(acquired.status, 0, "{acquired:?}");
    assert_eq!(acquired.json()["token_file"], "token");
    let token = shell.read("token");
    assert!(!acquired.stdout.contains(token.trim()), "{acquired:?}");
    let mode = std::fs::metadata(shell.path("token"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        nodes.get(0, LOCK[1].as_bytes()).await.unwrap(),
        token.trim().as_bytes()
    );

    std::fs::write(shell.path("precious"), "precious").unwrap();
    symlink(shell.path("precious"), shell.path("link")).unwrap();
    symlink(shell.path("nothing"), shell.path("dangling")).unwrap();
    for file in [
        "token",
        "precious",
        "link",
        "dangling",
        "no/such/folder",
        ".",
    ] {
        let arguments = ["default", "lock:other", "--ttl", "1m", "--token-file", file];
        let rejected = shell.run("acquire", &arguments).await;
        assert_eq!(rejected.status, 2, "{file}: {rejected:?}");
    }
    assert_eq!(shell.read("precious"), "precious");
    assert!(!shell.path("nothing").exists());
    assert_eq!(
        nodes.get(0, b"lock:other").await,
        None,
        "the lock is acquired only if its token can be written"
    );
    let held = shell
        .run("acquire", &with(&["--ttl", "1m", "--token-file", "late"]))
        .await;
    assert_eq!(held.status, 75);
    let files = std::fs::read_dir(shell.path(".")).unwrap();
    assert_eq!(files.count(), 4, "no partial file is left");
}

#[tokio::test]
async fn a_lock_is_released_if_its_token_cannot_be_written() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let mut acquire = shell.command("acquire", &with(&["--ttl", "1m"]));
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let rejected = output_of(acquire.stdout(Stdio::from(full))).await;
    assert_eq!(rejected.status, 1);
    assert!(
        rejected.stderr.contains("The lock was released."),
        "{rejected:?}"
    );
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn no_process_list_shows_a_token() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let acquired = shell.run("acquire", &with(&["--ttl", "1m"])).await;
    let token = acquired.field("token");
    let extend = with(&["--ttl", "1m", "--token-file", "-"]);
    let mut extend = shell
        .command("extend", &extend)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let line = std::fs::read(format!("/proc/{}/cmdline", extend.id().unwrap())).unwrap();
    let secret = token.rsplit(':').next().unwrap();
    assert!(!String::from_utf8_lossy(&line).contains(secret));
    let mut stdin = extend.stdin.take().unwrap();
    stdin
        .write_all(format!("{token}\r\n").as_bytes())
        .await
        .unwrap();
    drop(stdin);
    let extended = wait_for_output(extend).await;
    assert_eq!(extended.status, 0, "{extended:?}");
    let shown = shell.run_line("list --log debug").await;
    assert!(
        !shown.stderr.contains(secret) && !shown.stdout.contains(secret),
        "{shown:?}"
    );
}
