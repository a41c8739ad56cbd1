//! What a server spends on being watched while ten thousand locks are renewed every ten seconds.

use std::time::Duration;

use super::super::Failure;
use super::super::budgets::Budget;
use super::super::servers::Programs;
use super::bed::{Server, renew};
use super::{Extent, at_most};

pub async fn measure(programs: &Programs, extent: Extent) -> Result<Vec<Budget>, Failure> {
    println!("\nsteady: {} locks renewed every 10 s", extent.locks);
    let mut budgets = Vec::new();
    let long = Duration::from_secs(extent.seconds.into());
    for others in [0, extent.others] {
        let server = Server::full(programs, others, extent.locks).await?;
        let mut client = server.client().await?;
        let a_second = extent.locks / 10;
        let alone = renew(&mut client, extent.locks, a_second, long).await?;
        let console = server.console(programs).await?;
        console.lists(extent.locks).await?;
        renew(&mut client, extent.locks, a_second, long / 3).await?;
        let before = console.spent();
        let watched = renew(&mut client, extent.locks, a_second, long).await?;
        let ours = (console.spent() - before).as_secs_f64() / long.as_secs_f64();
        println!(
            "  beside {others} other keys: {:.2} % of a core alone, {:.2} % watched; the console itself {:.1} %",
            alone * 100.0,
            watched * 100.0,
            ours * 100.0
        );
        budgets.push(at_most(
            format!("steady, beside {others} other keys: % of a core added to the server"),
            (watched - alone) * 100.0,
            3.0,
        ));
        console.end().await;
        server.end().await;
    }
    Ok(budgets)
}
