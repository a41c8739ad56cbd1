//! Dispatches a measurement to the clients of its target.

use super::load::{Load, Target};
use super::round::{Round, RoundDuration, measure as run};
use super::testbed::Testbed;
use super::{BenchError, http, locking_code, raw_redis, rslock_client, webdis};

/// Measures one target under one load, with new connections.
pub async fn measure(
    target: Target,
    testbed: &Testbed,
    load: Load,
    round_duration: RoundDuration,
) -> Result<Round, BenchError> {
    let cpu_time = || testbed.cpu_time();
    match target {
        Target::Raw => {
            run(
                raw_redis::clients(testbed, load).await?,
                round_duration,
                cpu_time,
            )
            .await
        }
        Target::Code => {
            run(
                locking_code::clients(testbed, load),
                round_duration,
                cpu_time,
            )
            .await
        }
        Target::Http => {
            run(
                http::clients(testbed, load).await?,
                round_duration,
                cpu_time,
            )
            .await
        }
        Target::Webdis => {
            run(
                webdis::clients(testbed, load).await?,
                round_duration,
                cpu_time,
            )
            .await
        }
        Target::Rslock => {
            run(
                rslock_client::clients(testbed, load),
                round_duration,
                cpu_time,
            )
            .await
        }
        Target::RslockShared => {
            run(
                rslock_client::clients_with_shared_manager(testbed, load),
                round_duration,
                cpu_time,
            )
            .await
        }
    }
}
