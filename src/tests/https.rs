//! HTTPS served by the console itself, requested with curl, which trusts only the certificate
//! authority of the tests.

use std::net::SocketAddr;
use std::path::Path;

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, TlsConfig};
use tokio::process::Command;
use tokio::time::timeout;

use crate::access::{PASSWORD, get_with_cookie, sign_in, user_config};
use crate::api::group_config;
use crate::cli::{Shell, output_of};
use crate::support::certificates::CertificateAuthority;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{WAIT_TIMEOUT, wait_until};

/// The response that curl prints, headers first, or `None` if it does not trust the certificate or
/// gets no response.
async fn curl(authority: &Path, address: SocketAddr, arguments: &[&str]) -> Option<String> {
    let (path, arguments) = arguments.split_first().unwrap();
    let request = Command::new("curl")
        .args(["--silent", "--include", "--max-time", "20"])
        .arg("--cacert")
        .arg(authority)
        .args(arguments)
        .arg(format!("https://{address}{path}"))
        .kill_on_drop(true)
        .output();
    let output = timeout(WAIT_TIMEOUT, request).await.unwrap().unwrap();
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn install_certificate(identity: &crate::support::certificates::Identity, tls: &TlsConfig) {
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
async fn the_console_serves_https_and_reloads_a_replaced_certificate() {
    let nodes = RedisNodes::start(1).await;
    let (first, second) = (CertificateAuthority::new(), CertificateAuthority::new());
    let directory = tempfile::tempdir().unwrap();
    let tls = TlsConfig {
        certificate: directory.path().join("console.pem"),
        key: directory.path().join("console.key"),
    };
    install_certificate(&first.issue("console"), &tls);
    let file = format!(
        "listen = \"0.0.0.0:7878\"\ntls_certificate_file = {:?}\ntls_key_file = {:?}\n[[group]]\nname = \"g\"\nnode = [{{ url = \"redis://h:1\" }}]",
        tls.certificate, tls.key
    );
    let parsed = lockkeeper::server::config::parse("l.toml", &file, &|_| None).unwrap();
    assert_eq!(parsed.tls.as_ref(), Some(&tls));
    let config = Config {
        tls: parsed.tls,
        listen: parsed.listen,
        access: AccessConfig {
            users: vec![user_config("ada", RoleGrant::unrestricted(Role::Admin))],
            ..parsed.access
        },
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    assert!(!config.exposes_credentials());
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let address = console.address;

    let (trusts_first, trusts_second) = (first.ca_file(), second.ca_file());
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

    // A plain HTTP request gets no response and does not block other connections.
    let plain = Command::new("curl")
        .args([
            "--silent",
            "--max-time",
            "20",
            &format!("http://{address}/"),
        ])
        .output();
    assert!(!plain.await.unwrap().status.success());

    // A certificate that does not match its key is ignored; a matching pair is loaded without a
    // restart.
    std::fs::copy(second.issue("console").certificate, &tls.certificate).unwrap();
    assert!(curl(&trusts_first, address, &["/healthz"]).await.is_some());
    install_certificate(&second.issue("console"), &tls);
    wait_until("the new certificate is in use", async || {
        curl(&trusts_second, address, &["/healthz"]).await.is_some()
    })
    .await;
    assert_eq!(curl(&trusts_first, address, &["/healthz"]).await, None);
    console.stop().await;
}

#[tokio::test]
async fn admins_see_a_warning_about_unencrypted_passwords() {
    const WARNING: &str = "Passwords and tokens are sent over the network unencrypted.";
    let nodes = RedisNodes::start(1).await;
    for (listen, is_expected) in [("0.0.0.0:7878", true), ("127.0.0.1:7878", false)] {
        let config = Config {
            listen: listen.parse().unwrap(),
            access: AccessConfig {
                users: vec![
                    user_config("ada", RoleGrant::unrestricted(Role::Admin)),
                    user_config("vic", RoleGrant::unrestricted(Role::Viewer)),
                ],
                ..AccessConfig::default()
            },
            ..Config::with_groups(vec![group_config("orders", &nodes)])
        };
        let console = TestConsole::start_with_config(config, Clock::system()).await;
        let api = console.api();
        for (name, is_admin) in [("ada", true), ("vic", false)] {
            let cookie = sign_in(&api, name).await;
            let page = get_with_cookie(&api, "/nodes", &cookie).await.text;
            assert_eq!(
                page.contains(WARNING),
                is_expected && is_admin,
                "{listen} {name}"
            );
        }
    }
}

#[tokio::test]
async fn the_doctor_reports_unencrypted_passwords_unless_a_proxy_terminates_tls() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let hash = lockkeeper::server::access::password::hash_password("correct horse").unwrap();
    let user = format!("[[user]]\nname = \"ada\"\nrole = \"admin\"\npassword_hash = \"{hash}\"");
    let port = nodes.0[0].port();
    let group =
        format!("[[group]]\nname = \"g\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]");
    for (listen, sign_in, is_expected) in [
        ("0.0.0.0:7878", "", true),
        ("127.0.0.1:7878", "", false),
        ("0.0.0.0:7878", "[sign_in]\nsecure_cookies = true", false),
        (
            "0.0.0.0:7878",
            "[sign_in]\ntrusted_proxies = [\"10.0.0.5\"]",
            false,
        ),
    ] {
        let file = format!("listen = \"{listen}\"\n{sign_in}\n{user}\n{group}\n");
        std::fs::write(shell.path("lockkeeper.toml"), file).unwrap();
        let output = output_of(shell.bare_command(&["check", "--timeout", "100ms"])).await;
        let is_reported =
            output.stdout.contains("[sign-in-without-tls]") && output.stdout.contains(listen);
        assert_eq!(is_reported, is_expected, "{listen} {sign_in}: {output:?}");
    }
}
