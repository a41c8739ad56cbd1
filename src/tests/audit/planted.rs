//! What somebody with the service's account could plant beside the audit: the program writes to nothing but its own files, and gives
//! nothing away that it did not just create.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use super::configure;
use crate::cli::{Ended, Shell, end_of};
use crate::support::redis_nodes::RedisNodes;

/// The account of the service; where this is not root, the folder stays ours.
const SERVICE: u32 = 4711;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder for the audit that belongs to the service, and a file of root's beside it.
struct Scene {
    shell: Shell,
    nodes: RedisNodes,
}

impl Scene {
    async fn new() -> Self {
        let nodes = RedisNodes::start(1).await;
        let shell = Shell::on(&nodes);
        configure(&shell.path("."), &nodes, "sqlite:state/lockkeeper.db");
        let state = shell.path("state");
        std::fs::create_dir(&state).unwrap();
        if is_root() {
            chown(&state, Some(SERVICE), Some(SERVICE)).unwrap();
        }
        let secret = shell.path("secret");
        std::fs::write(&secret, "root's alone\n").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        Self { shell, nodes }
    }

    /// A command that changes a lock, as root would type it.
    async fn acquire(&self) -> Ended {
        end_of(
            self.shell
                .bare(&["acquire", "orders", "lock:a", "--ttl", "1m"]),
        )
        .await
    }

    async fn is_refused(&self, what: &str, word: &str) {
        let secret = self.shell.path("secret");
        let before = std::fs::metadata(&secret).unwrap();
        let ended = self.acquire().await;
        assert_ne!(ended.status, 0, "{what}: {ended:?}");
        assert!(ended.err.contains(word), "{what}: {ended:?}");
        assert!(
            self.nodes.dump(0).await.is_empty(),
            "{what}: a lock was taken"
        );
        let after = std::fs::metadata(&secret).unwrap();
        assert_eq!(
            (after.uid(), after.mode()),
            (before.uid(), before.mode()),
            "{what}"
        );
        assert_eq!(
            std::fs::read_to_string(&secret).unwrap(),
            "root's alone\n",
            "{what}"
        );
    }
}

#[tokio::test]
async fn links_that_are_planted_beside_the_audit_are_not_followed() {
    for name in ["lockkeeper.db", "lockkeeper.db-wal", "lockkeeper.db-shm"] {
        let scene = Scene::new().await;
        let planted = scene.shell.path("state").join(name);
        symlink(scene.shell.path("secret"), &planted).unwrap();
        scene.is_refused(name, "symbolic link").await;

        std::fs::remove_file(&planted).unwrap();
        let new = scene.shell.path("new");
        symlink(&new, &planted).unwrap();
        scene.is_refused(name, "symbolic link").await;
        assert!(
            !new.exists(),
            "{name}: a file was created for somebody else"
        );

        std::fs::remove_file(&planted).unwrap();
        std::fs::hard_link(scene.shell.path("secret"), &planted).unwrap();
        scene.is_refused(name, "2 names").await;

        std::fs::remove_file(&planted).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&planted).status();
        assert!(made.unwrap().success());
        scene.is_refused(name, "not a regular file").await;
    }
}

#[tokio::test]
async fn a_link_in_place_of_the_folder_is_followed_only_if_root_made_it() {
    let scene = Scene::new().await;
    let state = scene.shell.path("state");
    let real = scene.shell.path("private");
    std::fs::rename(&state, &real).unwrap();
    // As systemd does it for a user that exists only while the service runs.
    symlink("private", &state).unwrap();
    let ended = scene.acquire().await;
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(real.join("lockkeeper.db").exists());
    if is_root() {
        let scene = Scene::new().await;
        let state = scene.shell.path("state");
        std::fs::remove_dir(&state).unwrap();
        let elsewhere = scene.shell.path("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &state).unwrap();
        std::os::unix::fs::lchown(&state, Some(SERVICE), Some(SERVICE)).unwrap();
        scene.is_refused("the folder", "symbolic link").await;
        assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn what_root_creates_beside_the_service_belongs_to_the_service_and_nothing_else_does() {
    if !is_root() {
        // Only root can give files away.
        return;
    }
    let scene = Scene::new().await;
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    let ended = scene.acquire().await;
    assert_eq!(ended.status, 0, "{ended:?}");
    for entry in std::fs::read_dir(scene.shell.path("state")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(owner(&path), SERVICE, "{path:?}");
    }

    // An empty file of root's that was there before is root's afterwards; one of a third user is not written to.
    for (other, is_written) in [(0, true), (SERVICE + 1, false)] {
        let scene = Scene::new().await;
        let file = scene.shell.path("state").join("lockkeeper.db");
        std::fs::write(&file, "").unwrap();
        chown(&file, Some(other), Some(other)).unwrap();
        if is_written {
            assert_eq!(scene.acquire().await.status, 0);
        } else {
            scene
                .is_refused("a third user's", "belongs to user 4712")
                .await;
        }
        assert_eq!(owner(&file), other);
    }
}
