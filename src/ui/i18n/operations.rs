//! Operations: force-release, acquire, and the locks of this console.

use super::{Locale, locale};

messages! {
    querying: "Querying the nodes", "正在查询节点";
    querying_nodes: "Querying the nodes…", "正在查询节点…";
    cancel: "Cancel", "取消";
    close: "Close", "关闭";
    release: "Release", "释放";
    release_of: "Release ", "释放 ";
    of_group(group: &str, environment: &str): " of {group} ({environment})?", "（{environment}组 {group}）？";
    on_nodes(nodes: &str, group: &str, environment: &str): " on {nodes} of {group} ({environment})?", "（{environment}组 {group}，{nodes}）？";
    on_some_nodes(on: usize, nodes: &str, group: &str, environment: &str): " on {on} of {nodes} of {group} ({environment})?", "（{environment}组 {group}，{nodes}中的 {on} 个）？";
    cannot_be_reached(nodes: &str): "{nodes} cannot be reached and may still hold the lock.", "{nodes} 无法访问，可能仍保留该锁。";
    keeps_a_quorum: "These nodes are a quorum: the owner may keep the lock until they are back.", "这些节点已构成多数派：在其恢复之前，持有者可能仍持有该锁。";
    unknown_group: "?", "？";
    choose_owner: "Several owners hold this lock. Which one to release?", "该锁有多个持有者。要释放哪一个？";
    lease_keys: "Show the keys of its lease", "显示其租约的键";
    no_lease: "The lock has no lease.", "该锁没有租约。";
    keys_outside(count: u32): "{count} keys of the lease are outside of the configured prefixes, so it cannot be revoked here.", "该租约有 {count} 个键位于所配置的前缀之外，因此无法在此撤销。";
    too_many_keys(count: u32): "The lease has {count} keys, too many to be revoked here.", "该租约有 {count} 个键，数量过多，无法在此撤销。";
    revoke_lease(count: u32): "Revoke the lease instead. Keys that are deleted: {count}", "改为撤销租约，将删除的键数：{count}";
    revoke_lease_hint: "The owner’s client can notice that its lease ended. Everything that the client holds with the same lease ends too:", "持有者的客户端能够察觉租约已结束。该客户端用同一租约持有的其他键也会一并失效：";
    cancel_statement: "Cancel the running statement instead", "改为取消正在执行的语句";
    cancel_statement_hint: "The connection stays open. Only a lock of the transaction is released; a lock of the session stays.", "连接保持打开。仅释放属于事务的锁，属于会话的锁不会释放。";
    contender_of(name: &str): "holds or waits for {name}", "持有或等待 {name}";
    process_keeps_running: "The process keeps running and may still believe that it holds the lock.", "进程会继续运行，并可能仍认为自己持有该锁。";
    reason: "Reason", "原因";
    reason_hint: "Recorded in the audit log before the release.", "释放前写入审计日志。";
    reason_required: "Enter a reason; it is recorded in the audit log", "请填写原因，原因会写入审计日志";
    type_name: "Type the lock's name to confirm", "输入锁的名称以确认";
    type_fingerprint: "Type the owner's fingerprint to confirm", "输入持有者的指纹以确认";
    name_cannot_be_typed: "The lock's name cannot be typed: it is empty, too long, or contains invisible characters. Spaces are ignored.", "该锁的名称无法输入：名称为空、过长或包含不可见字符。空格会被忽略。";
    do_first(what: &str): "{what} first", "请先{what}";
    copy_name: "Copy name", "复制名称";
    draft_restored: "Your earlier input was restored.", "已恢复之前的输入。";
    draft_restored_owner_changed: "Your reason was restored. The owner has changed since you entered it; check the lock before you confirm.", "已恢复之前填写的原因。此后持有者已变化，请确认锁的状态后再继续。";
    owner_changed: "The owner has changed", "持有者已变化";
    acquired_again: "The owner acquired the lock again", "持有者重新获取了该锁";
    not_observed: "The lock is no longer observed", "已观测不到该锁";
    owner_changed_to(ago: &str, owner: &str): "The owner changed {ago} to {owner}.", "持有者于 {ago}变更为 {owner}。";
    same_owner_reacquired: "The same owner released the lock and acquired it again; it is a different hold.", "同一持有者释放后又重新获取了该锁，已不是同一次持有。";
    has_expired(ago: &str): "The lock expired {ago}.", "该锁已于 {ago}自动过期。";
    was_released(ago: &str): "The lock was released {ago}, before its lease ended and not by this dialog.", "该锁已于 {ago}在租约到期前释放，并非由此对话框执行。";
    gone_since(ago: &str): "The lock is no longer observed (noticed {ago}).", "已观测不到该锁（{ago}发现）。";
    before: "Before", "之前";
    now: "Now", "现在";
    owner: "Owner", "持有者";
    fingerprint: "Fingerprint", "指纹";
    held_for: "Held for", "持有时长";
    lease: "Lease", "租约";
    after_release: "After release", "释放之后";
    no_label: "no label", "无标签";
    never_expires: "does not expire", "不会自动过期";
    ends_with_session: "ends with the owner’s session or connection", "随持有者的会话或连接结束";
    expires_in(left: &str): "expires in {left}", "{left}后自动过期";
    lease_over: "lease expired; the key should disappear shortly", "租约已过期，键即将消失";
    expired_since(since: &str): "lease expired {since} ago; the key does not expire", "租约已过期 {since}；键不会自动过期";
    watched(span: &str): "watched for {span}", "观察 {span}";
    watched_may_come_back(span: &str): "watched for {span}: a running owner may create the lock again", "观察 {span}：仍在运行的持有者可能会重新写入该锁";
    releasing: "Releasing ", "释放 ";
    has_side_effects: " has side effects", " 有副作用";
    continue_anyway: "Continue anyway…", "仍要继续…";
    released: "Released ", "已释放 ";
    partly_released: "Partially released: ", "部分释放：";
    partly_released_advice: "The console releases the lock on the remaining nodes when they are back, for up to one hour. Completion is recorded in the audit log.", "其余节点恢复后，控制台会在一小时内继续释放。完成后会记录到审计日志。";
    at(when: &str): ", at {when}.", "，时间 {when}。";
    release_watch: "After release", "释放之后";
    watching: "Watching for another ", "继续观察 ";
    absent_watching: "Not observed since. Watching for another ", "此后未再观测到。继续观察 ";
    renewal_interval: ", one renewal interval: a running owner would create the lock again by then.", "，即一个续租间隔：仍在运行的持有者会在此期间重新写入该锁。";
    released_for_good: "Released. The lock was not created again within one renewal interval.", "已释放。一个续租间隔内未再次出现。";
    reacquired(at: &str): "The old owner created the lock again at {at}.", "原持有者已于 {at} 重新写入该锁。";
    reacquired_advice: "The owner's process is still running and renewing. Stop that process first.", "持有者的进程仍在运行并续租。请先停止该进程。";
    taken_over(at: &str, by: &str): "Acquired by another owner at {at}: {by}.", "已于 {at} 被其他持有者获取：{by}。";
    taken_over_advice: "This is normal after a release: another client was waiting for the lock.", "释放后由等待中的其他客户端获取，属于正常情况。";
    still_held: "The lock is still there: a node still reports the old owner.", "锁仍然存在：仍有节点报告原持有者。";
    still_held_advice: "Check the nodes that could not be reached, then release the lock again.", "请检查无法访问的节点，然后重新释放。";
    nothing_changed: "Nothing was changed. Close this dialog and check the lock again before you decide.", "未做任何更改。请关闭此对话框，重新确认锁的状态后再决定。";
    view_in_audit_log: "View in audit log", "查看审计日志";
    result_per_node: "Result per node", "各节点结果";
    released_on_node: "Released on its node", "已在其节点上释放";
    released_on_nodes(on: usize, all: usize): "Released on {on} of {all} nodes", "已在 {all} 个节点中的 {on} 个上释放";
}

/// The outcome of an operation on one node.
pub mod node {
    messages! {
        acquired: "acquired", "已获取";
        extended: "extended", "已续租";
        released: "released", "已释放";
        releasable: "would be released", "将被释放";
        not_held: "was absent", "无此键";
        other(owner: &str): "other owner, unchanged: {owner}", "其他持有者，未更改：{owner}";
        other_unknown: "other owner, unchanged", "其他持有者，未更改";
        other_hold: "renewed or acquired again, unchanged", "已续租或重新获取，未更改";
        pending: "no reply yet", "尚未应答";
        failed(why: &str): "unknown: {why}", "未知：{why}";
    }
}

/// Acquiring a lock.
pub mod acquire {
    messages! {
        title: "Acquire a lock", "获取锁";
        no_group: "No group is available for acquiring locks", "没有可用于获取锁的组";
        lease_required: "Enter a lease greater than 0", "请输入大于 0 的租约时长";
        wait_required: "Enter the wait time in seconds", "请输入等待时间（秒）";
        group: "Group", "组";
        lock: "Lock", "锁";
        lock_hint: "The key or path, exactly as your programs use it.", "键或路径，须与程序中使用的完全一致。";
        lease: "Lease", "租约时长";
        unit: "Unit", "单位";
        ms: "milliseconds", "毫秒";
        s: "seconds", "秒";
        min: "minutes", "分钟";
        auto_renew: "Auto-renew", "自动续租";
        auto_renew_hint: "The console renews the lock each time a third of the lease has passed, until you release it or a limit of the group is reached. Renewal continues when this page is closed.", "租约每过三分之一，控制台续租一次，直到您释放该锁或达到该组的上限。关闭本页后仍会继续续租。";
        format: "Format", "格式";
        max_wait: "Maximum wait (seconds)", "最长等待（秒）";
        label: "Label (optional)", "标签（可选）";
        label_hint: "Shown to others as the owner. Not a secret.", "作为持有者展示给其他人，不属于保密信息。";
        acquire: "Acquire", "获取";
    }
}

/// The locks acquired through this console.
pub mod mine {
    messages! {
        page: "My locks · Lockkeeper", "我的锁 · Lockkeeper";
        title: "My locks", "我的锁";
        no_locks: "You hold no locks", "您未持有任何锁";
        no_locks_hint: "A lock acquired here is a real lock: other clients of the same key are blocked. Use it to test a group or to block workers during maintenance.", "在此获取的是真实的锁，使用同一键的其他客户端会被阻塞。可用于测试某个组，或在维护期间阻止其他进程操作。";
        release_result: "Result", "结果";
        released: "Released.", "已释放。";
        more_releases_needed(n: u32): one "Released once. The lock was acquired more than once; 1 more release is needed.", other "Released once. The lock was acquired more than once; {n} more releases are needed.", "已释放一次。该锁曾被多次获取，还需释放 {n} 次。";
        not_in_index: "not in the index: the name matches no scanned pattern, or the lock is not observed", "未收录到索引：名称不匹配任何扫描模式，或未观测到该锁";
        held_by_other(owner: &str): "held by another owner: {owner}", "由其他持有者持有：{owner}";
        observed_on(on: usize, nodes: &str): "observed on {on} of {nodes}", "在 {nodes}中的 {on} 个上观测到";
        lock_lost: "Lock lost. Acquire it again", "锁已丢失，请重新获取";
        valid_for: "valid for", "有效期";
        lease_expired: "Lease expired. Do not rely on the lock. Extending works only if a quorum of nodes still has it.", "租约已过期，请勿再依赖该锁。仅当多数节点仍保留该锁时才能续租。";
        lease(span: &str): "{span} lease", "租约 {span}";
        observed_label: ". Label ", "。标签 ";
        fingerprint: ". Fingerprint ", "。指纹 ";
        fencing_token(token: u64): ", fencing token {token}", "，fencing 令牌 {token}";
        extend_to(span: &str): "Extend to {span}", "续租至 {span}";
        release_rest: "Release the rest", "释放剩余部分";
        result_per_node: "Result per node", "各节点结果";
        lost_reason(why: &str): "Lock lost: {why}.", "锁已丢失：{why}。";
        lost_advice: "Stop all work that relies on this lock: other clients can acquire it now.", "请停止依赖该锁的所有操作：其他客户端现在可以获取该锁。";
        renewed(times: u32): one "renewed once", other "renewed {times} times", "已续租 {times} 次";
        renewal_limit_reached(limit: &str): "auto-renewal stopped at the limit of this group ({limit})", "已达该组上限（{limit}），不再自动续租";
        auto_renewed: "auto-renewed by the console", "由控制台自动续租";
        token_already_copied: "The token was already copied; it can be copied only once", "令牌已复制过，仅能复制一次";
        token_copied: "The token was copied to the clipboard. Anyone who has it can extend and release this lock.", "令牌已复制到剪贴板。持有令牌的任何人都可以续租和释放该锁。";
        token_not_copied: "The browser blocked copying. Allow clipboard access, then try again.", "浏览器禁止复制。请允许访问剪贴板后重试。";
        copy_token: "Copy token (once)", "复制令牌（仅一次）";
    }
}

/// Sampling acquire attempts on one node.
pub mod sample {
    messages! {
        in_progress: "Sampling in progress", "正在采样";
        sample(node: &str, seconds: u32): "Sample {node} for {seconds} s", "在 {node} 上采样 {seconds} 秒";
        title: "Sample attempts", "采样获取请求";
        hint: "Runs MONITOR on one node. While it runs, each command costs the node 25–100 % more CPU time. The sampled commands are neither stored nor shown.", "在一个节点上运行 MONITOR。运行期间该节点处理每条命令的 CPU 开销会增加 25%～100%。采样到的命令不会保存或显示。";
        summary(commands: u64, node: &str, span: &str, early: &str): "{commands} commands on {node} in {span}{early}.", "{node} 在 {span}内执行了 {commands} 条命令{early}。";
        ended_early(why: &str): " (ended early: {why})", "（提前结束：{why}）";
        no_attempts: "No attempts to acquire this lock in that time.", "采样期间没有获取该锁的尝试。";
        attempts: "Attempts", "尝试";
        failed: "Failed", "失败";
        client: "Client", "客户端";
    }
}

/// The remaining hold count after a release.
pub fn holds_left(holds: u32) -> String {
    match (locale(), holds) {
        (Locale::English, 1) => "released once, 1 hold left".to_owned(),
        (Locale::English, holds) => format!("released once, {holds} holds left"),
        (Locale::Chinese, holds) => format!("已释放一次，仍持有 {holds} 次"),
    }
}
