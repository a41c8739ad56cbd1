//! The command palette and the keyboard shortcuts.

messages! {
    title: "Command palette", "命令面板";
    find: "Find", "查找";
    placeholder: "Search locks, owners, pages, actions…", "搜索锁、持有者、页面、操作…";
    results: "Results", "结果";
    no_results: "No results. Locks are searched by name, owner and fingerprint.", "没有结果。锁可按名称、持有者和指纹搜索。";
    search_failed: "Locks could not be searched: the console did not respond.", "无法搜索锁：控制台无响应。";
    count(n: usize): one "1 result", other "{n} results", "{n} 个结果";
    key_hints: "↑ ↓ to select, Enter to open, Esc to close", "↑ ↓ 选择，Enter 打开，Esc 关闭";

    page: "page", "页面";
    group: "group", "组";
    lock: "lock", "锁";
    recent: "recent", "最近";
    action: "action", "操作";
    setting: "setting", "设置";
    view: "view", "视图";
    team_view: "team view", "团队视图";
    team_views_failed: "The views of the team could not be loaded.", "无法加载团队视图。";

    force_release: "Force release…", "强制释放…";
    copy_incident: "Copy incident", "复制事件摘要";
    copy_key: "Copy key", "复制键名";
    acquire: "Acquire a lock…", "获取锁…";
    export_csv: "Export locks (CSV)", "导出锁列表（CSV）";
    export_json: "Export locks (JSON)", "导出锁列表（JSON）";
    export_audit: "Export audit log", "导出审计日志";
    light: "Light theme", "浅色主题";
    dark: "Dark theme", "深色主题";
    system: "System theme", "跟随系统";
    dense: "Dense rows", "紧凑行距";
    comfortable: "Comfortable rows", "宽松行距";
    in_english: "Language: English", "语言：English";
    in_chinese: "Language: 简体中文", "语言：简体中文";
    show_shortcuts: "Keyboard shortcuts", "快捷键";
    attention: "Needs attention", "需要处理";
    api: "API reference", "API 参考";

    shortcuts: "Keyboard shortcuts", "快捷键";
    shortcuts_note: "Shortcuts do not change locks: acquiring and releasing always require confirmation.", "快捷键不会直接更改锁：获取和释放始终需要确认。";
    key_palette: "open the command palette", "打开命令面板";
    key_search: "search this page", "搜索本页";
    key_help: "show keyboard shortcuts", "显示快捷键";
    key_down_up: "next or previous row", "下一行或上一行";
    key_open: "open the selected row", "打开选中的行";
    key_peek: "show or hide the details of the selected row", "显示或隐藏选中行的详情";
    key_close: "close the dialog or menu", "关闭对话框或菜单";
    go_to(page: &str): "go to {page}", "前往“{page}”";
    close: "Close", "关闭";
    then: "then", "然后";
}
