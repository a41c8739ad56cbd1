//! The menu of saved views.

messages! {
    views: "Views", "视图";
    team: "Team", "团队";
    this_browser: "This browser", "此浏览器";
    loading: "Loading the views of the team…", "正在加载团队视图…";
    no_team_views: "No views are saved for the team.", "尚未保存团队视图。";
    no_views: "Save the current filters, sorting and grouping under a name.", "将当前的筛选、排序和分组保存为视图。";
    saved_by(user: &str): "by {user}", "由 {user} 保存";
    view_name: "View name", "视图名称";
    save_for: "Save for", "保存到";
    for_browser: "for this browser", "此浏览器";
    for_team: "for the team", "团队";
    save_view: "Save", "保存";
    replace_view: "Replace", "替换";
    saving: "Saving…", "正在保存…";
    delete_view(name: &str): "Delete view {name}", "删除视图 {name}";
    delete_for_everyone(name: &str): "Delete {name} for all users?", "为所有用户删除“{name}”？";
    delete: "Delete", "删除";
    cancel: "Cancel", "取消";
}
