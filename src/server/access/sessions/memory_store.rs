//! In-memory session store.

use async_trait::async_trait;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tower_sessions_core::SessionStore;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::Result;

use super::{MAX_SESSIONS_PER_USER, user_of};

/// The maximum number of sessions. The least recently used one is evicted.
const MAX_SESSIONS: u64 = 10_000;

/// Sessions that are lost when the process ends.
#[derive(Clone, Debug)]
pub struct MemorySessionStore(Cache<Id, Record>);

impl Default for MemorySessionStore {
    fn default() -> Self {
        let sessions = Cache::builder()
            .max_capacity(MAX_SESSIONS)
            .eviction_policy(EvictionPolicy::lru());
        Self(sessions.build())
    }
}

impl MemorySessionStore {
    /// Deletes all sessions of a user.
    pub fn delete_all_of_user(&self, user: &str) {
        for record in self.sessions_of_user(user) {
            self.0.invalidate(&record.id);
        }
    }

    fn sessions_of_user(&self, user: &str) -> Vec<Record> {
        let records = self.0.iter().map(|(_, record)| record);
        records
            .filter(|record| user_of(record) == Some(user))
            .collect()
    }
}

#[async_trait]
impl SessionStore for MemorySessionStore {
    /// If the user has too many sessions, deletes the ones that expire first.
    async fn create(&self, record: &mut Record) -> Result<()> {
        let mut others = self.sessions_of_user(user_of(record).unwrap_or_default());
        if others.len() >= MAX_SESSIONS_PER_USER {
            others.sort_by_key(|other| other.expiry_date);
            for other in &others[..=others.len() - MAX_SESSIONS_PER_USER] {
                self.0.invalidate(&other.id);
            }
        }
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.0.insert(record.id, record.clone());
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        Ok(self.0.get(id))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.invalidate(id);
        Ok(())
    }
}
