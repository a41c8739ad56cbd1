//! The configuration is another one while people watch: what did not change goes on, what changed is taken over, and a mistake
//! leaves everything as it was and is shown.

use std::path::Path;

use redis::AsyncCommands as _;
use serde_json::{Value, json};

use crate::api::lock_path;
use crate::audit::{Served, serve};
use crate::support::ask;
use crate::support::console::{Person, Watching};
use crate::support::redis_nodes::{RedisNode, RedisNodes};
use crate::support::{eventually, eventually_is};

fn group(name: &str, nodes: &[&RedisNode], more: &str) -> String {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let nodes = nodes.join(", ");
    format!("[[group]]\nname = \"{name}\"\n{more}\nnode = [{nodes}]\n")
}

/// Another file takes the place of the one that is read, as editors and mounted configurations do it.
fn write(folder: &Path, groups: &[String]) {
    let new = folder.join("new.toml");
    let text = format!("listen = \"127.0.0.1:0\"\n{}", groups.concat());
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, folder.join("lockkeeper.toml")).unwrap();
}

async fn put(node: &RedisNode, key: &str) {
    let mut client = node.client().await;
    let _: () = client.pset_ex(key, "me", 600_000).await.unwrap();
}

async fn groups(person: &Person) -> Vec<Value> {
    let answer = person.get("/api/v1/groups").await.json();
    answer["groups"].as_array().unwrap().clone()
}

async fn names(person: &Person) -> Vec<String> {
    let groups = groups(person).await;
    let name = |group: &Value| group["name"].as_str().unwrap().to_owned();
    groups.iter().map(name).collect()
}

/// The locks of a snapshot in which there are exactly these.
async fn shows(stream: &mut Watching, wanted: &[&str]) {
    let mut keys = std::collections::BTreeSet::new();
    let wanted = wanted.iter().map(ToString::to_string).collect();
    while keys != wanted {
        let told = stream.next().await.expect("the stream goes on");
        let key = |lock: &Value| format!("{}/{}", lock["group"], lock["key"]).replace('"', "");
        match told.event.as_str() {
            "snapshot" => {
                keys = told.data["locks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(key)
                    .collect()
            }
            "change" if told.data["lock"].is_object() => {
                keys.insert(key(&told.data["lock"]));
            }
            "change" if told.data["type"] == "gone" => {
                keys.remove(&key(&told.data["id"]));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn groups_come_change_and_go_while_somebody_watches_and_the_others_go_on() {
    let nodes = RedisNodes::start(3).await;
    let [a, b, c] = [&nodes.0[0], &nodes.0[1], &nodes.0[2]];
    put(a, "lock:a").await;
    put(b, "lock:b").await;
    put(c, "lock:c").await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let stays = group("stays", &[a], "");
    write(folder, &[stays.clone(), group("jobs", &[b], "")]);
    let console = Served::start(serve(), folder).await;
    let person = &console.person;
    let mut stream = person.watch("", None).await;
    shows(&mut stream, &["stays/lock:a", "jobs/lock:b"]).await;
    let mut redis = a.client().await;
    let ours = async |redis: &mut redis::aio::MultiplexedConnection| -> Vec<String> {
        let clients: String = ask(redis, "CLIENT LIST").await;
        let ours = clients
            .lines()
            .filter(|line| line.contains("name=lockkeeper"));
        let mut ids: Vec<String> = ours
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let path = lock_path("stays", b"lock:kept", "/acquire");
    let kept = json!({"ttl_ms": 2000, "auto_renew": true});
    assert_eq!(person.post(&path, kept).await.status, 201);
    let before = ours(&mut redis).await;

    // One more group, and another node in one of them.
    let later = [
        stays.clone(),
        group("jobs", &[c], ""),
        group("new", &[b], ""),
    ];
    write(folder, &later);
    shows(
        &mut stream,
        &[
            "stays/lock:a",
            "stays/lock:kept",
            "jobs/lock:c",
            "new/lock:b",
        ],
    )
    .await;
    assert_eq!(names(person).await, ["stays", "jobs", "new"]);
    let after = ours(&mut redis).await;
    assert!(
        before.iter().all(|id| after.contains(id)),
        "its connections are the same: {before:?} {after:?}"
    );
    let path = lock_path("new", b"lock:d", "/acquire");
    assert_eq!(
        person.post(&path, json!({"ttl_ms": 600_000})).await.status,
        201
    );

    // A group goes, and one says something else about its locks.
    let ignores = group("jobs", &[c], "ignore = [\"lock:c\"]");
    write(folder, &[stays, ignores]);
    shows(&mut stream, &["stays/lock:a", "stays/lock:kept"]).await;
    let gone = person.post(&path, json!({"ttl_ms": 1000})).await;
    assert_eq!(gone.code(), "unknown-group");
    // Nothing is left open to a node that is in no group any more.
    let mut redis = b.client().await;
    eventually_is("its connections are closed", async || {
        ours(&mut redis).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_is_kept_goes_on_being_kept_while_its_group_becomes_another() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &[group("jobs", &[&nodes.0[0]], "")]);
    let console = Served::start(serve(), folder).await;
    let person = &console.person;
    let path = |verb| lock_path("jobs", b"lock:kept", verb);
    let ours = person
        .post(
            &path("/acquire"),
            json!({"ttl_ms": 1000, "auto_renew": true}),
        )
        .await;
    assert_eq!(ours.status, 201, "{ours:?}");
    write(
        folder,
        &[group(
            "jobs",
            &[&nodes.0[0]],
            "environment = \"production\"",
        )],
    );
    eventually_is("it is another group", async || {
        groups(person).await[0]["environment"] == "production"
    })
    .await;
    let mut redis = nodes.0[0].client().await;
    let before: i64 = redis.pttl("lock:kept").await.unwrap();
    assert!(before > 0);
    // Its lease is renewed: longer than it was a moment before.
    let mut last = before;
    eventually("it is renewed", async || {
        let left: i64 = redis.pttl("lock:kept").await.unwrap();
        let is_longer = left > last;
        assert!(left > 0, "it was lost");
        last = left;
        is_longer.then_some(())
    })
    .await;
    let token = ours.json()["token"].clone();
    let released = person
        .post(&path("/release"), json!({"token": token}))
        .await;
    assert_eq!(released.status, 200, "{released:?}");
}

#[tokio::test]
async fn a_mistake_leaves_everything_as_it_was_and_is_shown_until_it_is_mended() {
    let nodes = RedisNodes::start(2).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let jobs = group("jobs", &[&nodes.0[0]], "");
    write(folder, std::slice::from_ref(&jobs));
    let console = Served::start(serve(), folder).await;
    let person = &console.person;
    let mut stream = person.watch("", None).await;
    stream.until(|told| told.event == "snapshot").await;
    write(
        folder,
        &[
            jobs.clone(),
            "[[group]]\nname = \"x\"\nnod = []\n".to_owned(),
        ],
    );
    let page = eventually("the page says so", async || {
        let page = person.get("/").await.text;
        page.contains("unknown field `nod`").then_some(page)
    })
    .await;
    assert!(page.contains("lockkeeper.toml:8:"), "{page}");
    let ready = person.get("/readyz").await;
    assert!(ready.text.contains("the file has a mistake"), "{ready:?}");
    assert!(!ready.text.contains("nod`"), "not for everybody: {ready:?}");
    assert_eq!(names(person).await, ["jobs"]);
    stream.until(|told| told.event == "ping").await;
    write(folder, &[jobs, group("more", &[&nodes.0[1]], "")]);
    eventually_is("it is mended", async || {
        names(person).await == ["jobs", "more"]
            && !person.get("/").await.text.contains("unknown field `nod`")
    })
    .await;
    assert!(!person.get("/readyz").await.text.contains("mistake"));
    stream.until(|told| told.event == "ping").await;
}
