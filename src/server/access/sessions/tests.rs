//! Tests of sessions in an SQLite database.

use tempfile::TempDir;

use super::*;
use crate::server::config::StorageConfig;

const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

/// Sessions with an idle timeout of 100 s and a maximum age of 250 s, and their directory.
fn sessions() -> (Sessions, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (sessions_in(&folder), folder)
}

fn sessions_in(folder: &TempDir) -> Sessions {
    let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
    let lifetime = SessionsConfig {
        idle_timeout: Duration::from_secs(100),
        max_age: Duration::from_secs(250),
    };
    Sessions::new(lifetime, Storage::new(&config, false))
}

fn at(seconds: i64) -> Timestamp {
    BEGIN.plus_millis(seconds * 1000)
}

impl Sessions {
    async fn begin(&self, user: &str, seconds: i64) -> String {
        let max_age = self.max_age();
        let created = self
            .create(user, CredentialVersion(7), max_age, at(seconds))
            .await;
        created.unwrap()
    }

    async fn user_of(&self, secret: &str, seconds: i64) -> Option<String> {
        let loaded = self.load(secret, at(seconds)).await.unwrap();
        loaded.map(|loaded| loaded.user)
    }

    async fn exists(&self, secret: &str, seconds: i64) -> bool {
        self.user_of(secret, seconds).await.is_some()
    }
}

#[tokio::test]
async fn a_session_ends_after_the_idle_timeout_or_the_maximum_age() {
    let (sessions, _folder) = sessions();
    let idle = sessions.begin("alice", 0).await;
    let busy = sessions.begin("alice", 0).await;
    for (second, is_valid) in [(90, true), (180, true), (249, true), (250, false)] {
        assert_eq!(sessions.exists(&busy, second).await, is_valid, "{second}");
    }
    assert!(!sessions.exists(&idle, 100).await);
    assert!(!sessions.exists("", 0).await);
}

#[tokio::test]
async fn checking_a_session_does_not_extend_it() {
    let (sessions, _folder) = sessions();
    let secret = sessions.begin("alice", 0).await;
    let loaded = sessions.load(&secret, at(0)).await.unwrap().unwrap();
    assert_eq!(
        (&*loaded.user, loaded.key.credential_version),
        ("alice", CredentialVersion(7))
    );
    assert!(sessions.check_valid(&loaded.key, at(99)).await);
    assert!(!sessions.check_valid(&loaded.key, at(100)).await);
}

#[tokio::test]
async fn an_ended_session_is_invalid_immediately_and_after_a_restart() {
    let (sessions, folder) = sessions();
    let mut secrets = Vec::new();
    for user in ["alice", "alice", "alice", "bob"] {
        secrets.push(sessions.begin(user, 0).await);
    }
    let key = sessions
        .load(&secrets[0], at(0))
        .await
        .unwrap()
        .unwrap()
        .key;
    sessions.end(&key).await;
    assert!(!sessions.check_valid(&key, at(0)).await);
    sessions.end_by_secret(&secrets[1]).await;
    for sessions in [&sessions, &sessions_in(&folder)] {
        let mut valid = Vec::new();
        for secret in &secrets {
            valid.push(sessions.exists(secret, 0).await);
        }
        assert_eq!(valid, [false, false, true, true]);
    }
    sessions.end_all_of_user("alice").await;
    assert!(!sessions.exists(&secrets[2], 0).await);
    assert!(sessions.exists(&secrets[3], 0).await);
}

#[tokio::test]
async fn the_least_recently_used_session_ends_when_a_user_has_too_many() {
    let (sessions, _folder) = sessions();
    let (first, second) = (
        sessions.begin("alice", 0).await,
        sessions.begin("alice", 0).await,
    );
    for n in 2..MAX_SESSIONS_PER_USER {
        sessions.begin("alice", i64::try_from(n).unwrap()).await;
    }
    assert!(sessions.exists(&first, 60).await);
    sessions.begin("alice", 61).await;
    assert!(!sessions.exists(&second, 61).await);
    assert!(sessions.exists(&first, 61).await);
}

#[tokio::test]
async fn a_clock_jump_ends_sessions_instead_of_extending_them() {
    let (sessions, _folder) = sessions();
    let secret = sessions.begin("alice", 0).await;
    // Small corrections of the clock are normal.
    assert!(sessions.exists(&secret, -30).await);
    assert!(!sessions.exists(&secret, -3600).await);
    assert!(!sessions.exists(&secret, 3600).await);
}

#[tokio::test]
async fn sessions_work_in_memory_when_the_database_is_not_writable() {
    let folder = tempfile::tempdir().unwrap();
    // The database file cannot be created: a directory has its name.
    std::fs::create_dir(folder.path().join("lockkeeper.db")).unwrap();
    let sessions = sessions_in(&folder);
    let mut secrets = Vec::new();
    for _ in 0..=MAX_SESSIONS_PER_USER {
        secrets.push(sessions.begin("alice", 0).await);
    }
    let is_valid = async |secret: &str| matches!(sessions.load(secret, at(0)).await, Ok(Some(_)));
    let mut valid_secrets = Vec::new();
    for secret in secrets {
        if is_valid(&secret).await {
            valid_secrets.push(secret);
        }
    }
    assert_eq!(valid_secrets.len(), MAX_SESSIONS_PER_USER);
    sessions.end_by_secret(&valid_secrets[0]).await;
    assert!(!is_valid(&valid_secrets[0]).await && is_valid(&valid_secrets[1]).await);
    sessions.end_all_of_user("alice").await;
    assert!(!is_valid(&valid_secrets[1]).await);
}
