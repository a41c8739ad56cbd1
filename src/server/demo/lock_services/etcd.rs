//! The demo's etcd cluster, with `etcdctl` as its clients.

use std::ffi::OsString;
use std::path::Path;

use super::{Processes, SERVERS, find_program, group, wait_until_ready};
use crate::domain::GroupKind;
use crate::server::config::{EtcdConfig, GroupConfig, ServiceConfig, ServiceCredentials};
use crate::server::demo::servers::free_port;

/// The commands of `etcdctl`, each a client that holds a lock or waits for it until the demo ends.
/// The first of those with the same name gets the lock. A TTL is in seconds and is renewed.
const CLIENTS: [&[&str]; 6] = [
    &["lock", "jobs/reindex", "--ttl", "20"],
    &["lock", "jobs/reindex", "--ttl", "20"],
    &["lock", "jobs/reindex", "--ttl", "20"],
    &["lock", "jobs/invoices", "--ttl", "60"],
    &["elect", "leader/scheduler", "node-a"],
    &["elect", "leader/scheduler", "node-b"],
];

/// Starts the cluster and its clients, and returns its group. The error says what is missing. Debian
/// packages `etcdctl` separately; without it the cluster has no locks.
pub async fn start(processes: &Processes<'_>) -> Result<GroupConfig, String> {
    let endpoints = start_servers(processes).await?;
    match find_program("etcdctl") {
        Ok(client) => start_clients(processes, &client, &endpoints)?,
        Err(reason) => eprintln!("The demo's etcd cluster has no locks: {reason}."),
    }
    let config = EtcdConfig {
        endpoints,
        prefixes: vec!["jobs/".to_owned(), "leader/".to_owned()],
        credentials: ServiceCredentials::default(),
    };
    Ok(group("etcd", GroupKind::Etcd, ServiceConfig::Etcd(config)))
}

fn start_clients(
    processes: &Processes<'_>,
    program: &Path,
    endpoints: &[String],
) -> Result<(), String> {
    for (n, command) in CLIENTS.iter().enumerate() {
        let endpoints = format!("--endpoints={}", endpoints.join(","));
        let mut arguments = vec![OsString::from(endpoints)];
        arguments.extend(command.iter().map(OsString::from));
        processes.spawn(&format!("etcdctl-{n}"), program.as_os_str(), arguments)?;
    }
    Ok(())
}

/// Starts the cluster, waits until it has a leader, and returns the URLs of its members. The error
/// says what is missing.
pub async fn start_servers(processes: &Processes<'_>) -> Result<Vec<String>, String> {
    let program = find_program("etcd")?;
    let ports = || -> std::io::Result<Vec<u16>> { (0..SERVERS).map(|_| free_port()).collect() };
    let client_ports = ports().map_err(|why| why.to_string())?;
    let peer_ports = ports().map_err(|why| why.to_string())?;
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let members: Vec<String> = (1..)
        .zip(&peer_ports)
        .map(|(n, port)| format!("n{n}={}", url(*port)))
        .collect();
    for (n, (client_port, peer_port)) in (1..).zip(client_ports.iter().zip(&peer_ports)) {
        let name = format!("etcd-{n}");
        let mut arguments: Vec<OsString> = vec!["--data-dir".into()];
        arguments.push(processes.folder_of(&name).into());
        let options = [
            ("--name", format!("n{n}")),
            ("--listen-client-urls", url(*client_port)),
            ("--advertise-client-urls", url(*client_port)),
            ("--listen-peer-urls", url(*peer_port)),
            ("--initial-advertise-peer-urls", url(*peer_port)),
            ("--initial-cluster", members.join(",")),
            ("--initial-cluster-state", "new".to_owned()),
            ("--log-level", "error".to_owned()),
        ];
        for (option, value) in options {
            arguments.extend([OsString::from(option), OsString::from(value)]);
        }
        processes.spawn(&name, program.as_os_str(), arguments)?;
    }
    // A member with a leader replies `{"health":"true"}`.
    wait_until_ready(&client_ports, "GET /health HTTP/1.0\r\n\r\n", "true").await?;
    Ok(client_ports.into_iter().map(url).collect())
}
