//! The command line on groups of which only a configuration file can tell: a cluster, and a primary behind sentinels.

use super::{Ended, Shell, end_of};
use crate::support::clusters::RedisCluster;
use crate::support::redis_nodes::RedisNodes;
use crate::support::sentinels::{PRIMARY, Watched};

/// A shell in whose folder there is this configuration.
fn shell(config: &str) -> Shell {
    let shell = Shell::on(&RedisNodes(Vec::new()));
    std::fs::write(shell.path("lockkeeper.toml"), config).unwrap();
    shell
}

async fn says(shell: &Shell, words: &[&str]) -> Ended {
    let ended = end_of(shell.bare(words)).await;
    assert_eq!(ended.status, 0, "{words:?}: {ended:?}");
    ended
}

/// Takes, shows, lists and releases locks, each with a command of its own that knows no node yet.
async fn every_verb_works(shell: &Shell) {
    for n in 0..4 {
        let name = format!("lock:{n}");
        let won = says(shell, &["acquire", "g", &name, "--ttl", "30s", "--json"]).await;
        std::fs::write(shell.path("token"), won.json()["token"].as_str().unwrap()).unwrap();
        let shown = says(shell, &["show", "g", &name, "--json"]).await.json();
        assert_eq!(shown["verdict"], "held", "{shown}");
        let extend = [
            "extend",
            "g",
            &name,
            "--ttl",
            "60s",
            "--token-file",
            "token",
        ];
        says(shell, &extend).await;
        if n == 0 {
            says(shell, &["release", "g", &name, "--token-file", "token"]).await;
        }
    }
    let listed = says(shell, &["list", "--json"]).await.json();
    assert_eq!(listed["total"], 3, "{listed}");
}

#[tokio::test]
async fn commands_find_the_nodes_of_a_cluster_by_themselves() {
    let cluster = RedisCluster::start().await;
    let config = format!(
        "[[group]]\nname = \"g\"\nkind = \"cluster\"\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        cluster.servers[0].port()
    );
    every_verb_works(&shell(&config)).await;
}

#[tokio::test]
async fn commands_ask_the_sentinels_where_the_primary_is() {
    let watched = Watched::start().await;
    let sentinel = |config: &lockkeeper::server::config::NodeConfig| {
        format!("{{ url = \"redis://{}\" }}", config.url.address())
    };
    let sentinels: Vec<String> = watched.config().sentinels.iter().map(sentinel).collect();
    let config = format!(
        "[[group]]\nname = \"g\"\nsentinel = [{}]\nnode = [{{ url = \"redis://{PRIMARY}\" }}]",
        sentinels.join(", ")
    );
    every_verb_works(&shell(&config)).await;
}
