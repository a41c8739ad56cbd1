//! What a console knows of its nodes' restarts outlives a change of its configuration and its own restart, and lasts as long
//! as a lock that was lost may be relied on.

use std::path::Path;
use std::time::{Duration, Instant};

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::api::{group, lock_path};
use crate::audit::{Served, serve};
use crate::support::ask;
use crate::support::clusters::RedisCluster;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::process::Process;
use crate::support::proxy::Proxy;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};
use crate::support::{PATIENCE, eventually, eventually_is};

const LONG: u64 = 600_000;

/// Another file takes the place of the one that is read.
fn configure(folder: &Path, nodes: &[&RedisNode], more: &str) {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[group]]\nname = \"orders\"\n{more}\nnode = [{}]\n",
        nodes.join(", ")
    );
    std::fs::write(folder.join("new.toml"), text).unwrap();
    std::fs::rename(folder.join("new.toml"), folder.join("lockkeeper.toml")).unwrap();
}

async fn views(person: &Person) -> Vec<Value> {
    let groups = person.get("/api/v1/groups").await.json();
    groups["groups"][0]["nodes"].as_array().unwrap().clone()
}

async fn every_node_is_up(person: &Person) {
    eventually_is("every node is up", async || {
        views(person)
            .await
            .iter()
            .all(|node| node["state"] == "up" && node["run_id"].is_string())
    })
    .await;
}

/// Waits until exactly these nodes take no part in new locks.
async fn left_out(person: &Person, wanted: &[usize]) {
    eventually_is("these nodes take no new locks", async || {
        let views = views(person).await;
        views.iter().enumerate().all(|(n, node)| {
            node["run_id"].is_string() && (node["votes"] == false) == wanted.contains(&n)
        })
    })
    .await;
}

async fn changed_to(person: &Person, environment: &str) {
    eventually_is("the group is another one", async || {
        let groups = person.get("/api/v1/groups").await.json();
        groups["groups"][0]["environment"] == environment
    })
    .await;
    every_node_is_up(person).await;
}

async fn acquire(person: &Person, key: &str, ttl_ms: u64) -> Answer {
    let path = lock_path("orders", key.as_bytes(), "/acquire");
    person.post(&path, json!({"ttl_ms": ttl_ms})).await
}

async fn stopped(served: &mut Served) {
    let pid = served.child.id().unwrap().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(sent.unwrap().success());
    let ended = tokio::time::timeout(PATIENCE, served.child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}

/// Three nodes of which two came back empty while somebody holds a lock; the console saw it.
async fn two_of_three_came_back_empty(folder: &Path) -> (RedisNodes, Served) {
    let mut nodes = RedisNodes::start(3).await;
    configure(folder, &nodes.0.iter().collect::<Vec<_>>(), "");
    let console = Served::start(serve(), folder).await;
    every_node_is_up(&console.person).await;
    let won = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(won.status, 201, "{}", won.text);
    for n in [0, 1] {
        nodes.0[n].restart_empty().await;
    }
    left_out(&console.person, &[0, 1]).await;
    let refused = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    (nodes, console)
}

#[tokio::test]
async fn a_change_of_the_configuration_does_not_make_it_forget_that_nodes_came_back_empty() {
    let folder = tempfile::tempdir().unwrap();
    let (nodes, console) = two_of_three_came_back_empty(folder.path()).await;
    let more = "environment = \"staging\"\nignore = [\"lock:ui:*\"]";
    configure(folder.path(), &nodes.0.iter().collect::<Vec<_>>(), more);
    changed_to(&console.person, "staging").await;
    let again = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(again.status, 503, "{}", again.text);
    let views = views(&console.person).await;
    assert!(
        [0, 1].iter().all(|&n| views[n]["votes"] == false
            && views[n]["hazard_until"].is_string()
            && views[n]["restarted_at"].is_string()),
        "{views:?}"
    );
}

#[tokio::test]
async fn a_restart_of_the_console_does_not_make_it_forget_that_nodes_came_back_empty() {
    let folder = tempfile::tempdir().unwrap();
    let (_nodes, mut console) = two_of_three_came_back_empty(folder.path()).await;
    stopped(&mut console).await;
    let console = Served::start(serve(), folder.path()).await;
    every_node_is_up(&console.person).await;
    let again = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(again.status, 503, "{}", again.text);
    left_out(&console.person, &[0, 1]).await;
}

#[tokio::test]
async fn nodes_that_came_back_empty_while_no_console_ran_are_known_by_their_run_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = RedisNodes::start(3).await;
    configure(folder.path(), &nodes.0.iter().collect::<Vec<_>>(), "");
    let mut console = Served::start(serve(), folder.path()).await;
    every_node_is_up(&console.person).await;
    let won = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(won.status, 201, "{}", won.text);
    stopped(&mut console).await;
    for n in [0, 1] {
        nodes.0[n].restart_empty().await;
    }
    let console = Served::start(serve(), folder.path()).await;
    every_node_is_up(&console.person).await;
    let again = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(again.status, 503, "{}", again.text);
}

#[tokio::test]
async fn a_broken_record_of_restarts_is_kept_aside_and_young_nodes_are_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (_nodes, mut console) = two_of_three_came_back_empty(folder.path()).await;
    stopped(&mut console).await;
    let file = folder.path().join("lockkeeper/restarts.json");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let console = Served::start(serve(), folder.path()).await;
    every_node_is_up(&console.person).await;
    let again = acquire(&console.person, "lock:held", LONG).await;
    assert_eq!(again.status, 503, "{}", again.text);
    let kept = std::fs::read(folder.path().join("lockkeeper/restarts.json.broken")).unwrap();
    assert_eq!(kept, whole[..whole.len() / 2]);
}

#[tokio::test]
async fn a_node_that_replaces_another_in_the_configuration_takes_no_new_locks_at_first() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = RedisNodes::start(4).await;
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| &nodes.0[n]);
    configure(folder.path(), &[a, b, c], "");
    let console = Served::start(serve(), folder.path()).await;
    let person = &console.person;
    every_node_is_up(person).await;
    let won = acquire(person, "lock:held", LONG).await;
    assert_eq!(won.status, 201, "{}", won.text);
    // It is on a majority, as it would be if this node had been down.
    nodes.all_come_to_of(&[1], "lock:held").await;
    let () = b.client().await.del("lock:held").await.unwrap();
    configure(folder.path(), &[a, b, d], "environment = \"staging\"");
    changed_to(person, "staging").await;
    let again = acquire(person, "lock:held", LONG).await;
    assert_eq!(again.status, 503, "{}", again.text);
    left_out(person, &[2]).await;
    let other = acquire(person, "lock:other", LONG).await;
    assert_eq!(other.status, 201, "the others are enough: {}", other.text);
}

#[tokio::test]
async fn after_all_nodes_restarted_locks_can_be_taken_when_the_longest_lease_that_was_seen_is_over()
{
    let mut nodes = RedisNodes::start(5).await;
    let console = TestConsole::start(vec![group("orders", &nodes)])
        .await
        .connected()
        .await;
    let person = console.person();
    eventually_is("every node was gone over", async || {
        let groups = person.get("/api/v1/groups").await.json();
        let coverage = &groups["groups"][0]["coverage"];
        coverage["passes"].as_u64().unwrap() > 0 && coverage["nodes_reached"] == 5
    })
    .await;
    let began = Instant::now();
    let won = acquire(&person, "lock:held", 8_000).await;
    assert_eq!(won.status, 201, "{}", won.text);
    for node in &mut nodes.0 {
        node.restart_empty().await;
    }
    left_out(&person, &[0, 1, 2, 3, 4]).await;
    let refused = acquire(&person, "lock:other", 1_000).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    for said in ["restarted", "until", "vouch"] {
        assert!(refused.text.contains(said), "{said}: {}", refused.text);
    }
    let taken_after = eventually("locks can be taken again", async || {
        let answer = acquire(&person, "lock:held", 1_000).await;
        (answer.status == 201).then(|| began.elapsed())
    })
    .await;
    println!("the lock of 8 s was given again after {taken_after:?}");
    assert!(taken_after > Duration::from_secs(8), "{taken_after:?}");
}

#[tokio::test]
async fn a_node_that_was_away_is_told_of_a_release_though_its_group_was_configured_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    configure(folder.path(), &nodes.0.iter().collect::<Vec<_>>(), "");
    let console = Served::start(serve(), folder.path()).await;
    let person = &console.person;
    every_node_is_up(person).await;
    let won = acquire(person, "lock:a", LONG).await;
    assert_eq!(won.status, 201, "{}", won.text);
    nodes.all_come_to_of(&[0, 1, 2], "lock:a").await;
    nodes.0[2].kill().await;
    let path = lock_path("orders", b"lock:a", "/release");
    let released = person
        .post(&path, json!({"token": won.json()["token"]}))
        .await;
    assert_eq!(released.status, 200, "{}", released.text);
    // More than once: the connections of the first group would have been let go long before the last change.
    for environment in ["staging", "production", "staging"] {
        let more = format!("environment = \"{environment}\"");
        configure(folder.path(), &nodes.0.iter().collect::<Vec<_>>(), &more);
        eventually_is("the group is another one", async || {
            let groups = person.get("/api/v1/groups").await.json();
            groups["groups"][0]["environment"] == environment
        })
        .await;
    }
    nodes.0[2].restart().await;
    let mut client = nodes.0[2].client().await;
    eventually_is("it is released there, too", async || {
        !client.exists::<_, bool>("lock:a").await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_console_that_is_told_to_stop_first_takes_back_what_an_acquire_that_fails_had_taken() {
    let nodes = RedisNodes::start(3).await;
    let slow = [
        Proxy::before(nodes.0[1].port()).await,
        Proxy::before(nodes.0[2].port()).await,
    ];
    for n in [1, 2] {
        nodes.set(n, b"lock:a", b"somebody", Some(LONG)).await;
    }
    let urls = [
        format!("redis://127.0.0.1:{}", nodes.0[0].port()),
        format!("redis://127.0.0.1:{}", slow[0].port()),
        format!("redis://127.0.0.1:{}", slow[1].port()),
    ];
    let named: Vec<&str> = urls.iter().flat_map(|url| ["--redis", url]).collect();
    let console = Process::serve(&named).await;
    every_node_is_up(&console.person).await;
    for proxy in &slow {
        proxy.delay(Duration::from_millis(200));
    }
    let person = console.person.clone();
    let path = lock_path("default", b"lock:a", "/acquire");
    let asking = tokio::spawn(async move { person.post(&path, json!({"ttl_ms": LONG})).await });
    let mut client = nodes.0[0].client().await;
    eventually_is("one node gave it", async || {
        client.exists::<_, bool>("lock:a").await.unwrap()
    })
    .await;
    let said = console.stop().await;
    let answer = asking.await.unwrap();
    assert!(matches!(answer.status, 409 | 503), "{}", answer.text);
    let left: i64 = client.pttl("lock:a").await.unwrap();
    assert_eq!(left, -2, "{} {said}", answer.text);
}

#[tokio::test]
async fn whoever_waits_for_a_lock_is_told_at_once_when_the_console_stops() {
    let nodes = RedisNodes::start(3).await;
    nodes.set_first(3, b"lock:a", b"somebody", Some(LONG)).await;
    let console = Process::on(&nodes, &[]).await;
    every_node_is_up(&console.person).await;
    let person = console.person.clone();
    let path = lock_path("default", b"lock:a", "/acquire");
    let wanted = json!({"ttl_ms": 10_000, "wait_ms": 60_000});
    let waiting = tokio::spawn(async move { (person.post(&path, wanted).await, Instant::now()) });
    eventually_is("it waits", async || {
        let lock = console
            .person
            .get(&lock_path("default", b"lock:a", ""))
            .await;
        lock.text.contains("\"queue\"")
    })
    .await;
    let told = Instant::now();
    console.stop().await;
    let (answer, at) = waiting.await.unwrap();
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(at - told < Duration::from_secs(2), "{:?}", at - told);
}

#[tokio::test]
async fn an_operator_vouches_for_a_node_which_then_takes_new_locks_and_it_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let (nodes, mut console) = two_of_three_came_back_empty(folder.path()).await;
    let path = |node: &str| format!("/api/v1/groups/orders/nodes/{node}/vouch");
    let person = &console.person;
    for (node, body, status) in [
        ("a", json!({"reason": " "}), 422),
        ("nobody", json!({"reason": "nothing was lost"}), 422),
        ("a", json!({"reason": "nothing was lost", "more": 1}), 400),
    ] {
        let refused = person.post(&path(node), body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
    }
    left_out(person, &[0, 1]).await;
    let vouched = person
        .post(&path("a"), json!({"reason": "nobody used it yet"}))
        .await;
    assert_eq!(vouched.status, 200, "{}", vouched.text);
    assert!(vouched.json()["votes"] == true && vouched.json()["hazard_until"].is_null());
    left_out(person, &[1]).await;
    let acts = person.get("/api/v1/audit?act=vouch").await.json();
    let act = &acts["acts"][0];
    assert_eq!(act["reason"], "nobody used it yet", "{acts}");
    assert_eq!(act["end"], "done", "{acts}");
    let won = acquire(person, "lock:other", LONG).await;
    assert_eq!(won.status, 201, "{}", won.text);

    // It outlives the console, and does not outlive the server.
    stopped(&mut console).await;
    let console = Served::start(serve(), folder.path()).await;
    every_node_is_up(&console.person).await;
    left_out(&console.person, &[1]).await;

    // In production the node's name is asked for; here from the command line.
    let more = "environment = \"production\"";
    configure(folder.path(), &nodes.0.iter().collect::<Vec<_>>(), more);
    changed_to(&console.person, "production").await;
    let vouch = async |confirm: &[&str]| {
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args(["vouch", "orders", "b", "--reason", "checked by hand"])
            .args(confirm)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("XDG_STATE_HOME", folder.path())
            .env_remove("STATE_DIRECTORY")
            .output();
        let output = output.await.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (status, said) = vouch(&[]).await;
    assert!(status == Some(2) && said.contains("production"), "{said}");
    let (status, said) = vouch(&["--confirm", "b"]).await;
    assert_eq!(status, Some(0), "{said}");
    left_out(&console.person, &[]).await;
}

#[tokio::test]
async fn a_replica_of_a_cluster_that_was_promoted_may_lack_locks_and_its_locks_say_so() {
    let mut cluster = RedisCluster::start_with_replicas().await;
    let (_console, person) = crate::cluster::console(&cluster, 3).await;
    let lost = "lock:a";
    let home = cluster.home(lost).await;
    crate::cluster::acquire(&person, lost, json!({"ttl_ms": 60_000})).await;
    let mut replica = cluster.servers[home + 3].client().await;
    let () = ask(&mut replica, "READONLY").await;
    eventually_is("the replica has the lock", async || {
        replica.exists(lost).await.unwrap()
    })
    .await;
    cluster.servers[home].kill().await;
    let port = cluster.servers[home + 3].port().to_string();
    let node = eventually("the replica serves", async || {
        let views = views(&person).await;
        let is_it = |node: &Value| {
            node["address"].as_str().unwrap().ends_with(&port) && node["state"] == "up"
        };
        views.into_iter().find(is_it)
    })
    .await;
    assert!(
        node["hazard_until"].is_string() && node["moved"].is_object(),
        "{node}"
    );
    eventually_is("the lock says so", async || {
        let lock = crate::cluster::lock(&person, lost).await;
        lock.is_some_and(|lock| {
            lock["flags"]
                .as_array()
                .unwrap()
                .contains(&json!("restart-hazard"))
        })
    })
    .await;
}

impl RedisNodes {
    /// Waits until these nodes have the key.
    async fn all_come_to_of(&self, which: &[usize], key: &str) {
        for &n in which {
            let mut client = self.0[n].client().await;
            eventually_is("the node has the key", async || {
                client.exists::<_, bool>(key).await.unwrap()
            })
            .await;
        }
    }
}
