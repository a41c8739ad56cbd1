//! The configuration file that is found in the working directory.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::{Shell, output_of};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_file_that_other_users_could_have_written_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let file = shell.path("lockkeeper.toml");
    let port = nodes.0[0].port();
    let text =
        format!("[[group]]\nname = \"here\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n");
    std::fs::write(&file, text).unwrap();
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    let list = async || output_of(shell.bare_command(&["list"])).await;
    for writable in [0o646, 0o664] {
        mode(writable);
        let output = list().await;
        assert_eq!(output.status, 2, "{writable:o} {output:?}");
        assert!(
            output.stderr.contains("writable by others"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("--config"), "{}", output.stderr);
    }
    mode(0o644);
    let output = list().await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stderr.contains("configuration: lockkeeper.toml"),
        "{}",
        output.stderr
    );
    // Only root may change the owner of a file.
    if nix::unistd::geteuid().is_root() {
        chown(&file, Some(1234), None).unwrap();
        let output = list().await;
        assert_eq!(output.status, 2, "{output:?}");
        assert!(
            output.stderr.contains("its owner is user 1234"),
            "{}",
            output.stderr
        );
    }
    // A file that is named with `--config` is trusted.
    mode(0o646);
    let named = output_of(shell.bare_command(&["list", "--config", "lockkeeper.toml"])).await;
    assert_eq!(named.status, 0, "{named:?}");
    assert!(!named.stderr.contains("configuration:"), "{}", named.stderr);
    let other = shell.path("other.toml");
    std::fs::rename(&file, &other).unwrap();
    symlink(&other, &file).unwrap();
    assert_eq!(list().await.status, 2);
}
