//! Files that an attacker with the service's account could plant beside the audit log: a command
//! run by root writes only to its own files and changes the owner only of files that it created.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use super::write_config;
use crate::cli::{CommandOutput, Shell, output_of};
use crate::support::redis_nodes::RedisNodes;

/// The user ID of the service. Without root, the directory keeps the owner of the test.
const SERVICE_UID: u32 = 4711;

fn runs_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A storage directory owned by the service, and a file of root beside it.
struct StorageDirectory {
    shell: Shell,
    nodes: RedisNodes,
}

impl StorageDirectory {
    async fn new() -> Self {
        let nodes = RedisNodes::start(1).await;
        let shell = Shell::new(&nodes);
        write_config(&shell.path("."), &nodes, "sqlite:state/lockkeeper.db");
        let state = shell.path("state");
        std::fs::create_dir(&state).unwrap();
        if runs_as_root() {
            chown(&state, Some(SERVICE_UID), Some(SERVICE_UID)).unwrap();
        }
        let secret = shell.path("secret");
        std::fs::write(&secret, "secret of root\n").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        Self { shell, nodes }
    }

    /// Runs a command that changes a lock, as root.
    async fn acquire(&self) -> CommandOutput {
        output_of(
            self.shell
                .bare_command(&["acquire", "orders", "lock:a", "--ttl", "1m"]),
        )
        .await
    }

    /// Asserts that the command fails with this text, acquires no lock and does not touch the
    /// secret.
    async fn assert_rejected(&self, case: &str, expected: &str) {
        let secret = self.shell.path("secret");
        let before = std::fs::metadata(&secret).unwrap();
        let output = self.acquire().await;
        assert_ne!(output.status, 0, "{case}: {output:?}");
        assert!(output.stderr.contains(expected), "{case}: {output:?}");
        assert!(
            self.nodes.dump(0).await.is_empty(),
            "{case}: a lock was acquired"
        );
        let after = std::fs::metadata(&secret).unwrap();
        assert_eq!(
            (after.uid(), after.mode()),
            (before.uid(), before.mode()),
            "{case}"
        );
        assert_eq!(
            std::fs::read_to_string(&secret).unwrap(),
            "secret of root\n",
            "{case}"
        );
    }
}

#[tokio::test]
async fn links_in_place_of_database_files_are_not_followed() {
    for name in ["lockkeeper.db", "lockkeeper.db-wal", "lockkeeper.db-shm"] {
        let storage = StorageDirectory::new().await;
        let planted = storage.shell.path("state").join(name);
        symlink(storage.shell.path("secret"), &planted).unwrap();
        storage.assert_rejected(name, "symbolic link").await;

        std::fs::remove_file(&planted).unwrap();
        let target = storage.shell.path("new");
        symlink(&target, &planted).unwrap();
        storage.assert_rejected(name, "symbolic link").await;
        assert!(
            !target.exists(),
            "{name}: a file was created through the link"
        );

        std::fs::remove_file(&planted).unwrap();
        std::fs::hard_link(storage.shell.path("secret"), &planted).unwrap();
        storage.assert_rejected(name, "2 hard links").await;

        std::fs::remove_file(&planted).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&planted).status();
        assert!(status.unwrap().success());
        storage.assert_rejected(name, "not a regular file").await;
    }
}

#[tokio::test]
async fn a_link_in_place_of_the_directory_is_followed_only_if_root_owns_it() {
    let storage = StorageDirectory::new().await;
    let state = storage.shell.path("state");
    let real = storage.shell.path("private");
    std::fs::rename(&state, &real).unwrap();
    // systemd links the state directory this way with `DynamicUser=`.
    symlink("private", &state).unwrap();
    let output = storage.acquire().await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(real.join("lockkeeper.db").exists());
    if runs_as_root() {
        let storage = StorageDirectory::new().await;
        let state = storage.shell.path("state");
        std::fs::remove_dir(&state).unwrap();
        let target = storage.shell.path("target");
        std::fs::create_dir(&target).unwrap();
        symlink(&target, &state).unwrap();
        std::os::unix::fs::lchown(&state, Some(SERVICE_UID), Some(SERVICE_UID)).unwrap();
        storage
            .assert_rejected("the directory", "symbolic link")
            .await;
        assert_eq!(std::fs::read_dir(target).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn only_files_that_root_creates_are_given_to_the_service() {
    if !runs_as_root() {
        // Only root can change the owner of a file.
        return;
    }
    let storage = StorageDirectory::new().await;
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    let output = storage.acquire().await;
    assert_eq!(output.status, 0, "{output:?}");
    for entry in std::fs::read_dir(storage.shell.path("state")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(owner(&path), SERVICE_UID, "{path:?}");
    }

    // An existing empty file of root keeps its owner. A file of a third user is not written to.
    for (file_owner, is_written) in [(0, true), (SERVICE_UID + 1, false)] {
        let storage = StorageDirectory::new().await;
        let file = storage.shell.path("state").join("lockkeeper.db");
        std::fs::write(&file, "").unwrap();
        chown(&file, Some(file_owner), Some(file_owner)).unwrap();
        if is_written {
            assert_eq!(storage.acquire().await.status, 0);
        } else {
            storage
                .assert_rejected("a third user's file", "belongs to user 4712")
                .await;
        }
        assert_eq!(owner(&file), file_owner);
    }
}
