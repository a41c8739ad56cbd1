//! The shell around every page: navigation, settings, banners and sign-in.

use crate::domain::Locale;
use crate::ui::i18n::locale;

messages! {
    skip: "Skip to content", "跳到正文";
    pages: "Pages", "页面";
    locks: "Locks", "锁";
    owners: "Owners", "持有者";
    nodes: "Nodes", "节点";
    waits: "Waits", "等待";
    activity: "Activity", "活动";
    mine: "My locks", "我的锁";
    audit: "Audit", "审计";
    menu: "Menu", "菜单";
    webhooks: "Webhooks", "Webhook 通知";
    what_is_this: "What is this?", "这是什么？";
    help: "Help", "帮助";
    javascript_disabled: "JavaScript is disabled, so this page does not update. Reload it for current data.", "JavaScript 已禁用，本页不会自动更新。如需最新数据，请刷新页面。";
    page_crashed: "The page crashed.", "页面已崩溃。";
    page_crashed_advice: "No locks were changed. Reload the page. If it crashes again, the browser console shows the error. ", "锁未受影响。请刷新页面；如再次崩溃，请查看浏览器控制台中的错误信息。";
    reload: "Reload", "刷新";
    loading_chunk: "Loading this part of the console…", "正在加载控制台的这一部分…";
    chunk_load_failed: "This part of the console could not be loaded.", "控制台的这一部分加载失败。";
    chunk_load_failed_advice: "The console does not respond, or was restarted with another version. No locks were changed.", "控制台无响应，或已使用其他版本重启。锁未受影响。";

    copy_link: "Copy link", "复制链接";
    settings: "Settings", "设置";
    theme: "Theme", "主题";
    system_theme: "System theme", "跟随系统";
    light: "Light", "浅色";
    dark: "Dark", "深色";
    language: "Language", "语言";
    rows: "Row density", "行密度";
    comfortable: "Comfortable", "宽松";
    dense: "Dense", "紧凑";
    time_zone: "Times of day", "时刻显示";
    utc: "UTC", "UTC";
    local_time: "Local time", "本地时间";
    enable_notifications: "Enable notifications", "开启通知";
    disable_notifications: "Disable notifications", "关闭通知";
    notifications_enabled: "The browser notifies you when more locks need attention while this tab is in the background.", "当此标签页处于后台，且有更多锁需要处理时，浏览器会通知您。";
    notifications_blocked: "The browser blocks notifications. Allow them in the site settings next to the address bar.", "浏览器已阻止通知。请在地址栏旁的网站设置中允许通知。";

    // Freshness of the data.
    connecting: "connecting", "正在连接";
    live: "live", "实时";
    live_since(ago: String): "live, {ago}", "实时，{ago}";
    not_live_since(ago: String): "not live, {ago}", "非实时，{ago}";
    live_announcement: "Live", "已开始实时更新";
    stale_announcement: "No longer live", "已停止实时更新";
    live_tooltip: "Time since the locks were last read from their nodes", "距上次从节点读取锁的时间";

    // Banners.
    stale_for(span: String): "Not live: no data from the console for {span}.", "非实时：已有 {span}未收到控制台的数据。";
    stale_advice(time: String): "The data is as of {time} and may be outdated. Updates resume automatically when the console responds.", "数据截至 {time}，可能已过时。控制台恢复响应后，本页会自动继续更新。";
    config_error: "The configuration file has an error. The previous configuration stays in effect.", "配置文件有错误，当前仍使用之前的配置。";
    config_error_advice: "Fix the file; it is reloaded automatically. Then reload this page.", "请修正该文件，控制台会自动重新加载。之后请刷新本页。";
    unencrypted: "Passwords and tokens are sent over the network unencrypted.", "密码和令牌以明文形式在网络上传输。";
    unencrypted_advice: "Configure a TLS certificate, or listen on 127.0.0.1 behind a reverse proxy that terminates TLS. Until then, anyone on the network path can read them.", "请配置 TLS 证书，或仅监听 127.0.0.1 并由反向代理终止 TLS。在此之前，传输路径上的任何人都可以读取这些凭据。";
    group_unreachable(group: &str): "No node of {group} is reachable.", "{group} 的所有节点均无法访问。";
    group_unreachable_since(group: &str, time: String): "No node of {group} has been reachable since {time}.", "自 {time} 起，{group} 的所有节点均无法访问。";
    other_groups_unreachable(groups: String): "No node of {groups} is reachable either. ", "{groups} 的所有节点也无法访问。";
    node_reason(node: &str, why: &str): "{node}: {why}", "{node}：{why}";
    locks_as_of(ago: String): "Its locks are shown as observed {ago}.", "锁的数据观测于 {ago}。";
    locks_not_observed: "Its locks have not been observed yet.", "尚未观测到该组的锁。";
    later_changes_unknown: " Changes since then are unknown; the locks may still be held.", "此后的变化未知，这些锁可能仍被持有。";
    version_changed: "The console was restarted with another version.", "控制台已使用其他版本重启。";
    version_changed_advice: "This page still runs the previous version. Reload it when convenient; unsaved input will be lost.", "本页仍在运行之前的版本。请在方便时刷新页面；未提交的输入会丢失。";
    lost_at(time: String, why: String): ", auto-renewed by this console, was lost at {time}: {why}.", "由本控制台自动续租，已于 {time} 丢失：{why}。";
    lost_at_for(label: String, time: String, why: String): ", auto-renewed by this console for {label}, was lost at {time}: {why}.", "由本控制台为 {label} 自动续租，已于 {time} 丢失：{why}。";
    lost_before(n: usize): one " 1 other lock was lost before.", other " {n} other locks were lost before.", "此前还丢失了 {n} 把锁。";
    dismiss: "Dismiss", "关闭";

    // The signed-in user and permissions.
    sign_out: "Sign out", "退出登录";
    sign_out_everywhere: "Sign out everywhere", "退出所有会话";
    in_groups(groups: String): "in {groups}", "组：{groups}";
    in_every_group: "in all groups", "所有组";
    limited_to_keys(where_: String, keys: String): "{where_}; limited to {keys}", "{where_}；只能操作 {keys}";
    no_sign_in: "No sign-in: anyone on this machine can release locks.", "未启用登录：本机任何用户都可以释放锁。";
    open_access: "Anyone who can reach this address can release any lock.", "任何能访问此地址的人都可以释放任意锁。";
    open_access_advice: "Sign-in is not configured. Add users or API tokens to the configuration to require it.", "尚未配置登录。请在配置中添加用户或 API 令牌。";
    read_only(groups: String): "Read-only: locks in {groups} cannot be acquired or released.", "只读：不能获取或释放 {groups} 中的锁。";

    // Signing in.
    sign_in: "Sign in", "登录";
    sign_in_in_new_tab: "Sign in in a new tab, then try again; your input is kept", "在新标签页登录后重试，当前输入会保留";
    username: "Username", "用户名";
    password: "Password", "密码";
    scripts_use_tokens: "Scripts use API tokens instead: ", "脚本请使用 API 令牌：";
    sign_in_unavailable: "Sign-in is unavailable: the console's database does not respond. Try again later.", "暂时无法登录：控制台的数据库无响应。请稍后重试。";
    invalid_credentials: "Incorrect username or password.", "用户名或密码错误。";
    too_many_attempts(seconds: u32): "Too many failed attempts. Try again in {seconds} s.", "失败次数过多。请在 {seconds} 秒后重试。";
    sign_in_failed: "Sign-in failed. Try again.", "登录失败。请重试。";

    // Page not found.
    page_not_found: "Page not found", "页面不存在";
    page_not_found_title: "No page exists at this address", "此地址没有对应的页面";
    page_not_found_advice: "Check the address. Lock names in it must be percent-encoded, including slashes.", "请检查地址。地址中的锁名称须进行百分号编码（包括斜杠）。";
    all_locks: "All locks", "全部锁";

    // The UI kit.
    copied: "copied", "已复制";
    copy_blocked: "the browser blocked copying", "浏览器禁止复制";
    try_again: "Try again", "重试";

    // Browser notifications.
    attention_notice(n: u32): one "1 lock or node needs attention", other "{n} locks or nodes need attention", "{n} 把锁或节点需要处理";
    need_no_attention: "Nothing needs attention", "没有需要处理的锁";
    nodes_down(n: usize): one "1 node is not up", other "{n} nodes are not up", "{n} 个节点异常";
    need_attention(n: u32): one "1 lock needs attention", other "{n} locks need attention", "{n} 把锁需要处理";
}

/// A list of at most `most` names: `orders, jobs and 7 more`.
pub fn name_list(names: &[String], most: usize) -> String {
    let (named, more) = (names.iter().take(most), names.len().saturating_sub(most));
    let named: Vec<&str> = named.map(String::as_str).collect();
    match (locale(), more) {
        (Locale::English, 0) => named.join(", "),
        (Locale::English, _) => format!("{} and {more} more", named.join(", ")),
        (Locale::Chinese, 0) => named.join("、"),
        (Locale::Chinese, _) => format!("{} 等 {} 个组", named.join("、"), names.len()),
    }
}

/// Joins clauses into one sentence.
pub fn join_clauses(clauses: &[String]) -> String {
    match locale() {
        Locale::English => format!("{}.", clauses.join("; ")),
        Locale::Chinese => format!("{}。", clauses.join("；")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_shows_the_first_names_and_the_number_of_the_others() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(name_list(&names, 3), "a, b, c");
        assert_eq!(name_list(&names, 1), "a and 2 more");
    }
}
