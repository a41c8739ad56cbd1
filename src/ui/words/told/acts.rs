//! Why acts are refused, how they fail, and what the audit adds to them.

use super::Sentences;

/// The one that says most comes first: the first that fits is taken.
pub(super) const SENTENCES: Sentences = &[
    // Who may.
    (
        "the role `{}` may not {}; that takes `{}`",
        "角色“{}”不能{}；这需要“{}”",
    ),
    ("viewer", "观察者"),
    ("operator", "操作员"),
    ("admin", "管理员"),
    ("see locks", "查看锁"),
    ("read what the nodes store", "读取节点存储的内容"),
    ("acquire locks", "获取锁"),
    ("extend locks", "续租锁"),
    ("release locks", "释放锁"),
    ("release the locks of others", "释放别人的锁"),
    ("vouch for nodes", "为节点担保"),
    ("record what a node is asked", "记录对节点的请求"),
    ("read the audit", "查看审计"),
    ("look after the console", "管理控制台"),
    (
        "you have no rights in the group \"{}\"",
        "你在“{}”组里没有权限",
    ),
    (
        "your rights do not cover this lock's name, only {}",
        "你的权限不包括这把锁的名称，只包括 {}",
    ),
    (
        "the group \"{}\" is read-only in the configuration",
        "“{}”组在配置里是只读的",
    ),
    (
        "nobody needs to sign in here, so the console answers only under an address, as localhost, or under a name that `hosts` lists",
        "这里无需登录，因此控制台只在 IP 地址、localhost 或 `hosts` 列出的名称下应答",
    ),
    (
        "the console's storage cannot be used; the server's log says why",
        "控制台的存储无法使用；原因见服务器日志",
    ),
    (
        "nobody can tell whether your session still goes on, for the storage of the console cannot be reached: you can look, and not act",
        "无从得知你的会话是否还有效，因为控制台的存储无法访问：可以查看，不能操作",
    ),
    ("nobody is signed in here", "没有人登录"),
    (
        "nobody needs to sign in here, and the header `{}` shows that a reverse proxy passed this on: name who may come in ([[user]], [[token]]) before you put a proxy in front of the console",
        "这里无需登录，而请求头 `{}` 表明请求经过反向代理：在控制台前放置代理之前，请先配置可以登录的用户或令牌（[[user]]、[[token]]）",
    ),
    (
        "what let you in has ended while the request waited: the token, the session or the rights are others by now",
        "请求等待期间，登录凭据已失效：令牌、会话或权限已更改",
    ),
    ("the session has ended", "会话已结束"),
    ("the server's log says why", "原因见服务器日志"),
    (
        "who signs in or out is not written down any more until it can be written again",
        "在恢复写入之前，不再记录登录和退出",
    ),
    ("the name or the password is wrong", "用户名或密码不正确"),
    (
        "the `Authorization` header is not `Bearer` and an API token",
        "Authorization 头不是 Bearer 加 API 令牌",
    ),
    (
        "somebody without a password signed in with one",
        "没有密码的人用密码登录了",
    ),
    ("the password was not checked: {}", "密码没有检查：{}"),
    ("too many people sign in at this moment", "此刻登录的人太多"),
    ("too many attempts to sign in failed", "登录失败的次数太多"),
    (
        "it restarted or is new, and may lack locks whose owners rely on them; it takes new locks again from {}. Wait until then, or vouch for it if nothing was lost there",
        "它重启过或是新加入的，可能缺少仍被依赖的锁；从 {} 起重新接受新锁。请等到那时；如果那里没有丢失任何锁，也可以为它担保",
    ),
    (
        "this group is production: it must be the node's name",
        "该组是生产环境：必须是节点的名称",
    ),
    (
        "node \"{}\" has not said which run of the server it is (INFO server); bring it back first",
        "节点“{}”还没有说明它是服务器的哪一次运行（INFO server）；请先让它恢复",
    ),
    // What was typed.
    ("must be 16 hex digits", "必须是 16 位十六进制数字"),
    ("is empty; give the lock a name", "为空；请给锁一个名称"),
    ("is longer than {} bytes", "长于 {} 字节"),
    ("is longer than {} characters", "长于 {} 个字符"),
    ("is longer than {} ms", "长于 {} 毫秒"),
    ("must be at least {} ms", "至少为 {} 毫秒"),
    (
        "must be at least {} ms: the round trips to the nodes of this group take longer than a shorter lease lasts",
        "至少为 {} 毫秒：与该组节点的往返时间已超过更短的租约",
    ),
    (
        "is beyond the longest lease of this group, {} ms",
        "超过该组的最长租约 {} 毫秒",
    ),
    (
        "is blank; say why the lock is broken",
        "为空白；请说明为什么要强制释放",
    ),
    (
        "{} cannot be acquired from here; `plain`, `redisson`, `redisson-fair` and `legacy-timestamp` can",
        "{} 不能从这里获取；可以的有 plain、redisson、redisson-fair 和 legacy-timestamp",
    ),
    (
        "is empty; name the locks that are to be released",
        "为空；请指明要释放的锁",
    ),
    (
        "has {}; at most {} are released in one go",
        "有 {} 把；一次最多释放 {} 把",
    ),
    (
        "names {} of \"{}\" twice for the same owner",
        "对同一持有者两次写了 {}（“{}”组）",
    ),
    (
        "has a `%` that is not followed by two hex digits",
        "有一个 % 后面不是两位十六进制数字",
    ),
    ("the group has no node \"{}\"", "该组没有节点“{}”"),
    ("from 1 to {}", "从 1 到 {}"),
    (
        "`cursor` is not one that was handed out here",
        "cursor 不是从这里给出的",
    ),
    (
        "the lock's name is not percent-encoded",
        "锁的名称不是百分号编码",
    ),
    // What is in the way.
    ("this group is production", "该组是生产环境"),
    (
        "this console keeps as many locks as it can; without `auto_renew` it can still be acquired",
        "本控制台保持的锁已达上限；不保持时仍可获取",
    ),
    (
        "the token was handed out already; it is shown once",
        "令牌已经交出；它只显示一次",
    ),
    (
        "a sample is being taken already; there is one at a time",
        "正在取样；一次只能取一个",
    ),
    (
        "the node takes no sample: {} (the user needs +monitor, and +client|tracking to tell failures)",
        "节点不让取样：{}（用户需要 +monitor，要看出失败还需要 +client|tracking）",
    ),
    (
        "samples are taken over TCP and unix sockets, not over TLS",
        "取样只能通过 TCP 和 unix 套接字，不能通过 TLS",
    ),
    (
        "changes may not be told (CLIENT TRACKING): {}",
        "不允许告知变化（CLIENT TRACKING）：{}",
    ),
    ("after {} MB", "在 {} MB 之后"),
    ("a command was longer than 1 MB", "有一条命令超过 1 MB"),
    ("the server closed the connection", "服务器关闭了连接"),
    ("node \"{}\", for {} s", "节点“{}”，{} 秒"),
    ("it was cut off: {}", "它被中断：{}"),
    // The audit.
    (
        "nothing is written down: the audit is off in the configuration",
        "什么都没有记录：配置里关闭了审计",
    ),
    ("the audit cannot be read: {}", "审计无法读取：{}"),
    (
        "the audit cannot be read; the server's log says why",
        "审计无法读取；原因见服务器日志",
    ),
    ("the search of the audit ended: {}", "审计的搜索中止：{}"),
    ("no answer within {}", "{} 内没有应答"),
    ("no connection within {}", "{} 内没有连上"),
    ("the program that did it was killed", "执行它的程序被杀死"),
    (
        "the program was killed before it ended; `seen` is what was found afterwards",
        "程序在它结束之前被杀死；所见为事后情况",
    ),
    (
        "nobody waited for its end: the client hung up, or the console was stopped",
        "没有人等到它结束：客户端断开了，或控制台停止了",
    ),
    (
        "its owner had entered more often and holds it still: {}",
        "持有者进入过多次，仍然持有：{}",
    ),
    (
        "released by force, and put back by its old owner, which still runs",
        "被强制释放，又被仍在运行的原持有者放回",
    ),
    (
        "{}: another program keeps it locked",
        "{}：另一个程序锁住了它",
    ),
    ("the thread that writes to disk is gone", "写盘的线程已不在"),
    ("{}: it does not reach the disk: {}", "{}：无法落盘：{}"),
    // How a lock that was kept got lost.
    (
        "it is gone from the nodes: it was deleted, or its lease ran out",
        "节点上已没有它：被删除，或租约已到期",
    ),
    ("another owner has it", "另一个持有者有了它"),
    ("another owner has it: {}", "另一个持有者有了它：{}"),
    (
        "its key holds something else now: {}",
        "它的键里现在是别的东西：{}",
    ),
    (
        "it could not be renewed in time: too few nodes answered, or this machine was suspended",
        "没能及时续租：应答的节点太少，或本机曾被挂起",
    ),
    (
        "it was kept as long as this group allows ({}), and its lease ran out",
        "已保持到该组允许的上限（{}），租约已到期",
    ),
    ("it was released by force", "它被强制释放"),
    (
        "it is renewed no more, and ends with its lease: who had it renewed may not extend it any more",
        "不再自动续租，将随租约结束：请求续租者已无权续租",
    ),
    (
        "nothing was acquired: the answer to an earlier request with the same Idempotency-Key was given again",
        "没有获取新锁：再次返回了先前相同 Idempotency-Key 请求的结果",
    ),
    ("1 extension", "1 次续租"),
    ("{} extensions", "{} 次续租"),
    // Faults that the audit notes as they were told.
    ("the lock is held by somebody else", "这把锁由别人持有"),
    (
        "the lock is held by somebody else; nothing of theirs was touched",
        "这把锁由别人持有；没有触碰对方的任何内容",
    ),
    (
        "the release reaches {} of {} nodes, and {} others may still hold the lock: {} are a quorum",
        "释放只到达 {} 个节点（共 {} 个），另有 {} 个可能仍持有该锁：{} 个即为多数",
    ),
    (
        "the owner is not the one you saw; nothing was touched",
        "持有者已不是你看到的那个；什么都没有动",
    ),
    (
        "the owner is the one you saw, but it renewed, entered or acquired the lock again since; nothing was touched",
        "持有者还是你看到的那个，但它之后又续租、重入或重新获取了锁；什么都没有动",
    ),
    ("the lock is not held", "这把锁没有被持有"),
    (
        "the lock is not observed on any node that answered",
        "应答的节点上都没有观察到这把锁",
    ),
    (
        "too few nodes took part: {} answered, {} are needed",
        "参与的节点太少：{} 个应答，需要 {} 个",
    ),
    (
        "the key is only a possible lock: it could be anything, so it is not released from here",
        "这个键只是可能是锁：它可以是任何东西，所以不从这里释放",
    ),
    (
        "the key holds something that is not a lock of this format: {}",
        "这个键里的内容不是这种格式的锁：{}",
    ),
    (
        "a moment that does not tell its owner from others",
        "一个分不出持有者的时刻",
    ),
    (
        "{}: `confirm` must be the lock's name",
        "{}：需要输入锁的名称以确认",
    ),
    (
        "there is no group \"{}\" in the configuration",
        "配置里没有“{}”这个组",
    ),
];
