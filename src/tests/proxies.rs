//! The bad network that other tests stand on does what it says, and no more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::eventually_is;
use crate::support::proxy::ProxiedNodes;
use crate::support::redis_nodes::RedisNodes;

/// Long enough for an answer that comes, and not too long for one that does not.
const SILENCE: Duration = Duration::from_millis(300);

/// A connection that says and hears lines.
struct Caller(BufReader<TcpStream>);

impl Caller {
    fn to(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn say(&mut self, line: &str) {
        self.0
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .unwrap();
    }

    /// The next line; nothing where none comes; an error where the connection is no more.
    fn hear(&mut self) -> Result<Option<String>, ()> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(1..) => Ok(Some(line.trim_end().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Ok(0) | Err(_) => Err(()),
        }
    }

    fn ask(&mut self, line: &str) -> Result<Option<String>, ()> {
        self.say(line);
        self.hear()
    }

    /// The round trips of many questions, shortest first.
    fn round_trips(&mut self) -> Vec<Duration> {
        let mut took: Vec<Duration> = (0..100)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(self.ask("PING"), answer("+PONG"));
                began.elapsed()
            })
            .collect();
        took.sort();
        took
    }
}

fn answer(line: &str) -> Result<Option<String>, ()> {
    Ok(Some(line.to_owned()))
}

const SILENT: Result<Option<String>, ()> = Ok(None);
const BROKEN: Result<Option<String>, ()> = Err(());

async fn one() -> ProxiedNodes {
    RedisNodes::proxied(1).await
}

#[tokio::test]
async fn two_milliseconds_each_way_are_four_more() {
    let net = one().await;
    let (straight, through) = (net.nodes.0[0].port(), net.proxies[0].port());
    let (straight, mut through) = (Caller::to(straight).round_trips(), Caller::to(through));
    let without_delay = through.round_trips();
    net.proxies[0].delay(Duration::from_millis(2));
    let delayed = through.round_trips();
    for (name, took) in [
        ("straight", &straight),
        ("proxied", &without_delay),
        ("delayed", &delayed),
    ] {
        eprintln!(
            "{name}: shortest {:?}, median {:?}, 90 of 100 {:?}",
            took[0], took[50], took[90]
        );
    }
    assert!(delayed[0] >= Duration::from_millis(4), "{:?}", delayed[0]);
    // The shortest one is hardly moved by what else the machine does.
    assert!(
        delayed[0] < without_delay[0] + Duration::from_micros(4_500),
        "{:?}",
        delayed[0]
    );
    net.proxies[0].heal();
    assert!(through.round_trips()[0] < Duration::from_millis(2));
}

#[tokio::test]
async fn answers_keep_the_order_of_the_questions_while_the_delay_changes() {
    let net = one().await;
    let mut caller = Caller::to(net.proxies[0].port());
    for n in 0..200_u64 {
        net.proxies[0].delay(Duration::from_micros(1500 * (n % 3)));
        caller.say(&format!("ECHO {n}"));
    }
    for n in 0..200 {
        assert!(caller.hear().unwrap().unwrap().starts_with('$'));
        assert_eq!(caller.hear(), answer(&n.to_string()));
    }
}

#[tokio::test]
async fn a_cut_resets_connections_and_refuses_new_ones_until_it_heals() {
    let net = one().await;
    let (proxy, server) = (&net.proxies[0], &net.nodes.0[0]);
    let mut caller = Caller::to(proxy.port());
    assert_eq!(caller.ask("SET a 1"), answer("+OK"));
    proxy.cut();
    assert_eq!(caller.ask("SET a 2"), BROKEN);
    eventually_is("nobody listens", async || {
        TcpStream::connect(("127.0.0.1", proxy.port())).is_err()
    })
    .await;
    assert_eq!(Caller::to(server.port()).ask("STRLEN a"), answer(":1"));
    assert_eq!(net.nodes.get(0, b"a").await.unwrap(), b"1");
    proxy.heal();
    eventually_is("it is as before", async || {
        TcpStream::connect(("127.0.0.1", proxy.port())).is_ok()
            && Caller::to(proxy.port()).ask("PING") == answer("+PONG")
    })
    .await;
}

#[tokio::test]
async fn a_blackhole_takes_everything_and_gives_nothing_back() {
    let net = one().await;
    let proxy = &net.proxies[0];
    let mut before = Caller::to(proxy.port());
    assert_eq!(before.ask("SET a 1"), answer("+OK"));
    proxy.blackhole();
    let mut meanwhile = Caller::to(proxy.port());
    assert_eq!(
        (before.ask("SET a 2"), meanwhile.ask("SET a 3")),
        (SILENT, SILENT)
    );
    proxy.heal();
    assert_eq!((before.hear(), meanwhile.hear()), (BROKEN, BROKEN));
    assert_eq!(net.nodes.get(0, b"a").await.unwrap(), b"1");
    assert_eq!(Caller::to(proxy.port()).ask("PING"), answer("+PONG"));
}

#[tokio::test]
async fn a_request_whose_answer_is_lost_was_carried_out() {
    let net = one().await;
    let proxy = &net.proxies[0];
    let mut caller = Caller::to(proxy.port());
    let mut idle = Caller::to(proxy.port());
    assert_eq!(
        (caller.ask("PING"), idle.ask("PING")),
        (answer("+PONG"), answer("+PONG"))
    );
    proxy.lose_answers();
    assert_eq!(caller.ask("SET a 1"), SILENT);
    assert_eq!(net.nodes.get(0, b"a").await.unwrap(), b"1");
    proxy.heal();
    assert_eq!(caller.hear(), BROKEN);
    assert_eq!(idle.ask("PING"), answer("+PONG"), "nothing of it was lost");
}

#[tokio::test]
async fn a_lost_request_was_not_carried_out_while_the_server_can_still_speak() {
    let net = one().await;
    let proxy = &net.proxies[0];
    let (mut caller, mut listener) = (Caller::to(proxy.port()), Caller::to(proxy.port()));
    assert_eq!(caller.ask("PING"), answer("+PONG"));
    assert_eq!(listener.ask("SUBSCRIBE news"), answer("*3"));
    while listener.hear() != SILENT {}
    proxy.lose_requests();
    assert_eq!(caller.ask("SET a 1"), SILENT);
    assert_eq!(net.nodes.get(0, b"a").await, None);
    assert_eq!(
        Caller::to(net.nodes.0[0].port()).ask("PUBLISH news today"),
        answer(":1")
    );
    assert_eq!(listener.hear(), answer("*3"));
}

#[tokio::test]
async fn what_is_held_back_arrives_late_even_when_its_sender_is_gone() {
    let net = one().await;
    let proxy = &net.proxies[0];
    let mut caller = Caller::to(proxy.port());
    assert_eq!(caller.ask("PING"), answer("+PONG"));
    proxy.hold_back();
    assert_eq!(caller.ask("SET a 1"), SILENT);
    drop(caller);
    assert_eq!(
        Caller::to(proxy.port()).ask("SET a 2"),
        answer("+OK"),
        "new connections pass"
    );
    proxy.heal();
    eventually_is("it arrived", async || {
        net.nodes.get(0, b"a").await.unwrap() == b"1"
    })
    .await;
}

#[tokio::test]
async fn a_dead_server_breaks_the_connections_to_its_proxy() {
    let mut net = one().await;
    let mut caller = Caller::to(net.proxies[0].port());
    assert_eq!(caller.ask("PING"), answer("+PONG"));
    net.nodes.0[0].kill().await;
    assert_eq!(caller.hear(), BROKEN);
    assert_eq!(Caller::to(net.proxies[0].port()).hear(), BROKEN);
}

#[tokio::test]
async fn hundreds_of_connections_pass_at_once() {
    let net = one().await;
    let mut callers: Vec<Caller> = (0..300)
        .map(|_| Caller::to(net.proxies[0].port()))
        .collect();
    net.proxies[0].delay(Duration::from_millis(2));
    for caller in &mut callers {
        caller.say("PING");
    }
    for caller in &mut callers {
        assert_eq!(caller.hear(), answer("+PONG"));
    }
}
