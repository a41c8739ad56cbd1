//! The page of one lock: the verdict in words, its facts, its past and its charts.

pub use super::act::acquire::format;
pub use super::act::{held_for, lease, no_label, owner};
use super::format;
pub use super::frame::all_locks;
pub use super::nodes::{clock, restarted};
use super::{Language, language};
use crate::domain::{Flag, HowEnded, Lock, Owner, Source, Verdict};

words! {
    force_release: "Force release…", "强制释放…";
    nothing_to_release: "It is not observed any more: there is nothing to release", "已观察不到它：没有可释放的东西";
    facts: "Facts", "事实";
    renewals: "Renewals", "续租";
    contention: "Contention", "争用";
    flags: "Flags", "标记";
    shared: ", shared", "，共享";
    after_release(what: &str): "When somebody else releases it: {what}.", "被他人释放后：{what}。";
    fingerprint: "fingerprint", "指纹";
    holds_it(times: &str): "holds it {times}", "持有 {times}";
    same_owner: "Everything this owner holds", "此持有者持有的一切";
    same_host(host: &str): "Everything {host} holds", "{host} 持有的一切";
    first_seen(at: &str): "first seen at {at}; an earlier start cannot be excluded", "首次看到于 {at}；不能排除更早开始";
    claimed(at: &str): "since {at} by the owner's own time stamp: when it asked for the lock", "按持有者自己的时间戳自 {at} 起：即它请求锁的时间";
    none_seen: "none seen", "未看到";
    not_observed: "not observed", "未观察到";
    unmeasurable(why: &str): "touches not measurable now: {why}", "目前无法测量触碰：{why}";
    waits: "Who waits for it", "谁在等待它";
    nodes: "What each node answers", "各节点的回答";
    nodes_before: "What each node answered while the lock was still observed", "仍能观察到该锁时各节点的回答";
    node: "Node", "节点";
    answer: "Answer", "回答";
    ping: "Ping", "延迟";
    unreachable(why: &str): "unreachable ({why})", "无法连接（{why}）";
    no_lease: "none", "无";
    over: "over", "已结束";
    past_its_time(since: &str): "past by {since}", "已超时 {since}";
    history: "History", "历史";
    nobody_seen: "Nobody was seen to hold it.", "没有看到任何人持有它。";
    no_quorum_seen: "Nobody was seen to hold it on a quorum of its nodes.", "没有看到任何人在法定多数的节点上持有它。";
    who_held: "Who held it", "谁持有过它";
    holds: "Holds, the latest first", "持有记录，最近的在前";
    without_owner(span: &str): "{span} without an owner", "{span}无持有者";
    holds_now: "holds it", "正在持有";
    usual_unknown: "How long it is usually held is not known: no hold was seen from beginning to end.", "通常持有多久尚不清楚：还没有完整地看到过一次持有。";
    usual(p50: &str, p90: &str, p99: &str, most: &str, of: &str): "Usually held for {p50}; 90 % up to {p90}, 99 % up to {p99}, at most {most} ({of}).", "通常持有 {p50}；90% 不超过 {p90}，99% 不超过 {p99}，最长 {most}（{of}）。";
    of_this_lock(holds: &str): "{holds} of this lock", "此锁的 {holds}";
    of_pattern(holds: &str, pattern: &str): "{holds} of {pattern}", "{pattern} 的 {holds}";
    kept(since: &str, holds: u32, span: &str): "As far as this console saw it, since {since}. It remembers {holds} holds of a lock for {span} and writes nothing down.", "以本控制台自 {since} 起所见为限。它为每把锁记住 {holds} 次持有，保留 {span}，不写入任何存储。";
    since(at: &str): "since {at} UTC", "{at} UTC 起";
    from_until(from: &str, until: &str): "{from} – {until} UTC", "{from} 至 {until} UTC";
    lease_over_time: "Lease over time", "租约随时间的变化";
    lease_chart(renewals: &str, left: &str): "{renewals}; {left}.", "{renewals}；{left}。";
    lease_left(left: &str): "{left} left", "剩余 {left}";
    lease_ended: "it runs no more", "已不再计时";
    renewals_seen(count: &str): "{count} in this picture", "图中有 {count}";
    quorum_lost_here: "quorum is lost here", "在此失去法定多数";
    expires_here: "expires here", "在此过期";
    a_fifth: "a fifth of the lease: at risk", "租约的五分之一：有风险";
    now: "now", "现在";
    as_table: "As a table", "以表格显示";
    time: "Time", "时间";
    lease_then: "Lease from then on", "此后的租约";
    from: "From", "自";
    until: "Until", "至";
    ended_by: "How it ended", "如何结束";
    library: "What this library does", "这个库会怎么做";
    renews(every: &str, lease: &str): "Renews every {every}, a lease of {lease} each time, unless it is told otherwise.", "默认每 {every}续租一次，每次租约 {lease}。";
    renews_unknown: "Renews only if its caller does.", "只有调用者自己续租时才会续租。";
    comes_back: "An owner that lives may put the lock back.", "仍在运行的持有者可能会把锁放回来。";
    outlives: "The key stays when its own time is over, until somebody takes it.", "到了自身时间后键仍然存在，直到有人获取它。";
    scripts: "Do the same from a script", "用脚本完成同样的操作";
    scripts_hint: "A forced release releases the lock only while its owner, and its hold, is still the one with this fingerprint; put your reason where it says WHY. Tokens are yours: none stands here.", "强制释放只在持有者及其持有仍与此指纹一致时才会执行；请把 WHY 换成你的原因。令牌由你自己保管：这里不会出现。";
    with_curl: "With curl", "用 curl";
    with_cli: "With the command line", "用命令行";
    copy: "Copy the command", "复制命令";
    look: "Look at it", "查看";
    acquire: "Acquire it", "获取";
    extend: "Extend it", "延长";
    release: "Release it", "释放";
    force: "Release it by force", "强制释放";
    done_here: "Done from here", "在此执行过的操作";
    not_shown(why: &str): "Not shown: {why}.", "不显示：{why}。";
    nothing_done: "Nothing was done to it through this console.", "没有通过本控制台对它做过任何操作。";
    acts: "Acts, the latest first", "操作记录，最近的在前";
    all_acts: "All acts on this lock", "对此锁的所有操作";
    by: " by ", "，执行者 ";
    not_followed: "The nodes showed it when this page asked; it is not on the board (yet), so it is not followed. ", "本页询问时节点显示了它；它（尚）不在看板上，因此没有持续跟踪。";
    ask_again: "Ask again", "再次询问";
    seen_last: "Below is what was seen last. An observer cannot prove that nobody relies on it any more.", "以下是最后一次看到的情况。旁观者无法证明已没有人依赖它。";
    released_at(at: &str): "Not observed any more: released at {at}.", "已观察不到：于 {at} 被释放。";
    expired_at(at: &str): "Not observed any more: expired by itself at {at}.", "已观察不到：于 {at} 自行过期。";
    unseen_at(at: &str): "Not observed any more: it went away unseen, noticed at {at}.", "已观察不到：它在无人看到时消失，于 {at} 发现。";
    observed(ago: &str): "observed {ago}", "观察于 {ago}";
    quorum_lost_in(left: &str): "Quorum is lost in {left}.", "{left}后失去法定多数。";
    expires_in(left: &str): "It expires by itself in {left}.", "{left}后自行过期。";
    does_not_expire: "It does not expire by itself.", "它不会自行过期。";
    lease_is_over: "Its lease is over.", "租约已结束。";
}

/// What the picture of the owners shows.
pub fn who_chart(holds: &str, owners: usize, forced: usize) -> String {
    match language() {
        Language::English => {
            let s = if owners == 1 { "" } else { "s" };
            format!(
                "{holds} by {owners} owner{s}, {forced} ended by force. Ticks are renewals, a cross is a forced end, what lies between two bars is time without an owner."
            )
        }
        Language::Chinese => format!(
            "{owners} 个持有者共 {holds}，其中 {forced} 次被强制结束。刻度表示续租，叉号表示强制结束，两段之间表示无持有者。"
        ),
    }
}

/// How a renewal is known.
pub fn source(source: Source) -> &'static str {
    match (language(), source) {
        (Language::English, Source::Feed) => "every change was told by the servers",
        (Language::English, Source::Poll) => {
            "by looking again and again: renewals between two looks count once"
        }
        (Language::English, Source::Api) => "the renewals went through this console",
        (Language::Chinese, Source::Feed) => "服务器通知了每一次变化",
        (Language::Chinese, Source::Poll) => "靠反复查看：两次查看之间的续租只算一次",
        (Language::Chinese, Source::Api) => "续租经由本控制台进行",
    }
}

/// How a hold ended.
pub fn ended(ending: Option<HowEnded>) -> &'static str {
    match (language(), ending) {
        (_, None) => holds_now(),
        (Language::English, Some(HowEnded::Released)) => "gone before its lease ended",
        (Language::English, Some(HowEnded::Expired)) => "expired",
        (Language::English, Some(HowEnded::TakenOver)) => "taken over",
        (Language::English, Some(HowEnded::Forced)) => "forced",
        (Language::English, Some(HowEnded::Unknown)) => "end not seen",
        (Language::Chinese, Some(HowEnded::Released)) => "租约到期前消失",
        (Language::Chinese, Some(HowEnded::Expired)) => "已过期",
        (Language::Chinese, Some(HowEnded::TakenOver)) => "被接管",
        (Language::Chinese, Some(HowEnded::Forced)) => "被强制释放",
        (Language::Chinese, Some(HowEnded::Unknown)) => "未看到结束",
    }
}

/// How often a lock was renewed and missed it, one clause each.
pub mod renewed {
    words! {
        seen(count: u32): "{count} seen", "看到 {count} 次";
        every(span: &str): ", every {span}", "，每 {span}一次";
        jitter(span: &str): " (± {span})", "（± {span}）";
        last(ago: &str): ", the last {ago}", "，最近一次在 {ago}";
        margin(left: &str): ", with {left} of the lease left", "，当时租约还剩 {left}";
        missed(beats: &str): ", {beats} missed", "，错过 {beats}";
        hands(times: u64): "; changes hands {times} times a minute, too fast to look at each", "；每分钟易手 {times} 次，快得无法逐一查看";
        count(renewals: &str): ", {renewals}", "，{renewals}";
        about: "about ", "约 ";
        before: "before ", "早于 ";
    }
}

/// The key as the nodes have it.
pub mod raw {
    words! {
        title: "As the nodes have it", "节点上的原始内容";
        hint: "Type, time to live, fields and members, read right now. What may prove ownership is masked: its fingerprint tells it from others.", "现在读取的类型、生存时间、字段和成员。可能证明所有权的内容已被掩盖：用指纹加以区分。";
        read: "Read it now", "现在读取";
        absent: "not there", "不存在";
        too_large: "too large to be a lock, not read", "过大，不可能是锁，未读取";
        lives(span: &str): "expires in {span}", "{span}后过期";
        lives_on: "no expiry", "无过期";
        masked(bytes: u32, fingerprint: &str): "{bytes} bytes, masked · {fingerprint}", "{bytes} 字节，已掩盖 · {fingerprint}";
        hidden(bytes: u32): "{bytes} bytes, not shown: no lock format recognizes this key", "{bytes} 字节，不显示：没有任何锁格式识别此键";
    }
}

/// Who waits.
pub mod waiting {
    words! {
        nobody: "Nobody is seen to wait. Only who asks this console and the queue of Redisson's fair lock can be seen.", "没有看到任何等待者。只能看到向本控制台请求的人和 Redisson 公平锁的队列。";
        more(more: usize): "and {more} more", "还有 {more} 个";
        all: "Who waits for whom", "谁在等待谁";
        here: "waits through this console", "通过本控制台等待";
        queue: "stands in Redisson's queue", "在 Redisson 队列中";
        since(ago: &str): ", since {ago}", "，始于 {ago}";
        deadlock: "deadlock", "死锁";
    }
}

/// What a flag means, in a sentence.
pub fn flag(flag: Flag) -> &'static str {
    match language() {
        Language::English => match flag {
            Flag::NoExpiry => "No expiry: the key has no time to live, only a release ends it.",
            Flag::AtRisk => {
                "At risk: it missed a renewal, or under a fifth of its lease is left although it is usually held for longer."
            }
            Flag::Overdue => "Overdue: it is held past its own time, or far longer than usual.",
            Flag::Endless => "Endless: it has been renewed past the configured longest hold.",
            Flag::Contended => "Contended: others want it too; below is how that is known.",
            Flag::Split => "Split: a second owner stands beside the one that has the quorum.",
            Flag::Fragment => "Fragment: the owner is on fewer nodes than the quorum.",
            Flag::RestartHazard => {
                "Restart hazard: a node that counts restarted less than the longest lease ago, without safe persistence."
            }
        },
        Language::Chinese => match flag {
            Flag::NoExpiry => "无过期：键没有生存时间，只有释放才能结束它。",
            Flag::AtRisk => {
                "有风险：未按时续租，或者租约剩余不足五分之一，而它的持有时长通常超过租约。"
            }
            Flag::Overdue => "超时过久：已超过自身时间，或者远超通常的持有时长。",
            Flag::Endless => "不断续租：续租已超过配置的最长持有时间。",
            Flag::Contended => "争用：还有其他人想要它；依据见下。",
            Flag::Split => "分裂：在拥有法定多数的持有者之外还有第二个持有者。",
            Flag::Fragment => "残片：持有者所在的节点少于法定多数。",
            Flag::RestartHazard => {
                "重启隐患：一个计入多数的节点在最长租约时间内重启过，且没有安全的持久化。"
            }
        },
    }
}

/// What an owner is called in a sentence.
pub fn name(owner: &Owner) -> String {
    let name = match (language(), &owner.label) {
        // What stands around it says that it is an owner.
        (Language::Chinese, None) => owner.fingerprint.as_str()[..8].to_owned(),
        (Language::English | Language::Chinese, _) => format::visible(&owner.name()),
    };
    format::shorten(&name, 80)
}

/// The verdict in words that a tired person understands.
pub fn verdict(lock: &Lock) -> String {
    let Language::Chinese = language() else {
        return format::visible(&lock.sentence());
    };
    let asked = lock.nodes.len();
    let holding = |owner: &Owner| {
        let nodes = lock.nodes.iter();
        nodes.filter(|node| node.answer.shows(owner)).count()
    };
    let nodes = lock.nodes.iter();
    let silent = nodes.filter(|node| !node.answer.is_answer()).count();
    let quorum = crate::domain::quorum::majority(asked);
    let unreachable = match silent {
        0 => String::new(),
        n => format!("有 {n} 个节点无法询问。"),
    };
    let on_first = lock.owners.first().map_or(0, holding);
    match (lock.verdict, &lock.owner) {
        (Verdict::Held, Some(owner)) if asked == 1 => match lock.owners.len() {
            0 | 1 => format!("由 {} 持有。", name(owner)),
            n => format!("由 {} 和另外 {} 个持有者持有。", name(owner), n - 1),
        },
        (Verdict::Held, Some(owner)) => {
            let on = holding(owner);
            format!(
                "由 {} 在 {asked} 个节点中的 {on} 个上持有；{quorum} 个即为法定多数。{unreachable}",
                name(owner)
            )
        }
        (Verdict::Split, _) => {
            let owners = lock.owners.iter();
            let each: Vec<String> = owners
                .map(|owner| format!("{} 在 {} 个上", name(owner), holding(owner)))
                .collect();
            format!(
                "分裂：{asked} 个节点中，{}。没有看到任何持有者达到法定多数 {quorum}。{unreachable}",
                each.join("，")
            )
        }
        (Verdict::Partial, _) => format!(
            "仅在 {asked} 个节点中的 {on_first} 个上；法定多数需要 {quorum} 个。没有人持有它：这是一次失败或即将消失的获取留下的残余。{unreachable}"
        ),
        (Verdict::Unknown, _) if silent == asked => match lock.owners.first() {
            Some(owner) => format!("没有一个节点可以询问。最后看到的持有者是 {}。", name(owner)),
            None => "没有一个节点可以询问。".to_owned(),
        },
        (Verdict::Unknown, _) | (Verdict::Held, None) => format!(
            "在 {asked} 个节点中的 {on_first} 个上看到；无法询问的节点可能使它成为已持有（需要 {quorum} 个）。{unreachable}"
        ),
    }
}
