//! The command palette and the keys.

words! {
    title: "Go to, find, do", "前往、查找、操作";
    find: "Find", "查找";
    placeholder: "A page, a lock, an owner, an action …", "页面、锁、持有者、操作……";
    results: "Results", "结果";
    nothing: "Nothing of that name. Locks are searched by name, owner and fingerprint.", "没有找到。锁可以按名称、持有者和指纹查找。";
    not_asked: "The locks could not be searched: the console did not answer.", "无法查找锁：控制台没有回应。";
    count_one: "1 result", "1 个结果";
    count(n: usize): "{n} results", "{n} 个结果";
    use_keys: "↑ ↓ to choose, Enter to go, Escape to close", "↑ ↓ 选择，Enter 前往，Esc 关闭";

    page: "page", "页面";
    group: "group", "组";
    lock: "lock", "锁";
    recent: "lately", "最近";
    action: "action", "操作";
    setting: "setting", "设置";
    view: "view", "视图";

    acquire: "Acquire a lock …", "获取锁……";
    export_csv: "Export the list of locks (CSV)", "导出锁列表（CSV）";
    export_json: "Export the list of locks (JSON)", "导出锁列表（JSON）";
    export_audit: "Export the audit", "导出审计";
    light: "Light theme", "浅色主题";
    dark: "Dark theme", "深色主题";
    system: "Theme of the system", "跟随系统主题";
    dense: "Dense rows", "紧凑的行";
    comfortable: "Comfortable rows", "宽松的行";
    in_english: "Speak English", "使用英文（English）";
    in_chinese: "Speak Chinese (简体中文)", "使用简体中文";
    show_keys: "Show the keys", "显示快捷键";
    attention: "Needs attention", "需要关注";
    api: "Documentation of the API", "API 文档";

    keys: "Keys", "快捷键";
    no_key_destroys: "No key changes anything by itself: what releases or acquires a lock always asks first.", "没有任何按键会直接改变什么：释放或获取锁之前总会先询问。";
    key_palette: "find a page, a lock or an action", "查找页面、锁或操作";
    key_search: "search this page", "在本页搜索";
    key_help: "show these keys", "显示这些快捷键";
    key_down_up: "next and previous row", "下一行、上一行";
    key_open: "open the row", "打开这一行";
    key_close: "close what is open", "关闭打开的内容";
    go_to(page: &str): "go to: {page}", "前往：{page}";
    close: "Close", "关闭";
    then: "then", "然后";
}
