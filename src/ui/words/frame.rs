//! What stands around every page.

use crate::domain::Language;
use crate::ui::words::language;

words! {
    skip: "Skip to the content", "跳到正文";
    pages: "Pages", "页面";
    locks: "Locks", "锁";
    owners: "Owners", "持有者";
    nodes: "Nodes", "节点";
    waits: "Waits", "等待";
    mine: "Mine", "我的锁";
    audit: "Audit", "审计";
    help: "Help", "帮助";
    no_script: "Without JavaScript this page does not follow what happens: load it again for news.", "没有 JavaScript，本页不会自动更新：要看最新状态请重新加载。";
    as_last_seen: "Everything here is what the nodes showed when they were last asked.", "这里的一切都是各节点上次被询问时给出的状态。";
    broken: "This page has stopped working.", "本页已停止工作。";
    broken_advice: "Nothing was changed by that. Load it again; if it happens again, the browser's console says why. ", "这没有改变任何东西。请重新加载；如果再次发生，浏览器的控制台会说明原因。";
    load_again: "Load again", "重新加载";
    fetching: "Fetching this part of the console …", "正在获取控制台的这一部分……";
    not_fetched: "This part of the console could not be fetched.", "无法获取控制台的这一部分。";
    not_fetched_advice: "The console does not answer, or was restarted with another version. Nothing was changed by that.", "控制台没有回应，或已用另一个版本重新启动。这没有改变任何东西。";

    settings: "Settings", "设置";
    theme: "Theme", "主题";
    system_theme: "System theme", "跟随系统";
    light: "Light", "浅色";
    dark: "Dark", "深色";
    speak: "Language", "语言";
    rows: "Rows", "行距";
    comfortable: "Comfortable", "宽松";
    dense: "Dense", "紧凑";
    notify: "Tell me of new attention", "有新情况时通知我";
    stop_notifying: "Stop telling me", "停止通知";
    will_notify: "This browser will tell you when more of the listed locks need attention while you look elsewhere.", "当你在看别处、所列的锁中又有需要关注的时，此浏览器会通知你。";
    may_not_notify: "This browser does not allow it: change that beside the address.", "此浏览器不允许通知：请在地址栏旁更改。";

    // Whether what is on screen is now.
    connecting: "connecting", "正在连接";
    live: "live", "实时";
    live_since(ago: String): "live, {ago}", "实时，{ago}";
    not_live_since(ago: String): "not live, {ago}", "非实时，{ago}";
    now_live: "Live", "已实时";
    now_not_live: "Not live any more", "不再实时";
    what_live_means: "when the locks were last looked at on their nodes", "上次在各节点上查看这些锁的时间";

    // Banners.
    not_heard_for(span: String): "Not live: the console has not been heard from for {span}.", "非实时：已有 {span}没有收到控制台的消息。";
    not_heard_advice(time: String): "What you see is as of {time} and may be wrong by now. The page goes on by itself as soon as the console answers.", "你看到的是 {time} 时的状态，现在可能已经不对。控制台一有回应，本页会自动继续。";
    config_trouble: "The configuration file has a mistake: everything is as it was before.", "配置文件有误：一切仍按之前的配置。";
    config_trouble_advice: "Mend the file; it is read again by itself. Then load this page again.", "请改正该文件；它会自动重新读取。之后请重新加载本页。";
    in_clear: "Passwords and tokens cross the network unencrypted.", "密码和令牌以未加密的方式在网络上传输。";
    in_clear_advice: "Give the console a certificate, or put a proxy that ends TLS in front of it and listen on 127.0.0.1. Until then, anyone on the path can read them.", "请为控制台配置证书，或在其前面放置终止 TLS 的代理并监听 127.0.0.1。在此之前，传输路径上的任何人都能读取它们。";
    not_signed_in: "you are not signed in any more", "你已不再处于登录状态";
    all_dark(group: &str): "Not one node of {group} can be asked.", "{group} 的节点一个也无法询问。";
    all_dark_since(group: &str, time: String): "Not one node of {group} can be asked since {time}.", "自 {time} 起，{group} 的节点一个也无法询问。";
    others_dark(groups: String): "Nor can any node be asked of {groups}. ", "{groups} 的节点同样一个也无法询问。";
    because(node: &str, why: &str): "{node}: {why}", "{node}：{why}";
    shown_as_they_were(ago: String): "Its locks are shown as they were {ago}.", "这里显示的是它的锁在 {ago}的样子。";
    not_seen_yet: "Its locks have not been seen yet.", "还没有看到过它的锁。";
    cannot_be_told: " What happened to them since cannot be told; they may still be held.", "此后发生了什么无从得知；它们可能仍被持有。";
    newer: "The console was restarted with another version.", "控制台已用另一个版本重新启动。";
    newer_advice: "This page still runs the one before. Load it again when it suits you; what you are typing would be lost by that.", "本页仍在运行之前的版本。请在合适的时候重新加载；重新加载会丢失正在输入的内容。";
    lost_at(owner: String, time: String, why: String): ", kept by this console{owner}, was lost at {time}: {why}.", "，由本控制台{owner}保持，于 {time} 丢失：{why}。";
    lost_for(label: String): " for {label}", "为 {label} ";
    lost_before(locks: String): " Lost before it: {locks}.", "在此之前丢失的还有 {locks}。";
    dismiss: "Dismiss", "知道了";

    // Who the page is shown to.
    sign_out: "Sign out", "退出登录";
    sign_out_everywhere: "Sign out everywhere", "在所有地方退出登录";
    in_groups(groups: String): "in {groups}", "在 {groups} 中";
    in_every_group: "in every group", "在所有组中";
    acts_only_on(where_: String, keys: String): "{where_}; acts on {keys} only", "{where_}；只能操作 {keys}";
    local_operator: "Nobody has to sign in: whoever uses this machine is the local operator, and may release every lock.", "无需登录：使用本机的任何人都是本地操作者，可以释放每一把锁。";
    anyone: "Anyone who reaches this address may release every lock.", "任何能访问此地址的人都可以释放每一把锁。";
    anyone_advice: "Nobody has to sign in here. Name users or tokens in the configuration to change that.", "这里无需登录。要改变这一点，请在配置中写明用户或 API 令牌。";
    read_only(groups: String): "Watched only: nothing can be acquired or released in {groups}.", "只读：在 {groups} 中不能获取或释放任何锁。";

    // Signing in.
    sign_in: "Sign in", "登录";
    sign_in_beside: "Sign in in another tab, then try again: nothing here is lost", "在另一个标签页登录后再试一次：这里的内容不会丢失";
    name: "Name", "用户名";
    password: "Password", "密码";
    for_programs: "Programs send an API token instead: ", "程序请改用 API 令牌：";
    nobody_can_sign_in: "Nobody can sign in now: the database of the console does not answer. Try again when it is back.", "现在无法登录：控制台的数据库没有响应。请在它恢复后重试。";
    wrong: "The name or the password is wrong.", "用户名或密码不正确。";
    too_many(seconds: u32): "Too many attempts failed. The next one is possible in {seconds} s.", "失败次数过多。{seconds} 秒后可以再试。";
    did_not_work: "That did not work. Try again.", "没有成功。请再试一次。";

    // No such page.
    no_page: "No such page", "没有此页面";
    no_page_here: "There is no page at this address", "此地址没有页面";
    no_page_advice: "The address may be incomplete: a lock's name is percent-encoded in it, slashes included.", "地址可能不完整：锁的名称在其中以百分号编码，斜杠也不例外。";
    all_locks: "All locks", "所有锁";

    // Parts that know nothing about locks.
    copied: "copied", "已复制";
    cannot_copy: "this browser does not let the page copy", "此浏览器不允许页面复制";
    try_again: "Try again", "重试";
}

/// Names, so many of them at most: `orders, jobs and 7 more`.
pub fn listed(names: &[String], most: usize) -> String {
    let (named, more) = (names.iter().take(most), names.len().saturating_sub(most));
    let named: Vec<&str> = named.map(String::as_str).collect();
    match (language(), more) {
        (Language::English, 0) => named.join(", "),
        (Language::English, _) => format!("{} and {more} more", named.join(", ")),
        (Language::Chinese, 0) => named.join("、"),
        (Language::Chinese, _) => format!("{} 等 {} 个组", named.join("、"), names.len()),
    }
}

/// Several halves of a sentence as one.
pub fn one_after_the_other(halves: &[String]) -> String {
    match language() {
        Language::English => format!("{}.", halves.join("; ")),
        Language::Chinese => format!("{}。", halves.join("；")),
    }
}

/// What a notification says.
pub fn need_attention(many: u32) -> String {
    match (language(), many) {
        (Language::English, 1) => "1 lock needs attention".to_owned(),
        (Language::English, _) => format!("{many} locks need attention"),
        (Language::Chinese, _) => format!("{many} 把锁需要关注"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_told_and_how_many_there_are_beside_them() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names, 3), "a, b, c");
        assert_eq!(listed(&names, 1), "a and 2 more");
    }
}
