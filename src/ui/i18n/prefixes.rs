//! The prefixes under which locks of a group were found.

messages! {
    title: "Prefixes of locks", "锁的前缀";
    group_prefixes(group: &str): "Prefixes of locks in {group}", "{group} 中锁的前缀";
    hint: "A new key is read as soon as a node reports it if its name starts like known locks and most such keys are locks. A pinned prefix is always followed. Locks with an excluded prefix are not listed.", "如果新键的名称与已知锁的前缀相同，且此类键大多是锁，节点通知后会立即读取。固定的前缀始终会被跟踪。带有已排除前缀的锁不会列出。";
    loading: "Loading the prefixes…", "正在加载前缀…";
    none: "No lock with a prefix was found yet.", "尚未发现带前缀的锁。";
    not_loaded: "The database is unavailable. The list has only what was found since the console started, and changes are rejected.", "数据库不可用。列表仅包含控制台启动后的发现，且无法保存更改。";
    excluded_count(count: usize): one "1 prefix is excluded: its locks are not listed.", other "{count} prefixes are excluded: their locks are not listed.", "已排除 {count} 个前缀，相应的锁不会列出。";
    excluded_by_config: "Excluded by the configuration: ", "配置中排除的模式：";
    prefix: "Prefix", "前缀";
    learned: "Learned", "发现方式";
    formats: "Formats", "格式";
    last_seen: "Last seen", "最近出现";
    state: "State", "状态";
    actions: "Actions", "操作";
    by_scan(locks: u32, ago: String): one "1 lock found by the scan, {ago}", other "{locks} locks found, the first by the scan, {ago}", "已发现 {locks} 把锁，首次由扫描发现，{ago}";
    by_feed(locks: u32, ago: String): one "1 lock found by a notification, {ago}", other "{locks} locks found, the first by a notification, {ago}", "已发现 {locks} 把锁，首次由变更通知发现，{ago}";
    by_operation(locks: u32, ago: String): one "1 lock acquired in this console, {ago}", other "{locks} locks found, the first acquired in this console, {ago}", "已发现 {locks} 把锁，首次由本控制台获取，{ago}";
    by_admin: "entered by an admin; no lock found yet", "由管理员输入；尚未发现锁";
    others(others: u32): one "1 other key", other "{others} other keys", "{others} 个其他键";
    not_followed: "not followed: too many other keys", "未跟踪：其他键过多";
    config_excludes: "excluded by the configuration", "已被配置排除";
    changed(who: String, ago: String): "by {who}, {ago}", "由 {who} 更改，{ago}";
    pin: "Pin", "固定";
    exclude: "Exclude", "排除";
    reset: "Reset", "重置";
    name: "Name", "名称";
    save: "Save", "保存";
    saving: "Saving…", "正在保存…";
    action_for(action: &str, prefix: &str): "{action}: {prefix}", "{action}：{prefix}";
}
