//! Sessions in a file of their own.

use tempfile::TempDir;

use super::*;
use crate::server::config::StorageConfig;

const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

/// Sessions that may be idle for 100 s and last for 250 s, and where they are stored.
fn sessions() -> (Sessions, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (sessions_in(&folder), folder)
}

fn sessions_in(folder: &TempDir) -> Sessions {
    let config = StorageConfig::file(folder.path().join("lockkeeper.db"));
    let lifetime = SessionsConfig {
        idle: Duration::from_secs(100),
        longest: Duration::from_secs(250),
    };
    Sessions::new(lifetime, Storage::new(&config, false))
}

fn at(seconds: i64) -> Timestamp {
    BEGIN.plus_millis(seconds * 1000)
}

impl Sessions {
    async fn begin(&self, user: &str, seconds: i64) -> String {
        let longest = self.longest();
        let created = self.create(user, Stamp(7), longest, at(seconds)).await;
        created.unwrap()
    }

    async fn user_of(&self, secret: &str, seconds: i64) -> Option<String> {
        let loaded = self.load(secret, at(seconds)).await.unwrap();
        loaded.map(|loaded| loaded.user)
    }

    async fn is_there(&self, secret: &str, seconds: i64) -> bool {
        self.user_of(secret, seconds).await.is_some()
    }
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_at_its_longest_in_any_case() {
    let (sessions, _folder) = sessions();
    let idle = sessions.begin("alice", 0).await;
    let busy = sessions.begin("alice", 0).await;
    for (second, goes_on) in [(90, true), (180, true), (249, true), (250, false)] {
        assert_eq!(sessions.is_there(&busy, second).await, goes_on, "{second}");
    }
    assert!(!sessions.is_there(&idle, 100).await);
    assert!(!sessions.is_there("", 0).await);
}

#[tokio::test]
async fn watching_a_session_does_not_keep_it() {
    let (sessions, _folder) = sessions();
    let secret = sessions.begin("alice", 0).await;
    let loaded = sessions.load(&secret, at(0)).await.unwrap().unwrap();
    assert_eq!((&*loaded.user, loaded.key.stamp), ("alice", Stamp(7)));
    assert!(sessions.goes_on(&loaded.key, at(99)).await);
    assert!(!sessions.goes_on(&loaded.key, at(100)).await);
}

#[tokio::test]
async fn a_session_that_was_ended_is_over_at_once_and_after_a_restart() {
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
    assert!(!sessions.goes_on(&key, at(0)).await);
    sessions.end_unseen(&secrets[1]).await;
    for sessions in [&sessions, &sessions_in(&folder)] {
        let mut are_there = Vec::new();
        for secret in &secrets {
            are_there.push(sessions.is_there(secret, 0).await);
        }
        assert_eq!(are_there, [false, false, true, true]);
    }
    sessions.end_all_of("alice").await;
    assert!(!sessions.is_there(&secrets[2], 0).await);
    assert!(sessions.is_there(&secrets[3], 0).await);
}

#[tokio::test]
async fn nobody_has_more_than_so_many_and_the_one_unused_for_longest_ends() {
    let (sessions, _folder) = sessions();
    let (first, second) = (
        sessions.begin("alice", 0).await,
        sessions.begin("alice", 0).await,
    );
    for n in 2..MAX_OF_ONE {
        sessions.begin("alice", i64::try_from(n).unwrap()).await;
    }
    assert!(sessions.is_there(&first, 60).await);
    sessions.begin("alice", 61).await;
    assert!(!sessions.is_there(&second, 61).await);
    assert!(sessions.is_there(&first, 61).await);
}

#[tokio::test]
async fn a_clock_that_jumps_ends_sessions_rather_than_prolong_them() {
    let (sessions, _folder) = sessions();
    let secret = sessions.begin("alice", 0).await;
    // Clocks are corrected by a little all the time.
    assert!(sessions.is_there(&secret, -30).await);
    assert!(!sessions.is_there(&secret, -3600).await);
    assert!(!sessions.is_there(&secret, 3600).await);
}

#[tokio::test]
async fn a_storage_that_cannot_be_written_keeps_nobody_out_and_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    // Its file cannot be created where there is a folder.
    std::fs::create_dir(folder.path().join("lockkeeper.db")).unwrap();
    let sessions = sessions_in(&folder);
    let mut secrets = Vec::new();
    for _ in 0..=MAX_OF_ONE {
        secrets.push(sessions.begin("alice", 0).await);
    }
    let is_in = async |secret: &str| matches!(sessions.load(secret, at(0)).await, Ok(Some(_)));
    let mut left = Vec::new();
    for secret in secrets {
        if is_in(&secret).await {
            left.push(secret);
        }
    }
    assert_eq!(left.len(), MAX_OF_ONE);
    sessions.end_unseen(&left[0]).await;
    assert!(!is_in(&left[0]).await && is_in(&left[1]).await);
    sessions.end_all_of("alice").await;
    assert!(!is_in(&left[1]).await);
}
