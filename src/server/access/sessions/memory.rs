//! Sessions in memory.

use async_trait::async_trait;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tower_sessions_core::SessionStore;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_core::session_store::Result;

use super::{MAX_OF_ONE, person_of};

/// So many sessions are kept in all; the one that was not used for longest ends first.
const MAX_SESSIONS: u64 = 10_000;

/// Sessions that end with this process.
#[derive(Clone, Debug)]
pub struct MemoryStore(Cache<Id, Record>);

impl Default for MemoryStore {
    fn default() -> Self {
        let sessions = Cache::builder()
            .max_capacity(MAX_SESSIONS)
            .eviction_policy(EvictionPolicy::lru());
        Self(sessions.build())
    }
}

impl MemoryStore {
    /// Ends every session of a person.
    pub fn delete_all_of(&self, person: &str) {
        for record in self.all_of(person) {
            self.0.invalidate(&record.id);
        }
    }

    fn all_of(&self, person: &str) -> Vec<Record> {
        let all = self.0.iter().map(|(_, record)| record);
        all.filter(|record| person_of(record) == Some(person))
            .collect()
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    /// Of a person with too many, the one that ends first makes room.
    async fn create(&self, record: &mut Record) -> Result<()> {
        let mut others = self.all_of(person_of(record).unwrap_or_default());
        if others.len() >= MAX_OF_ONE {
            others.sort_by_key(|other| other.expiry_date);
            for other in &others[..=others.len() - MAX_OF_ONE] {
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
