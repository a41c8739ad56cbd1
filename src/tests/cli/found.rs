//! The configuration file that is found in the working folder, and not named.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::{Shell, end_of};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_file_that_others_could_have_left_there_is_not_believed() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let file = shell.path("lockkeeper.toml");
    let port = nodes.0[0].port();
    let text =
        format!("[[group]]\nname = \"here\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n");
    std::fs::write(&file, text).unwrap();
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    let list = async || end_of(shell.bare(&["list"])).await;
    for writable in [0o646, 0o664] {
        mode(writable);
        let ended = list().await;
        assert_eq!(ended.status, 2, "{writable:o} {ended:?}");
        assert!(ended.err.contains("others may write it"), "{}", ended.err);
        assert!(ended.err.contains("--config"), "{}", ended.err);
    }
    mode(0o644);
    let ended = list().await;
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(
        ended.err.contains("configuration: lockkeeper.toml"),
        "{}",
        ended.err
    );
    // Only root can give a file away.
    if nix::unistd::geteuid().is_root() {
        chown(&file, Some(1234), None).unwrap();
        let ended = list().await;
        assert_eq!(ended.status, 2, "{ended:?}");
        assert!(ended.err.contains("belongs to user 1234"), "{}", ended.err);
    }
    // Named, it is believed: somebody has looked at it.
    mode(0o646);
    let named = end_of(shell.bare(&["list", "--config", "lockkeeper.toml"])).await;
    assert_eq!(named.status, 0, "{named:?}");
    assert!(!named.err.contains("configuration:"), "{}", named.err);
    let other = shell.path("other.toml");
    std::fs::rename(&file, &other).unwrap();
    symlink(&other, &file).unwrap();
    assert_eq!(list().await.status, 2);
}
