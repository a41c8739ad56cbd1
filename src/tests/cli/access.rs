//! Making credentials, and standing open to a network.

use std::process::Stdio;

use lockkeeper::domain::role::Role;
use lockkeeper::server::config::parse;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Ended, Shell, end_of, ended, signal};
use crate::support::console::Person;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const GROUP: &str = "[[group]]\nname = \"jobs\"\nnode = [{ url = \"redis://h:1\" }]\n";

/// Hashes what is on standard input.
async fn hash(shell: &Shell, input: &[u8]) -> Ended {
    let mut command = shell.bare(&["hash-password"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).await.unwrap();
    drop(stdin);
    ended(child).await
}

#[tokio::test]
async fn a_password_becomes_a_hash_that_the_configuration_takes() {
    let shell = Shell::on(&RedisNodes(Vec::new()));
    for input in [
        &b"correct horse\n"[..],
        b"correct horse",
        b"correct horse\r\nignored\n",
    ] {
        let ended = hash(&shell, input).await;
        assert_eq!(ended.status, 0, "{ended:?}");
        let hash = ended.out.trim_end();
        let user =
            format!("[[user]]\nname = \"alice\"\nrole = \"admin\"\npassword_hash = \"{hash}\"\n");
        let config = parse("c", &format!("{GROUP}{user}"), &|_| None).unwrap();
        let password = config.access.users[0].password.clone().unwrap();
        use argon2::PasswordVerifier as _;
        let verified = argon2::Argon2::default().verify_password(b"correct horse", &password.0);
        assert!(verified.is_ok());
    }
    for input in [&b"short\n"[..], b"", b"\n", &[b'a'; 2000]] {
        let ended = hash(&shell, input).await;
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
    }
}

#[tokio::test]
async fn a_token_comes_with_the_table_that_accepts_it() {
    let shell = Shell::on(&RedisNodes(Vec::new()));
    let words = [
        "token",
        "deploy",
        "--role",
        "operator",
        "--group",
        "jobs",
        "--keys",
        "lock:\"*\"",
        "--expires",
        "2027-01-31",
    ];
    let ended = end_of(shell.bare(&words)).await;
    assert_eq!(ended.status, 0, "{ended:?}");
    let config = parse("c", &format!("{GROUP}{}", ended.out), &|_| None).unwrap();
    let [token] = &config.access.tokens[..] else {
        panic!("{}", ended.out)
    };
    assert_eq!(
        (token.id.as_str(), token.rights.role),
        ("deploy", Role::Operator)
    );
    assert_eq!(
        token.rights.keys.as_deref(),
        Some(&["lock:\"*\"".to_owned()][..])
    );
    // Appended to the configuration as it is, the token must not be in it.
    assert!(
        ended.err.contains("lk_deploy_") && !ended.out.contains("lk_"),
        "{ended:?}"
    );

    let words = [
        "token",
        "ci",
        "--role",
        "viewer",
        "--token-file",
        "ci.token",
        "--json",
    ];
    let ended = end_of(shell.bare(&words)).await;
    let answer = ended.json();
    assert!(
        answer["token"].is_null() && !ended.out.contains("lk_ci"),
        "{}",
        ended.out
    );
    assert!(shell.read("ci.token").starts_with("lk_ci_"));
    let again = end_of(shell.bare(&words)).await;
    assert_eq!(again.status, 2, "{again:?}");
    for wrong in [
        &["token", "CI", "--role", "viewer"][..],
        &["token", "ci", "--role", "root"],
        &["token", "ci"],
        &["token", "ci", "--role", "viewer", "--expires", "soon"],
    ] {
        assert_eq!(end_of(shell.bare(wrong)).await.status, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn the_console_does_not_stand_open_to_a_network_unless_that_is_said() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ended = shell.type_in("serve", &["--listen", address]).await;
        assert_eq!(ended.status, 2, "{ended:?}");
        assert!(
            ended.err.contains("--allow-anyone-on-the-network"),
            "{}",
            ended.err
        );
    }
    let token = end_of(shell.bare(&["token", "ci", "--role", "viewer"]))
        .await
        .out;
    let node = format!(
        "node = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        nodes.0[0].port()
    );
    let config = format!("listen = \"0.0.0.0:0\"\n[[group]]\nname = \"jobs\"\n{node}\n{token}");
    std::fs::write(shell.path("signed.toml"), config).unwrap();
    let open = shell.command(
        "serve",
        &["--listen", "0.0.0.0:0", "--allow-anyone-on-the-network"],
    );
    let signed = shell.bare(&["serve", "--config", "signed.toml"]);
    for mut command in [open, signed] {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.next_line().await.unwrap().unwrap_or_default();
        assert!(
            said.starts_with("Lockkeeper is at http://0.0.0.0:"),
            "{said}"
        );
        child.kill().await.unwrap();
    }
}

#[tokio::test]
async fn a_console_that_was_told_to_only_read_refuses_every_act() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let mut command = shell.command("serve", &["--listen", "127.0.0.1:0", "--read-only"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.next_line().await.unwrap().unwrap_or_default();
    let address = said.rsplit("http://").next().unwrap().parse().unwrap();
    let person = Person::of(address);
    let path = "/api/v1/groups/default/locks/lock%3Aa/acquire";
    let answer = person
        .post(path, serde_json::json!({"ttl_ms": 60_000}))
        .await;
    answer.is(403, "forbidden");
    let groups = person.get("/api/v1/groups").await.json();
    assert_eq!(groups["groups"][0]["read_only"], true);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_hangup_has_it_read_again_who_may_come_in_and_a_mistake_changes_nothing() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let node = format!(
        "node = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        nodes.0[0].port()
    );
    let group = format!("listen = \"127.0.0.1:0\"\n[[group]]\nname = \"jobs\"\n{node}\n");
    let mut made = Vec::new();
    for id in ["one", "two"] {
        let words = ["token", id, "--role", "viewer", "--json"];
        let answer = end_of(shell.bare(&words)).await.json();
        let text = |field: &str| answer[field].as_str().unwrap().to_owned();
        made.push((format!("Bearer {}", text("token")), text("config")));
    }
    let write = |tables: &str| std::fs::write(shell.path("c.toml"), format!("{group}{tables}"));
    write(&made[0].1).unwrap();
    let mut child = shell
        .bare(&["serve", "--config", "c.toml"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.next_line().await.unwrap().unwrap_or_default();
    let person = Person::of(said.rsplit("http://").next().unwrap().parse().unwrap());
    let is_in = async |n: usize| {
        let headers = [("authorization", made[n].0.as_str())];
        person
            .send("GET", "/api/v1/groups", &headers, "")
            .await
            .status
            == 200
    };
    assert!(is_in(0).await && !is_in(1).await);
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    for (tables, says) in [
        ("[[token]]\nid = 5\n", "stays as it was: c.toml:"),
        ("", "stays as it was: nobody is named any more"),
    ] {
        write(tables).unwrap();
        signal(&child, "HUP");
        loop {
            let line = told.next_line().await.unwrap().unwrap();
            if line.contains(says) {
                break;
            }
        }
        assert!(is_in(0).await && !is_in(1).await);
    }
    write(&made[1].1).unwrap();
    signal(&child, "HUP");
    eventually_is("the other one is let in", async || is_in(1).await).await;
    assert!(!is_in(0).await);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_hangup_has_a_service_read_its_nodes_again_where_nobody_has_to_sign_in() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let port = nodes.0[0].port();
    let group = |name: &str| {
        format!("[[group]]\nname = \"{name}\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n")
    };
    let write = |groups: &str| {
        let listen = "listen = \"127.0.0.1:0\"\n";
        std::fs::write(shell.path("c.toml"), format!("{listen}{groups}")).unwrap();
    };
    write(&group("jobs"));
    let mut child = shell
        .bare(&["serve", "--config", "c.toml"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.next_line().await.unwrap().unwrap_or_default();
    let person = Person::of(said.rsplit("http://").next().unwrap().parse().unwrap());
    write(&(group("jobs") + &group("more")));
    signal(&child, "HUP");
    eventually_is("the other group is there", async || {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"].as_array().map(Vec::len) == Some(2)
    })
    .await;
    child.kill().await.unwrap();
}
