//! Signing in: with a provider, and where nobody does.

words! {
    nobody_has_to: "Nobody has to sign in here. ", "此处无需登录。";
    nobody_can: "The configuration names nobody who signs in with a password, and no service that people sign in with.", "配置中没有可用密码登录的用户，也没有登录服务。";
    with(provider: &str): "Sign in with {provider}", "用 {provider} 登录";
    or: "or with a password", "或使用密码";
    away: "The sign-in service does not answer. Try again in a moment.", "登录服务没有回应。请稍后再试。";
    cancelled: "The sign-in was cancelled; nobody was signed in.", "登录已取消，没有人登录。";
    expired: "That sign-in had ended already, or took too long. Begin again.", "这次登录已经结束，或者用时太久。请重新开始。";
    clock: "The clocks of the console and of the sign-in service do not agree, so nobody can sign in. Tell whoever looks after the console.", "控制台与登录服务的时钟不一致，因此谁都无法登录。请告知管理此控制台的人。";
    unknown_console: "The sign-in service does not know this console, so nobody can sign in there. Tell whoever looks after the console: its log says what to mend.", "登录服务不认识此控制台，因此谁都无法通过它登录。请告知管理此控制台的人：控制台的日志会说明需要修正什么。";
    untrusted: "What came from the sign-in service cannot be trusted, so nobody was signed in. Begin again; if it happens again, the console's log says why.", "来自登录服务的内容无法信任，因此没有人登录。请重新开始；如果再次发生，控制台的日志会说明原因。";
    no_role: "The sign-in service knows you, but no role in this console is given to you. Ask whoever looks after the console.", "登录服务认识你，但此控制台没有授予你任何角色。请联系管理此控制台的人。";
    name_taken: "The sign-in service calls you by the name of somebody else who is known here. Ask whoever looks after the console.", "登录服务给你的用户名与此处已有的另一个用户相同。请联系管理此控制台的人。";
    signed_out: "You are signed out here.", "你已在此处退出登录。";
    still_there(provider: &str): "You may still be signed in at {provider}. ", "你在 {provider} 可能仍处于登录状态。";
    sign_out_there: "Sign out there, too", "也在那里退出";
}
