//! Creating credentials, and listening on a network with and without authentication.

use std::process::Stdio;

use lockkeeper::domain::role::Role;
use lockkeeper::server::config::parse;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::{CommandOutput, Shell, output_of, send_signal, wait_for_output};
use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const GROUP: &str = "[[group]]\nname = \"jobs\"\nnode = [{ url = \"redis://h:1\" }]\n";

/// Runs `hash-password` with this standard input.
async fn hash(shell: &Shell, input: &[u8]) -> CommandOutput {
    let mut command = shell.bare_command(&["hash-password"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).await.unwrap();
    drop(stdin);
    wait_for_output(child).await
}

#[tokio::test]
async fn hash_password_prints_a_hash_that_the_configuration_accepts() {
    let shell = Shell::new(&RedisNodes(Vec::new()));
    for input in [
        &b"correct horse\n"[..],
        b"correct horse",
        b"correct horse\r\nignored\n",
    ] {
        let output = hash(&shell, input).await;
        assert_eq!(output.status, 0, "{output:?}");
        let hash = output.stdout.trim_end();
        let user =
            format!("[[user]]\nname = \"alice\"\nrole = \"admin\"\npassword_hash = \"{hash}\"\n");
        let config = parse("c", &format!("{GROUP}{user}"), &|_| None).unwrap();
        let password = config.access.users[0].password_hash.clone().unwrap();
        use argon2::PasswordVerifier as _;
        let verified = argon2::Argon2::default().verify_password(b"correct horse", &password.0);
        assert!(verified.is_ok());
    }
    for input in [&b"short\n"[..], b"", b"\n", &[b'a'; 2000]] {
        let output = hash(&shell, input).await;
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (2, ""),
            "{output:?}"
        );
    }
}

#[tokio::test]
async fn create_token_prints_a_config_table_that_accepts_the_token() {
    let shell = Shell::new(&RedisNodes(Vec::new()));
    let arguments = [
        "create-token",
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
    let output = output_of(shell.bare_command(&arguments)).await;
    assert_eq!(output.status, 0, "{output:?}");
    let config = parse("c", &format!("{GROUP}{}", output.stdout), &|_| None).unwrap();
    let [token] = &config.access.tokens[..] else {
        panic!("{}", output.stdout)
    };
    assert_eq!(
        (token.id.as_str(), token.grant.role),
        ("deploy", Role::Operator)
    );
    assert_eq!(
        token.grant.keys.as_deref(),
        Some(&["lock:\"*\"".to_owned()][..])
    );
    // Standard output is appended to the configuration file, so it must not contain the token.
    assert!(
        output.stderr.contains("lk_deploy_") && !output.stdout.contains("lk_"),
        "{output:?}"
    );

    let arguments = [
        "create-token",
        "ci",
        "--role",
        "viewer",
        "--token-file",
        "ci.token",
        "--json",
    ];
    let output = output_of(shell.bare_command(&arguments)).await;
    let response = output.json();
    assert!(
        response["token"].is_null() && !output.stdout.contains("lk_ci"),
        "{}",
        output.stdout
    );
    assert!(shell.read("ci.token").starts_with("lk_ci_"));
    let again = output_of(shell.bare_command(&arguments)).await;
    assert_eq!(again.status, 2, "{again:?}");
    for arguments in [
        &["create-token", "CI", "--role", "viewer"][..],
        &["create-token", "ci", "--role", "root"],
        &["create-token", "ci"],
        &[
            "create-token",
            "ci",
            "--role",
            "viewer",
            "--expires",
            "soon",
        ],
    ] {
        assert_eq!(
            output_of(shell.bare_command(arguments)).await.status,
            2,
            "{arguments:?}"
        );
    }
}

#[tokio::test]
async fn the_console_does_not_listen_on_a_network_without_authentication_by_default() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let output = shell.run("serve", &["--listen", address]).await;
        assert_eq!(output.status, 2, "{output:?}");
        assert!(
            output.stderr.contains("--insecure-no-auth"),
            "{}",
            output.stderr
        );
    }
    let token = output_of(shell.bare_command(&["create-token", "ci", "--role", "viewer"]))
        .await
        .stdout;
    let node = format!(
        "node = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        nodes.0[0].port()
    );
    let config = format!("listen = \"0.0.0.0:0\"\n[[group]]\nname = \"jobs\"\n{node}\n{token}");
    std::fs::write(shell.path("signed.toml"), config).unwrap();
    let open = shell.command("serve", &["--listen", "0.0.0.0:0", "--insecure-no-auth"]);
    let signed = shell.bare_command(&["serve", "--config", "signed.toml"]);
    for mut command in [open, signed] {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap_or_default();
        assert!(
            line.starts_with("Lockkeeper is at http://0.0.0.0:"),
            "{line}"
        );
        child.kill().await.unwrap();
    }
}

#[tokio::test]
async fn a_read_only_console_rejects_every_operation() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let mut command = shell.command("serve", &["--listen", "127.0.0.1:0", "--read-only"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap_or_default();
    let address = line.rsplit("http://").next().unwrap().parse().unwrap();
    let api = ApiClient::new(address);
    let path = "/api/v1/groups/default/locks/lock%3Aa/acquire";
    let response = api.post(path, serde_json::json!({"ttl_ms": 60_000})).await;
    response.assert_problem(403, "forbidden");
    let groups = api.get("/api/v1/groups").await.json();
    assert_eq!(groups["groups"][0]["read_only"], true);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn sighup_reloads_credentials_and_an_invalid_file_changes_nothing() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let node = format!(
        "node = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        nodes.0[0].port()
    );
    let group = format!("listen = \"127.0.0.1:0\"\n[[group]]\nname = \"jobs\"\n{node}\n");
    let mut tokens = Vec::new();
    for id in ["one", "two"] {
        let arguments = ["create-token", id, "--role", "viewer", "--json"];
        let response = output_of(shell.bare_command(&arguments)).await.json();
        let text = |field: &str| response[field].as_str().unwrap().to_owned();
        tokens.push((format!("Bearer {}", text("token")), text("config")));
    }
    let write = |tables: &str| std::fs::write(shell.path("c.toml"), format!("{group}{tables}"));
    write(&tokens[0].1).unwrap();
    let mut child = shell
        .bare_command(&["serve", "--config", "c.toml"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap_or_default();
    let api = ApiClient::new(line.rsplit("http://").next().unwrap().parse().unwrap());
    let is_accepted = async |n: usize| {
        let headers = [("authorization", tokens[n].0.as_str())];
        api.send("GET", "/api/v1/groups", &headers, "").await.status == 200
    };
    assert!(is_accepted(0).await && !is_accepted(1).await);
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    for (tables, expected) in [
        (
            "[[token]]\nid = 5\n",
            "configuration not reloaded, the previous one remains in effect: c.toml:",
        ),
        (
            "",
            "remains in effect: the file has no users and tokens any more",
        ),
    ] {
        write(tables).unwrap();
        send_signal(&child, "HUP");
        loop {
            let line = log.next_line().await.unwrap().unwrap();
            if line.contains(expected) {
                break;
            }
        }
        assert!(is_accepted(0).await && !is_accepted(1).await);
    }
    write(&tokens[1].1).unwrap();
    send_signal(&child, "HUP");
    wait_until("the new token is accepted", async || is_accepted(1).await).await;
    assert!(!is_accepted(0).await);
    child.kill().await.unwrap();
}

#[tokio::test]
async fn sighup_reloads_the_groups_of_a_console_without_authentication() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
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
        .bare_command(&["serve", "--config", "c.toml"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap_or_default();
    let api = ApiClient::new(line.rsplit("http://").next().unwrap().parse().unwrap());
    write(&(group("jobs") + &group("more")));
    send_signal(&child, "HUP");
    wait_until("the new group is listed", async || {
        let groups = api.get("/api/v1/groups").await.json();
        groups["groups"].as_array().map(Vec::len) == Some(2)
    })
    .await;
    child.kill().await.unwrap();
}
