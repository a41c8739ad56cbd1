//! Locks with several holders or waiters: a read-write lock, a semaphore and a fair lock.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{ClientNodes, RESTART_DELAY, pause, secs, tokens};
use crate::server::clock::Clock;

/// Three readers of a Redisson read-write lock. Each renews its lease while the lock exists.
pub async fn readers(mut nodes: ClientNodes) {
    const KEY: &str = "redisson:catalogue";
    const LEASE: Duration = Duration::from_secs(30);
    loop {
        let readers = [21, 22, 54].map(|thread| format!("{}:{thread}", tokens::uuid()));
        let mut acquire = redis::pipe();
        acquire.cmd("HSET").arg(KEY).arg("mode").arg("read");
        for reader in &readers {
            acquire.cmd("HSET").arg(KEY).arg(reader).arg(1);
            let own_lease = format!("{{{KEY}}}:{reader}:rwlock_timeout:1");
            acquire
                .cmd("SET")
                .arg(own_lease)
                .arg(1)
                .arg("PX")
                .arg(30_000);
        }
        acquire.cmd("PEXPIRE").arg(KEY).arg(30_000);
        nodes.run_pipeline(&acquire).await;
        loop {
            sleep(secs(10)).await;
            let mut renewed = 0;
            for reader in &readers {
                let renew = include_str!("redisson_renew.lua");
                renewed += nodes.run_script(renew, KEY, reader.as_bytes(), LEASE).await;
                let mut own_lease = redis::cmd("PEXPIRE");
                own_lease.arg(format!("{{{KEY}}}:{reader}:rwlock_timeout:1"));
                nodes.query_each::<u64>(own_lease.arg(30_000)).await;
            }
            if renewed == 0 {
                break;
            }
        }
        sleep(RESTART_DELAY).await;
    }
}

/// One of four clients that compete for three permits of redis-semaphore (npm).
pub async fn permit(mut nodes: ClientNodes) {
    const KEY: &str = "semaphore:gpu";
    loop {
        let owner = tokens::uuid();
        let now = || Clock::system().now().millis().to_string();
        let mut acquire = redis::cmd("EVAL");
        acquire
            .arg(include_str!("permit_acquire.lua"))
            .arg(1)
            .arg(KEY);
        acquire.arg(&owner).arg(now()).arg(3).arg(10_000);
        let acquired: Vec<Option<u64>> = nodes.query_each(&acquire).await;
        if acquired != [Some(1)] {
            pause(1_000..2_000).await;
            continue;
        }
        let deadline = Instant::now() + secs(rand::random_range(20..60));
        while Instant::now() < deadline {
            sleep(secs(4)).await;
            let mut refresh = redis::cmd("EVAL");
            refresh
                .arg(include_str!("permit_acquire.lua"))
                .arg(1)
                .arg(KEY);
            refresh.arg(&owner).arg(now()).arg(0).arg(10_000);
            if nodes.query_each::<u64>(&refresh).await != [Some(1)] {
                break;
            }
        }
        let mut release = redis::cmd("ZREM");
        nodes.query_each::<u64>(release.arg(KEY).arg(&owner)).await;
        pause(2_000..6_000).await;
    }
}

/// One of several threads that share a Redisson fair lock. Each waits in its queue.
pub async fn fair_waiter(mut nodes: ClientNodes, thread: u32) {
    const KEY: &str = "redisson:invoice:print";
    const LEASE: Duration = Duration::from_secs(30);
    let owner = format!("{}:{thread}", tokens::uuid());
    loop {
        let mut enqueue = redis::cmd("EVAL");
        enqueue
            .arg(include_str!("fair_acquire.lua"))
            .arg(3)
            .arg(KEY);
        enqueue.arg(format!("redisson_lock_queue:{{{KEY}}}"));
        enqueue.arg(format!("redisson_lock_timeout:{{{KEY}}}"));
        enqueue.arg(&owner).arg(30_000);
        enqueue.arg(Clock::system().now().millis() + 300_000);
        if nodes.query_each::<u64>(&enqueue).await != [Some(1)] {
            pause(700..1_200).await;
            continue;
        }
        let deadline = Instant::now() + secs(rand::random_range(25..50));
        let mut is_ours = true;
        while is_ours && Instant::now() < deadline {
            sleep(secs(10)).await;
            let renew = include_str!("redisson_renew.lua");
            is_ours = nodes.run_script(renew, KEY, owner.as_bytes(), LEASE).await == 1;
        }
        if is_ours {
            let mut release = redis::cmd("DEL");
            nodes.query_each::<u64>(release.arg(KEY)).await;
        }
        pause(3_000..8_000).await;
    }
}
