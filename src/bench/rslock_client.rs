//! The library rslock, used as its README shows.

use rslock::LockManager;

use super::load::Load;
use super::round::BenchClient;
use super::testbed::Testbed;
use super::{BenchError, LEASE};

/// A client of the library.
pub struct RslockClient {
    manager: LockManager,
    key: String,
}

/// Creates the clients of a load, each with its own manager and connections.
pub fn clients(testbed: &Testbed, load: Load) -> Vec<RslockClient> {
    create_clients(load, || new_manager(testbed))
}

/// Creates the clients of a load, all with clones of one manager.
pub fn clients_with_shared_manager(testbed: &Testbed, load: Load) -> Vec<RslockClient> {
    let shared = new_manager(testbed);
    create_clients(load, || shared.clone())
}

fn create_clients(load: Load, manager: impl Fn() -> LockManager) -> Vec<RslockClient> {
    let client = |n| RslockClient {
        manager: manager(),
        key: load.key(n),
    };
    (0..load.clients).map(client).collect()
}

fn new_manager(testbed: &Testbed) -> LockManager {
    let urls = testbed
        .ports()
        .iter()
        .map(|port| format!("redis://127.0.0.1:{port}/"));
    LockManager::new(urls.collect())
}

impl BenchClient for RslockClient {
    async fn pair(&mut self) -> Result<(), BenchError> {
        let guard = self.manager.acquire(&*self.key, LEASE).await?;
        guard.release().await;
        Ok(())
    }
}
