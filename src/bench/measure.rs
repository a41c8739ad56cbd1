//! One way to take a lock, measured under one load.

use super::round::{Length, Round, measure as run};
use super::servers::Bed;
use super::work::{Load, Way};
use super::{Failure, code, http, peer, raw};

/// Measures one way under one load, with fresh connections.
pub async fn measure(way: Way, bed: &Bed, load: Load, length: Length) -> Result<Round, Failure> {
    let spent = || bed.spent();
    match way {
        Way::Raw => run(raw::clients(bed, load).await?, length, spent).await,
        Way::Code => run(code::clients(bed, load), length, spent).await,
        Way::Http => run(http::clients(bed, load).await?, length, spent).await,
        Way::Rslock => run(peer::clients(bed, load), length, spent).await,
        Way::RslockShared => run(peer::clients_that_share(bed, load), length, spent).await,
    }
}
