//! The console's own `https`: asked with curl, which knows nobody but the tests' authority.

use std::net::SocketAddr;
use std::path::Path;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, TlsConfig};
use tokio::process::Command;
use tokio::time::timeout;

use crate::access::{PASSWORD, get_with, sign_in, user};
use crate::api::group;
use crate::cli::{Shell, end_of};
use crate::support::certificates::Authority;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

/// What curl prints of an answer, headers first; nothing where it does not trust the console, or gets no answer.
async fn curl(authority: &Path, address: SocketAddr, words: &[&str]) -> Option<String> {
    let (path, words) = words.split_first().unwrap();
    let asking = Command::new("curl")
        .args(["--silent", "--include", "--max-time", "20"])
        .arg("--cacert")
        .arg(authority)
        .args(words)
        .arg(format!("https://{address}{path}"))
        .kill_on_drop(true)
        .output();
    let said = timeout(PATIENCE, asking).await.unwrap().unwrap();
    said.status
        .success()
        .then(|| String::from_utf8_lossy(&said.stdout).into_owned())
}

fn copy(identity: &crate::support::certificates::Identity, tls: &TlsConfig) {
    for (from, to) in [
        (&identity.certificate, &tls.certificate),
        (&identity.key, &tls.key),
    ] {
        let new = to.with_extension("new");
        std::fs::copy(from, &new).unwrap();
        std::fs::rename(new, to).unwrap();
    }
}

#[tokio::test]
async fn the_console_serves_https_itself_and_takes_over_another_certificate() {
    let nodes = RedisNodes::start(1).await;
    let (first, second) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let tls = TlsConfig {
        certificate: folder.path().join("console.pem"),
        key: folder.path().join("console.key"),
    };
    copy(&first.vouch_for("console"), &tls);
    let file = format!(
        "listen = \"0.0.0.0:7878\"\ntls_certificate_file = {:?}\ntls_key_file = {:?}\n[[group]]\nname = \"g\"\nnode = [{{ url = \"redis://h:1\" }}]",
        tls.certificate, tls.key
    );
    let read = lockkeeper::server::config::parse("l.toml", &file, &|_| None).unwrap();
    assert_eq!(read.tls.as_ref(), Some(&tls));
    let config = Config {
        tls: read.tls,
        listen: read.listen,
        access: AccessConfig {
            users: vec![user("ada", Rights::everywhere(Role::Admin))],
            ..read.access
        },
        ..Config::of(vec![group("orders", &nodes)])
    };
    assert!(!config.is_in_clear());
    let console = TestConsole::start_as(config, Clock::real()).await;
    let address = console.address;

    let (trusts_first, trusts_second) = (first.file(), second.file());
    let page = curl(&trusts_first, address, &["/sign-in"]).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(
        page.contains("strict-transport-security: max-age="),
        "{page}"
    );
    let form = format!("name=ada&password={}", PASSWORD.replace(' ', "+"));
    let signed_in = curl(&trusts_first, address, &["/sign-in", "--data", &form]).await;
    let signed_in = signed_in.unwrap();
    let cookie = signed_in
        .lines()
        .find(|line| line.starts_with("set-cookie: "));
    let cookie = cookie.unwrap_or_else(|| panic!("{signed_in}"));
    assert!(
        cookie.contains("__Host-") && cookie.contains("Secure"),
        "{cookie}"
    );
    assert_eq!(curl(&trusts_second, address, &["/sign-in"]).await, None);

    // Who speaks plain HTTP gets no answer, and nobody else waits for them.
    let plain = Command::new("curl")
        .args([
            "--silent",
            "--max-time",
            "20",
            &format!("http://{address}/"),
        ])
        .output();
    assert!(!plain.await.unwrap().status.success());

    // A certificate whose key is another one changes nothing; a pair that fits is taken over, without a restart.
    std::fs::copy(second.vouch_for("console").certificate, &tls.certificate).unwrap();
    assert!(curl(&trusts_first, address, &["/healthz"]).await.is_some());
    copy(&second.vouch_for("console"), &tls);
    eventually_is("the other certificate is in use", async || {
        curl(&trusts_second, address, &["/healthz"]).await.is_some()
    })
    .await;
    assert_eq!(curl(&trusts_first, address, &["/healthz"]).await, None);
    console.stop().await;
}

#[tokio::test]
async fn admins_are_told_that_passwords_cross_the_network_unencrypted() {
    const WORDS: &str = "Passwords and tokens cross the network unencrypted.";
    let nodes = RedisNodes::start(1).await;
    for (listen, is_told) in [("0.0.0.0:7878", true), ("127.0.0.1:7878", false)] {
        let config = Config {
            listen: listen.parse().unwrap(),
            access: AccessConfig {
                users: vec![
                    user("ada", Rights::everywhere(Role::Admin)),
                    user("vic", Rights::everywhere(Role::Viewer)),
                ],
                ..AccessConfig::default()
            },
            ..Config::of(vec![group("orders", &nodes)])
        };
        let console = TestConsole::start_as(config, Clock::real()).await;
        let person = console.person();
        for (name, is_admin) in [("ada", true), ("vic", false)] {
            let cookie = sign_in(&person, name).await;
            let page = get_with(&person, "/nodes", &cookie).await.text;
            assert_eq!(page.contains(WORDS), is_told && is_admin, "{listen} {name}");
        }
    }
}

#[tokio::test]
async fn the_doctor_finds_passwords_in_clear_and_not_where_tls_ends_before() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let hash = lockkeeper::server::access::password::hash("correct horse").unwrap();
    let user = format!("[[user]]\nname = \"ada\"\nrole = \"admin\"\npassword_hash = \"{hash}\"");
    let port = nodes.0[0].port();
    let group =
        format!("[[group]]\nname = \"g\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]");
    for (listen, sign_in, is_found) in [
        ("0.0.0.0:7878", "", true),
        ("127.0.0.1:7878", "", false),
        ("0.0.0.0:7878", "[sign_in]\nhttps = true", false),
        (
            "0.0.0.0:7878",
            "[sign_in]\ntrusted_from = [\"10.0.0.5\"]",
            false,
        ),
    ] {
        let file = format!("listen = \"{listen}\"\n{sign_in}\n{user}\n{group}\n");
        std::fs::write(shell.path("lockkeeper.toml"), file).unwrap();
        let told = end_of(shell.bare(&["check", "--timeout", "100ms"])).await;
        let found = told.out.contains("[sign-in-in-clear]") && told.out.contains(listen);
        assert_eq!(found, is_found, "{listen} {sign_in}: {told:?}");
    }
}
