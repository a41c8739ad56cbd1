//! Acts are served on a thread of their own: whatever keeps the rest of the console busy, they go on.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, eventually_is};

/// A connection that is used without the help of any runtime.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Posts JSON and waits, as a thread waits; status and body.
fn post(address: SocketAddr, path: &str, body: &Value) -> (String, Value) {
    let mut stream = connect(address);
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().to_owned();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn a_page_that_takes_long_delays_no_act() {
    let nodes = RedisNodes::start(3).await;
    // Everything that is no act runs on the runtime of this test, which has this thread only.
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let lock = "/api/v1/groups/orders/locks/lock%3Aa";
    eventually_is("every node is up", async || {
        let groups = person.get("/api/v1/groups").await.json();
        let nodes = groups["groups"][0]["nodes"].as_array().unwrap().clone();
        nodes.iter().all(|node| node["state"] == "up")
    })
    .await;

    // From here on nothing is awaited: the thread is ours, and for everybody else the page takes just as long.
    let mut page = connect(console.address);
    let ask = format!(
        "GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        console.address
    );
    page.write_all(ask.as_bytes()).unwrap();
    let act = |act: &str, body: &Value| post(console.address, &format!("{lock}/{act}"), body);
    for _ in 0..100 {
        let (status, acquired) = act("acquire", &json!({"ttl_ms": 60_000}));
        assert_eq!(status, "201", "{acquired}");
        let owner = json!({"token": acquired["token"]});
        let (status, extended) = act(
            "extend",
            &json!({"token": owner["token"], "ttl_ms": 60_000}),
        );
        assert_eq!(status, "200", "{extended}");
        let (status, released) = act("release", &owner);
        assert_eq!(status, "200", "{released}");
    }
    page.set_nonblocking(true).unwrap();
    let nothing = page.read(&mut [0; 16]).unwrap_err();
    assert_eq!(
        nothing.kind(),
        std::io::ErrorKind::WouldBlock,
        "the page is not made yet"
    );

    let mut told = Vec::new();
    eventually_is("the page comes after all", async || {
        let mut some = [0; 4096];
        while let Ok(read @ 1..) = page.read(&mut some) {
            told.extend_from_slice(&some[..read]);
        }
        String::from_utf8_lossy(&told).contains("</html>")
    })
    .await;
}
