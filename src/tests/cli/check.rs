//! `lockkeeper check`: what is printed, and the exit status that scripts go by.

use super::{Shell, end_of};
use crate::support::redis_nodes::{PERSISTENT, RedisNodes};

#[tokio::test]
async fn a_fit_group_is_called_fit_and_an_error_ends_with_status_1() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let shell = Shell::on(&nodes);
    let fit = shell.type_in::<&str>("check", &[]).await;
    assert_eq!(fit.status, 0, "{fit:?}");
    assert!(
        fit.out
            .starts_with("default (development, 3 nodes): fit, 1 note\n"),
        "{fit:?}"
    );
    assert!(fit.out.contains("[one-host]"), "{fit:?}");
    let json = shell.types("check --json").await.json();
    assert_eq!(json["fit"], true);
    assert_eq!(json["groups"][0]["findings"].as_array().unwrap().len(), 1);

    let mut client = nodes.0[1].client().await;
    for (name, value) in [("maxmemory", "100mb"), ("maxmemory-policy", "volatile-ttl")] {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg(name).arg(value);
        let () = set.query_async(&mut client).await.unwrap();
    }
    let unfit = shell.type_in::<&str>("check", &[]).await;
    assert_eq!(unfit.status, 1, "{unfit:?}");
    for part in [
        "not fit: 1 error, 1 note",
        "[evicts-locks]",
        "  seen      b: maxmemory:104857600, maxmemory_policy:volatile-ttl",
        "CONFIG SET maxmemory-policy noeviction\n",
    ] {
        assert!(unfit.out.contains(part), "{part:?} in {}", unfit.out);
    }
    let json = shell.types("check --json").await;
    assert_eq!(json.status, 1);
    assert_eq!(
        json.json()["groups"][0]["findings"][0]["code"],
        "evicts-locks"
    );
}

#[tokio::test]
async fn nodes_that_are_away_are_an_error_and_keep_nobody_waiting_for_the_others() {
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    nodes.0[2].kill().await;
    let shell = Shell::on(&nodes);
    let told = shell.types("check --json").await;
    assert_eq!(told.status, 1);
    let checkup = &told.json()["groups"][0];
    assert_eq!(checkup["findings"][0]["code"], "node-unreachable");
    assert_eq!(checkup["unchecked"][0]["node"], "c");
}

#[tokio::test]
async fn what_a_user_may_not_do_is_found_without_a_console() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let mut user = redis::cmd("ACL");
    for word in "SETUSER keeper on >pw ~* &* +@all -client|tracking -del".split(' ') {
        user.arg(word);
    }
    let () = user
        .query_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
    let address = format!("redis://keeper:pw@127.0.0.1:{}", nodes.0[0].port());
    let shell = Shell::on(&nodes);
    let told = end_of(shell.bare(&["check", "--json", "--redis", &address])).await;
    assert_eq!(told.status, 0, "{told:?}");
    let json = told.json();
    let findings = json["groups"][0]["findings"].as_array().unwrap();
    let lines: Vec<_> = findings
        .iter()
        .map(|one| {
            (
                one["code"].as_str().unwrap(),
                one["commands"][0].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("may-not-act", "ACL SETUSER keeper +del"),
            ("may-not-watch", "ACL SETUSER keeper +client|tracking"),
        ]
    );
}

#[tokio::test]
async fn names_of_locks_reach_the_terminal_without_harm() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    nodes.set(0, b"lock:\x1b[2J\x07", &[b'a'; 32], None).await;
    let told = Shell::on(&nodes).type_in::<&str>("check", &[]).await;
    assert!(told.out.contains("lock:\\u{1b}[2J\\u{7}"), "{told:?}");
    assert!(
        told.out.chars().all(|c| c == '\n' || !c.is_control()),
        "{told:?}"
    );
}

#[tokio::test]
async fn an_even_number_in_the_configuration_is_a_warning_and_its_fields_can_be_asked_for() {
    let nodes = RedisNodes::start_with(4, &PERSISTENT).await;
    let shell = Shell::on(&nodes);
    let told = shell.type_in::<&str>("check", &[]).await;
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.err.contains("even number") && told.out.contains("[even-nodes]"),
        "{told:?}"
    );
    let fields = end_of(shell.bare(&["check", "--fields"])).await;
    assert_eq!(fields.status, 0);
    assert!(fields.out.contains("longest_lease = \"1h\"") && fields.err.is_empty());
}
