//! Tokens are secrets: where they come from, where they go, and where they are never seen.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;

use super::{Shell, end_of, ended, nothing_is_left};
use crate::support::redis_nodes::RedisNodes;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), more].concat()
}

#[tokio::test]
async fn a_token_goes_into_a_new_file_of_its_own_or_nowhere() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let acquire = ["--ttl", "1m", "--json", "--token-file"];
    let taken = shell
        .type_in("acquire", &with(&[&acquire[..], &["token"]].concat()))
        .await;
    assert_eq!(taken.status, 0, "{taken:?}");
    assert_eq!(taken.json()["token_file"], "token");
    let token = shell.read("token");
    assert!(!taken.out.contains(token.trim()), "{taken:?}");
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
        let words = ["default", "lock:other", "--ttl", "1m", "--token-file", file];
        let refused = shell.type_in("acquire", &words).await;
        assert_eq!(refused.status, 2, "{file}: {refused:?}");
    }
    assert_eq!(shell.read("precious"), "precious");
    assert!(!shell.path("nothing").exists());
    assert_eq!(
        nodes.get(0, b"lock:other").await,
        None,
        "it is taken only if it can be handed out"
    );
    let held = shell
        .type_in("acquire", &with(&["--ttl", "1m", "--token-file", "late"]))
        .await;
    assert_eq!(held.status, 75);
    let files = std::fs::read_dir(shell.path(".")).unwrap();
    assert_eq!(files.count(), 4, "nothing half-written stays");
}

#[tokio::test]
async fn a_lock_whose_token_nobody_takes_is_released_again() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let mut acquire = shell.command("acquire", &with(&["--ttl", "1m"]));
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let refused = end_of(acquire.stdout(Stdio::from(full))).await;
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("released again"), "{refused:?}");
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn no_process_list_shows_a_token() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let taken = shell.type_in("acquire", &with(&["--ttl", "1m"])).await;
    let token = taken.fact("token");
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
    let extended = ended(extend).await;
    assert_eq!(extended.status, 0, "{extended:?}");
    let shown = shell.types("list --log debug").await;
    assert!(
        !shown.err.contains(secret) && !shown.out.contains(secret),
        "{shown:?}"
    );
}
