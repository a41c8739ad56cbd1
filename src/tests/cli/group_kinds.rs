//! The command line on a cluster and on a primary with sentinels, which need a configuration file.

use super::{CommandOutput, Shell, output_of};
use crate::support::clusters::RedisCluster;
use crate::support::redis_nodes::RedisNodes;
use crate::support::sentinels::{PRIMARY, SentinelDeployment};

/// A shell with this configuration in its working directory.
fn shell(config: &str) -> Shell {
    let shell = Shell::new(&RedisNodes(Vec::new()));
    std::fs::write(shell.path("lockkeeper.toml"), config).unwrap();
    shell
}

async fn run_successfully(shell: &Shell, arguments: &[&str]) -> CommandOutput {
    let output = output_of(shell.bare_command(arguments)).await;
    assert_eq!(output.status, 0, "{arguments:?}: {output:?}");
    output
}

/// Acquires, shows, extends, lists and releases locks. Each command discovers the nodes anew.
async fn check_every_command(shell: &Shell) {
    for n in 0..4 {
        let name = format!("lock:{n}");
        let won = run_successfully(shell, &["acquire", "g", &name, "--ttl", "30s", "--json"]).await;
        std::fs::write(shell.path("token"), won.json()["token"].as_str().unwrap()).unwrap();
        let shown = run_successfully(shell, &["show", "g", &name, "--json"])
            .await
            .json();
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
        run_successfully(shell, &extend).await;
        if n == 0 {
            run_successfully(shell, &["release", "g", &name, "--token-file", "token"]).await;
        }
    }
    let listed = run_successfully(shell, &["list", "--json"]).await.json();
    assert_eq!(listed["total"], 3, "{listed}");
}

#[tokio::test]
async fn commands_discover_the_nodes_of_a_cluster() {
    let cluster = RedisCluster::start().await;
    let config = format!(
        "[[group]]\nname = \"g\"\nkind = \"cluster\"\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]",
        cluster.servers[0].port()
    );
    check_every_command(&shell(&config)).await;
}

#[tokio::test]
async fn commands_get_the_primary_from_the_sentinels() {
    let deployment = SentinelDeployment::start().await;
    let sentinel = |config: &lockkeeper::server::config::NodeConfig| {
        format!("{{ url = \"redis://{}\" }}", config.url.address())
    };
    let sentinels: Vec<String> = deployment.config().sentinels.iter().map(sentinel).collect();
    let config = format!(
        "[[group]]\nname = \"g\"\nsentinel = [{}]\nnode = [{{ url = \"redis://{PRIMARY}\" }}]",
        sentinels.join(", ")
    );
    check_every_command(&shell(&config)).await;
}
