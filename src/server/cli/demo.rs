//! `lockkeeper demo`: real redis-servers of its own, lively clients, and the console on them.

use super::{Demo, Failure};

pub(super) async fn run(_options: Demo) -> Result<(), Failure> {
    Err(Failure::broken("the demo is not here yet"))
}
