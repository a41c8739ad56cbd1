//! The library rslock, used as its README does.

use rslock::LockManager;

use super::round::Client;
use super::servers::Bed;
use super::work::Load;
use super::{Failure, LEASE};

/// A client with a manager.
pub struct Peer {
    manager: LockManager,
    key: String,
}

/// As many as the load wants, each with a manager and connections of its own.
pub fn clients(bed: &Bed, load: Load) -> Vec<Peer> {
    with(load, || manager(bed))
}

/// As many as the load wants, all with clones of one manager.
pub fn clients_that_share(bed: &Bed, load: Load) -> Vec<Peer> {
    let shared = manager(bed);
    with(load, || shared.clone())
}

fn with(load: Load, manager: impl Fn() -> LockManager) -> Vec<Peer> {
    let client = |n| Peer {
        manager: manager(),
        key: load.key(n),
    };
    (0..load.clients).map(client).collect()
}

fn manager(bed: &Bed) -> LockManager {
    let urls = bed
        .ports()
        .iter()
        .map(|port| format!("redis://127.0.0.1:{port}/"));
    LockManager::new(urls.collect())
}

impl Client for Peer {
    async fn pair(&mut self) -> Result<(), Failure> {
        let guard = self.manager.acquire(&*self.key, LEASE).await?;
        guard.release().await;
        Ok(())
    }
}
