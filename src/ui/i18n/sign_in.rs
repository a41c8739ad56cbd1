//! Sign-in with a provider, and errors of the sign-in.

messages! {
    not_required: "Sign-in is not required. ", "无需登录。";
    no_method: "The configuration has no users with a password and no sign-in provider.", "配置中既没有设置密码的用户，也没有身份提供商。";
    sign_in_with(provider: &str): "Sign in with {provider}", "使用 {provider} 登录";
    or: "or with a password", "或使用密码登录";
    provider_unavailable: "The sign-in provider does not respond. Try again later.", "身份提供商无响应。请稍后重试。";
    cancelled: "Sign-in was cancelled.", "登录已取消。";
    expired: "The sign-in request has expired. Start again.", "登录请求已过期。请重新登录。";
    clock_mismatch: "Sign-in failed: the clocks of the console and the sign-in provider differ. Contact the administrator.", "登录失败：控制台与身份提供商的时钟不一致。请联系管理员。";
    client_rejected: "Sign-in failed: the sign-in provider does not accept this console's credentials. Contact the administrator; the server log has the details.", "登录失败：身份提供商不接受本控制台的凭据。请联系管理员，详情见服务器日志。";
    response_invalid: "Sign-in failed: the response of the sign-in provider could not be verified. Try again; if it fails again, see the server log.", "登录失败：无法验证身份提供商的响应。请重试；如再次失败，请查看服务器日志。";
    no_role: "The sign-in succeeded, but no role in this console is assigned to you. Contact the administrator.", "登录成功，但您在本控制台没有任何角色。请联系管理员。";
    name_taken: "Your username at the sign-in provider belongs to another user of this console. Contact the administrator.", "您在身份提供商处的用户名与本控制台的另一用户相同。请联系管理员。";
    signed_out: "You are signed out.", "您已退出登录。";
    still_signed_in(provider: &str): "You may still be signed in at {provider}. ", "您在 {provider} 可能仍处于登录状态。";
    sign_out_there: "Sign out there too", "同时退出该服务";
}
