//! What is said of what a node forgets, and of its memory.

use super::{Facts, Sentences};

const FORGOTTEN: &str = "持有者还在依赖一把锁，节点却忘了它，这把锁就会再给别人。只有在同一租约内没有别的节点也忘记时，法定多数才挡得住。";
const READERS: &str = "恢复 Redis 的默认上限。";

/// The sentences for a code of this topic.
pub(super) fn sentences(facts: &Facts<'_>) -> Option<Sentences> {
    let nodes = facts.nodes();
    let figure = |name| facts.figure(name);
    let votes = || figure("votes") != "no";
    Some(match facts.code() {
        "forgets-locks" => (
            format!("{nodes} 重启后会忘记锁：锁没有逐个写入磁盘。"),
            FORGOTTEN,
            keep(facts),
        ),
        "loses-last-locks" => (
            format!("{nodes} 在机器掉电时可能丢失最后一刻的锁：日志只是隔一会儿才落盘。"),
            FORGOTTEN,
            keep(facts),
        ),
        "persistence-fails" => (
            format!("{nodes} 无法写盘。"),
            "在能写之前服务器拒绝写入（MISCONF）：在那里既拿不到锁，也还不了锁。没写下的，重启后就忘了。",
            "查看它的日志和磁盘：满了、只读，或对目录没有权限（CONFIG GET dir）。".to_owned(),
        ),
        "fsync-paused" => (
            format!("{nodes} 保存每次写入，但重写日志期间除外。"),
            "这期间（最长半分钟）没有强制落盘：机器此时倒下就会忘记别人还在依赖的锁，而且谁也想不到。",
            "让它始终同步落盘。".to_owned(),
        ),
        "restart-hazard" => (
            format!("{nodes} 最近重启过，可能忘记了一些锁。"),
            FORGOTTEN,
            match votes() {
                true => "打开 delayed_restart；在所示时刻之前，依赖在这里拿到的锁之前先与持有者核实。",
                false => "本控制台无需处理：在那之前它不向那里要新锁。让其他程序也避开同样久，并确保没有别的节点重启。",
            }
            .to_owned(),
        ),
        "slow-fork" => (
            format!("{nodes} 为保存或重写会停顿超过 {}。", figure("limit")),
            "这期间谁也得不到应答：续租迟到，短租约到期，获取时少一个节点。",
            "把锁放在单独的小服务器上；关闭透明大页；减少保存次数。".to_owned(),
        ),
        "evicts-locks" => (
            format!("{nodes} 内存满时会丢弃键，锁也在其中。"),
            "被丢弃的锁会给下一个人，而原持有者还在工作。volatile 策略专挑有过期时间的键，锁正是；volatile-ttl 先丢最早到期的。",
            "把锁与缓存分开，放在满了就拒绝写入的服务器上。".to_owned(),
        ),
        "memory-nearly-full" => (
            format!("{nodes} 已用超过可用内存的 {} %。", figure("share")),
            "满了以后服务器拒绝写入（OOM）：在那里拿不到锁，也无法用会写入的脚本归还锁。",
            "找出什么在增长（MEMORY STATS、--bigkeys）；机器还有内存就调大 maxmemory。".to_owned(),
        ),
        "machine-nearly-full" => (
            format!("{nodes} 几乎用光了机器的内存，而且没有上限。"),
            "内存用尽时系统会杀掉服务器，没写下的都会忘记，包括锁。",
            "设一个远低于机器内存的上限，并用 noeviction。".to_owned(),
        ),
        "readers-without-limit" => (
            format!("{nodes} 会无限保留慢订阅者没读走的内容。"),
            "等锁的人会订阅，本控制台也会。其中一个卡住就可能占满服务器的内存。",
            READERS.to_owned(),
        ),
        "readers-cut-off" => (
            format!("{nodes} 会断开稍慢的订阅者。"),
            "这时等锁的人得不到释放的通知，本控制台每次被断开后都要重新查看一切。",
            READERS.to_owned(),
        ),
        "clients-nearly-all" => (
            format!("{nodes} 的连接几乎用完。"),
            "连不上就无法续租，也无法还锁：锁会一直留到租约结束。",
            "找出是谁开了这么多连接（CLIENT LIST），或调大 maxclients。".to_owned(),
        ),
        _ => return None,
    })
}

/// What helps a node that forgets locks when it restarts.
fn keep(facts: &Facts<'_>) -> String {
    let figure = |name| facts.figure(name);
    let longest = figure("longest");
    let seconds = figure("seconds");
    match figure("votes") {
        "alone" => format!(
            "让每次写入先落盘再应答；或在重启后的最长租约（{longest}）内不让任何程序访问它。"
        ),
        mode => {
            let ours = match mode {
                "waits" => "本控制台在这段时间内不向重启过的节点要新锁；其他程序仍会。",
                _ => "打开 delayed_restart，至少让本控制台等这么久。",
            };
            format!(
                "让每次写入先落盘再应答；或让重启过的节点在最长租约（{longest}）内不对任何程序服务，例如在它的 unit 里写 `ExecStartPre=/bin/sleep {seconds}`。{ours}"
            )
        }
    }
}
