//! Locks with more than one in them: readers, permits, and a queue of those who wait.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{BACK_AFTER, Nodes, pause, secs, tokens};
use crate::server::clock::Clock;

/// Three readers of a Redisson read-write lock; each renews its lease as long as the lock is there.
pub async fn readers(mut nodes: Nodes) {
    const KEY: &str = "redisson:catalogue";
    const LEASE: Duration = Duration::from_secs(30);
    loop {
        let readers = [21, 22, 54].map(|thread| format!("{}:{thread}", tokens::uuid()));
        let mut enter = redis::pipe();
        enter.cmd("HSET").arg(KEY).arg("mode").arg("read");
        for reader in &readers {
            enter.cmd("HSET").arg(KEY).arg(reader).arg(1);
            let own_lease = format!("{{{KEY}}}:{reader}:rwlock_timeout:1");
            enter.cmd("SET").arg(own_lease).arg(1).arg("PX").arg(30_000);
        }
        enter.cmd("PEXPIRE").arg(KEY).arg(30_000);
        nodes.all(&enter).await;
        loop {
            sleep(secs(10)).await;
            let mut renewed = 0;
            for reader in &readers {
                let renew = include_str!("redisson_renew.lua");
                renewed += nodes.run(renew, KEY, reader.as_bytes(), LEASE).await;
                let mut own_lease = redis::cmd("PEXPIRE");
                own_lease.arg(format!("{{{KEY}}}:{reader}:rwlock_timeout:1"));
                nodes.each::<u64>(own_lease.arg(30_000)).await;
            }
            if renewed == 0 {
                break;
            }
        }
        sleep(BACK_AFTER).await;
    }
}

/// One of four clients that want one of three permits of a semaphore of redis-semaphore (npm).
pub async fn permit(mut nodes: Nodes) {
    const KEY: &str = "semaphore:gpu";
    loop {
        let owner = tokens::uuid();
        let now = || Clock::real().now().millis().to_string();
        let mut take = redis::cmd("EVAL");
        take.arg(include_str!("permit_take.lua")).arg(1).arg(KEY);
        take.arg(&owner).arg(now()).arg(3).arg(10_000);
        let taken: Vec<Option<u64>> = nodes.each(&take).await;
        if taken != [Some(1)] {
            pause(1_000..2_000).await;
            continue;
        }
        let until = Instant::now() + secs(rand::random_range(20..60));
        while Instant::now() < until {
            sleep(secs(4)).await;
            let mut refresh = redis::cmd("EVAL");
            refresh.arg(include_str!("permit_take.lua")).arg(1).arg(KEY);
            refresh.arg(&owner).arg(now()).arg(0).arg(10_000);
            if nodes.each::<u64>(&refresh).await != [Some(1)] {
                break;
            }
        }
        let mut leave = redis::cmd("ZREM");
        nodes.each::<u64>(leave.arg(KEY).arg(&owner)).await;
        pause(2_000..6_000).await;
    }
}

/// One of several threads that take turns with a Redisson fair lock: each stands in the queue until it is its turn.
pub async fn in_line(mut nodes: Nodes, thread: u32) {
    const KEY: &str = "redisson:invoice:print";
    const LEASE: Duration = Duration::from_secs(30);
    let owner = format!("{}:{thread}", tokens::uuid());
    loop {
        let mut stand = redis::cmd("EVAL");
        stand.arg(include_str!("fair_take.lua")).arg(3).arg(KEY);
        stand.arg(format!("redisson_lock_queue:{{{KEY}}}"));
        stand.arg(format!("redisson_lock_timeout:{{{KEY}}}"));
        stand.arg(&owner).arg(30_000);
        stand.arg(Clock::real().now().millis() + 300_000);
        if nodes.each::<u64>(&stand).await != [Some(1)] {
            pause(700..1_200).await;
            continue;
        }
        let until = Instant::now() + secs(rand::random_range(25..50));
        let mut is_ours = true;
        while is_ours && Instant::now() < until {
            sleep(secs(10)).await;
            let renew = include_str!("redisson_renew.lua");
            is_ours = nodes.run(renew, KEY, owner.as_bytes(), LEASE).await == 1;
        }
        if is_ours {
            let mut release = redis::cmd("DEL");
            nodes.each::<u64>(release.arg(KEY)).await;
        }
        pause(3_000..8_000).await;
    }
}
