//! The CPU time that observation adds to a server while 10,000 locks are extended every ten
//! seconds.

use std::time::Duration;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::testbed::Programs;
use super::server::{Server, renew_locks};
use super::{Scale, max_budget};

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    println!("\noverhead: {} locks extended every 10 s", scale.locks);
    let mut budgets = Vec::new();
    let duration = Duration::from_secs(scale.seconds.into());
    for other_keys in [0, scale.other_keys] {
        let server = Server::start_filled(programs, other_keys, scale.locks).await?;
        let mut client = server.connect().await?;
        let per_second = scale.locks / 10;
        let alone = renew_locks(&mut client, scale.locks, per_second, duration).await?;
        let console = server.start_console(programs).await?;
        console.wait_until_listed(scale.locks).await?;
        renew_locks(&mut client, scale.locks, per_second, duration / 3).await?;
        let before = console.cpu_time();
        let observed = renew_locks(&mut client, scale.locks, per_second, duration).await?;
        let console_share = (console.cpu_time() - before).as_secs_f64() / duration.as_secs_f64();
        println!(
            "  with {other_keys} other keys: server {:.2} % of a core unobserved, {:.2} % observed; console {:.1} %",
            alone * 100.0,
            observed * 100.0,
            console_share * 100.0
        );
        budgets.push(max_budget(
            format!("overhead with {other_keys} other keys: % of a core added to the server"),
            (observed - alone) * 100.0,
            1.8,
        ));
        budgets.push(max_budget(
            format!("overhead with {other_keys} other keys: % of a core for the console"),
            console_share * 100.0,
            4.0,
        ));
        console.stop().await;
        server.stop().await;
    }
    Ok(budgets)
}
