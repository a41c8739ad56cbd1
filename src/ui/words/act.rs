//! Acting: releasing somebody else's lock, acquiring one, and looking after one's own.

use super::{Language, language};

words! {
    asking: "The nodes are being asked", "正在询问节点";
    asking_nodes: "Asking the nodes…", "正在询问节点…";
    cancel: "Cancel", "取消";
    close: "Close", "关闭";
    release: "Release", "释放";
    release_of: "Release ", "释放 ";
    of_group(group: &str, environment: &str): " of {group} ({environment})?", "（{environment}组 {group}）？";
    on_nodes(nodes: &str, group: &str, environment: &str): " on {nodes} of {group} ({environment})?", "（{environment}组 {group}，{nodes}）？";
    on_some_nodes(on: usize, nodes: &str, group: &str, environment: &str): " on {on} of {nodes} of {group} ({environment})?", "（{environment}组 {group}，{nodes}中的 {on} 个）？";
    cannot_be_reached(nodes: &str): "{nodes} cannot be reached and may still hold it.", "{nodes} 无法访问，可能仍持有它。";
    keeps_a_quorum: "That is enough for a quorum: until they are back, its owner may go on holding the lock.", "这些节点已够多数：在它们恢复之前，持有者可能仍持有该锁。";
    unknown_group: "?", "？";
    whose: "Several owners are seen. Whose hold?", "看到多个持有者。释放哪一个？";
    does_not_stop: "This does not stop the process that believes it holds the lock.", "这不会停止那个认为自己持有该锁的进程。";
    reason: "Reason", "原因";
    reason_hint: "Written down with the act, before it is done.", "在执行之前随操作记录下来。";
    reason_first: "Give a reason first: it is written down with the act", "请先填写原因：它会随操作记录下来";
    type_name: "Type the lock's name to confirm", "输入锁的名称以确认";
    type_fingerprint: "Type the owner's fingerprint to confirm", "输入持有者的指纹以确认";
    cannot_be_typed: "The lock's name cannot be typed: it is empty, very long, or has invisible characters. Spaces do not matter.", "此锁的名称无法输入：它为空、过长，或者含有不可见字符。空格不影响。";
    first(what: &str): "{what} first", "请先{what}";
    copy_name: "Copy the name", "复制名称";
    kept: "What you typed before is still here.", "你之前输入的内容仍在这里。";
    kept_for_another: "Your reason is still here. The owner has changed since you typed it: look again before you confirm.", "你填写的原因仍在这里。此后持有者已改变：确认之前请再看一遍。";
    owner_changed: "The owner changed", "持有者已改变";
    acquired_again: "The owner acquired the lock again", "持有者重新获取了该锁";
    not_observed: "The lock is not observed any more", "已观察不到该锁";
    owner_changed_to(ago: &str, owner: &str): "The owner changed {ago}: {owner}.", "持有者于 {ago}改变：{owner}。";
    let_go_and_again: "The same owner let it go and acquired it again: it is not the hold that you saw.", "同一持有者放开后又重新获取了它：这已不是你看到的那次持有。";
    has_expired(ago: &str): "It has expired by itself, {ago}.", "它已于 {ago}自行过期。";
    was_released(ago: &str): "It was gone {ago}, before its lease ended, and not by this dialog.", "它于 {ago}在租约到期前消失，并非通过此对话框释放。";
    noticed_gone(ago: &str): "It is not observed any more; that was noticed {ago}.", "已观察不到它；这是 {ago}发现的。";
    what_you_saw: "What you saw", "你看到的";
    now: "Now", "现在";
    owner: "Owner", "持有者";
    fingerprint: "Fingerprint", "指纹";
    held_for: "Held for", "已持有";
    lease: "Lease", "租约";
    this_library: "This library", "这个库";
    afterwards: "Afterwards", "之后";
    no_label: "no readable part", "没有可读部分";
    held_and_renewals(held: &str, renewals: &str): "{held}; renewals: {renewals}", "{held}；续租：{renewals}";
    never_expires: "does not expire by itself", "不会自行过期";
    expires_in(left: &str): "expires by itself in {left}", "{left}后自行过期";
    lease_over: "its lease is over; it should be gone any moment", "租约已结束；随时应会消失";
    past_its_time(since: &str): "past its own time for {since}; the key does not expire by itself", "已超过自身时间 {since}；键不会自行过期";
    watched(span: &str): "watched for {span}", "之后观察 {span}";
    watched_may_come_back(span: &str): "watched for {span}: a live owner may put it back, which undoes the release", "之后观察 {span}：仍在运行的持有者可能会把它放回来，使释放失效";
    releasing: "Releasing ", "释放 ";
    does_harm: " does harm", " 会造成损害";
    all_the_same: "Go on all the same…", "仍要继续…";
    released: "Released ", "已释放 ";
    partly_released: "Partly released: ", "部分释放：";
    partly_released_advice: "The console releases it on the other nodes as they come back, for up to an hour. The audit shows when that is done.", "其他节点恢复后，控制台会在一小时内继续在其上释放。完成时会记录在审计中。";
    at(when: &str): ", at {when}.", "，时间 {when}。";
    what_became: "What became of it", "后来怎样了";
    watching: "Watching for another ", "继续观察 ";
    absent_watching: "Not observed since. Watching for another ", "此后未再观察到。继续观察 ";
    one_interval: ", one renewal interval: an owner that still runs would put it back by then.", "，即一个续租间隔：仍在运行的持有者会在此之前把它放回来。";
    gone: "Gone: not observed for one renewal interval.", "已消失：一个续租间隔内未再观察到。";
    put_back(at: &str): "Put back by its old owner at {at}.", "于 {at} 被原持有者放回。";
    put_back_advice: "The process that holds it still runs and renews. Stop that process first.", "持有它的进程仍在运行并续租。请先停止那个进程。";
    taken(at: &str, by: &str): "Taken by another owner at {at}: {by}.", "于 {at} 被另一个持有者获取：{by}。";
    taken_advice: "That is what usually follows a release: somebody was waiting. It is theirs now.", "释放之后通常如此：有人在等待。现在它属于对方。";
    still_there: "It never went away: a node still shows the old owner.", "它从未消失：仍有节点显示原持有者。";
    still_there_advice: "Look at the nodes that could not be asked, then release it again.", "请查看无法询问的节点，然后再次释放。";
    nothing_done: "Nothing was done. Close this and look again before you decide.", "没有执行任何操作。请关闭此对话框，再看一遍后决定。";
    in_audit: "Find it in the audit", "在审计中查看";
    on_each_node: "What happened on each node", "各节点上的结果";
    on_its_node: "Released on its node", "已在其节点上释放";
    on_some(on: usize, all: usize): "Released on {on} of {all} nodes", "已在 {all} 个节点中的 {on} 个上释放";
}

/// What an act did on one node.
pub mod node {
    words! {
        acquired: "acquired", "已获取";
        extended: "extended", "已延长";
        released: "released", "已释放";
        releasable: "would be released", "将被释放";
        not_held: "was not there", "不在那里";
        other(owner: &str): "another owner, not touched: {owner}", "另一个持有者，未触碰：{owner}";
        other_unknown: "another owner, not touched", "另一个持有者，未触碰";
        another_hold: "renewed or acquired again, not touched", "已续租或重新获取，未触碰";
        pending: "had not answered yet", "尚未回答";
        failed(why: &str): "not known: {why}", "未知：{why}";
    }
}

/// Acquiring a lock.
pub mod acquire {
    words! {
        title: "Acquire a lock", "获取锁";
        no_group: "There is no group to acquire in", "没有可以获取锁的组";
        how_long_first: "Say for how long, as a number above 0", "请填写时长：一个大于 0 的数";
        wait_first: "Say how long to wait, in seconds", "请填写等待时长，以秒为单位";
        group: "Group", "组";
        lock: "Lock", "锁";
        lock_hint: "The Redis key, exactly as your programs write it.", "Redis 键，与你的程序写入的完全一致。";
        how_long: "For how long", "时长";
        unit: "Unit", "单位";
        ms: "milliseconds", "毫秒";
        s: "seconds", "秒";
        min: "minutes", "分钟";
        keep: "Keep it: renew at a third of the lease", "保持：在租约的三分之一处续租";
        keep_hint: "The console renews it until you release it, also while this page is closed, for as long as the group allows.", "控制台会一直续租，直到你释放它；即使关闭本页也会继续，以该组允许的时长为限。";
        format: "Format", "格式";
        wait: "Wait up to (seconds)", "最多等待（秒）";
        label: "Label (optional)", "标签（可选）";
        label_hint: "What others see as its owner. Not a secret.", "其他人看到的持有者名称。不是秘密。";
        acquire: "Acquire", "获取";
    }
}

/// The locks acquired from here.
pub mod mine {
    words! {
        page: "Mine · Lockkeeper", "我的锁 · Lockkeeper";
        title: "Locks acquired from here", "从这里获取的锁";
        none: "No lock was acquired from here", "没有从这里获取的锁";
        none_hint: "A lock acquired here excludes, and is excluded by, every program that locks the same key. Use it to try a group out, or to keep others away while you work.", "在这里获取的锁与锁定同一键的所有程序互斥。可以用它来试用一个组，或者在你操作时把其他人挡在外面。";
        how_it_ended: "How it ended", "如何结束";
        released: "Released.", "已释放。";
        once_more: "Released once. It was entered more often: it is free after one more release.", "已释放一次。它被多次进入：再释放一次后才会放开。";
        more(holds: u32): "Released once. It was entered more often: it is free after {holds} more releases.", "已释放一次。它被多次进入：再释放 {holds} 次后才会放开。";
        not_on_board: "not on the board: its name matches no scanned pattern, or it is not observed", "不在看板上：名称不匹配任何扫描模式，或者没有观察到它";
        somebody_else(owner: &str): "held by somebody else: {owner}", "由其他人持有：{owner}";
        seen_on(on: usize, nodes: &str): "seen on {on} of {nodes}", "在 {nodes}中的 {on} 个上看到";
        is_lost: "It is lost: acquire it again", "它已丢失：请重新获取";
        valid_for: "valid for", "有效期";
        lease_over: "Its lease is over: do not rely on it any more. Extending it works only if no node lost it.", "租约已结束：不要再依赖它。只有在没有节点丢失它时才能延长。";
        taken_for(span: &str): "Taken for {span}", "获取时长 {span}";
        fingerprint: ". Fingerprint ", "。指纹 ";
        fence(token: u64): ", fencing token {token}", "，防护令牌 {token}";
        extend_by(span: &str): "Extend by {span}", "延长 {span}";
        what_is_left: "Release what is left", "释放剩余部分";
        node_acts: "What the nodes did", "各节点做了什么";
        lost(why: &str): "Lost: {why}.", "已丢失：{why}。";
        lost_advice: "Whatever relies on it has to stop: nothing keeps others away any more.", "依赖它的一切都必须停止：已没有任何东西阻挡其他人。";
        renewed_once: ", renewed once", "，已续租一次";
        renewed(times: u32): ", renewed {times} times", "，已续租 {times} 次";
        no_more(limit: &str): ", and no more: {limit} is the most that this group allows", "，不再续租：该组最多允许 {limit}";
        kept: ", kept by the console", "，由控制台保持";
        token_handed_out: "The token was handed out; it is handed out once", "令牌已交出；它只交出一次";
        token_copied: "The token is on the clipboard. Whoever has it can extend and release this lock.", "令牌已复制到剪贴板。持有它的人可以延长和释放此锁。";
        token_not_copied: "This browser does not let the page copy. Allow it, then press again.", "此浏览器不允许本页复制。请允许后再按一次。";
        copy_token: "Copy token once", "复制令牌（仅一次）";
    }
}

/// Counting attempts on one node.
pub mod sample {
    words! {
        taking: "A sample is being taken", "正在取样";
        take(node: &str, seconds: u32): "Sample attempts on {node} for {seconds} s", "在 {node} 上取样 {seconds} 秒";
        title: "Count attempts", "统计尝试次数";
        hint: "Records everything that is asked of one node (MONITOR). While it runs, the node works a quarter up to twice as much for each command. Nothing that was sent is kept or shown.", "记录对一个节点的所有请求（MONITOR）。期间该节点处理每条命令的开销会增加四分之一到一倍。发送的内容不会被保存或显示。";
        about(commands: u64, node: &str, span: &str, early: &str): "{commands} commands on {node} in {span}{early}.", "{node} 在 {span}内有 {commands} 条命令{early}。";
        early(why: &str): " (ended early: {why})", "（提前结束：{why}）";
        nobody: "Nobody tried to take this lock in that time.", "这段时间内没有人尝试获取此锁。";
        attempts: "Attempts", "尝试";
        failed: "Failed", "失败";
        from: "From", "来自";
    }
}

/// Held once or more after a release.
pub fn holds(holds: u32) -> String {
    match (language(), holds) {
        (Language::English, 1) => "released once, held once more".to_owned(),
        (Language::English, holds) => format!("released once, held {holds} times more"),
        (Language::Chinese, holds) => format!("已释放一次，仍持有 {holds} 次"),
    }
}
