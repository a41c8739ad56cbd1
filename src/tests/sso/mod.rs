//! People who sign in with an OpenID Connect provider: a real one, and a browser that goes from the console to it and back.

mod bounds;
mod config;
mod consoles;
mod emails;
mod lasting;
mod provider;
mod refusals;
mod signing_in;

use std::collections::BTreeMap;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config};
use lockkeeper::server::http_client::{HttpClient, Roots};

use crate::api::group;
use crate::support::PATIENCE;
use crate::support::audit::entries;
use crate::support::certificates::Authority;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::eventually;
use crate::support::redis_nodes::RedisNodes;
use provider::Provider;

/// Where the console says that it is; whoever is sent there goes to the console of the test.
pub const CONSOLE: &str = "http://localhost:1";

/// The configuration of a console whose people come from this provider: operators of `sre`, viewers of `oncall`.
pub fn access(provider: &Provider) -> AccessConfig {
    access_as(&provider.table(), GRANTS)
}

/// Who may do what.
pub const GRANTS: &str = r#"
[[sign_in.oidc.grant]]
value = "sre"
role = "operator"
groups = ["orders"]
keys = ["lock:*"]

[[sign_in.oidc.grant]]
claim = "realm_access.roles"
value = "oncall"
role = "viewer"
"#;

/// The same, as this table of the provider and these grants say.
pub fn access_as(table: &str, grants: &str) -> AccessConfig {
    let text = format!(
        "{table}{grants}\n[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://h:1\" }}]\n"
    );
    let config = lockkeeper::server::config::parse("sso.toml", &text, &|_| None);
    config.unwrap_or_else(|why| panic!("{why}")).access
}

/// A console with one node.
pub struct Sso {
    /// The nodes of the group `orders`: they end with it.
    _nodes: RedisNodes,
    /// The console.
    pub console: TestConsole,
}

impl Sso {
    /// A console whose people come in this way.
    pub async fn console(access: AccessConfig, clock: Clock) -> Self {
        let nodes = RedisNodes::start(1).await;
        let config = Config {
            access,
            ..Config::of(vec![group("orders", &nodes)])
        };
        let console = TestConsole::start_as(config, clock).await;
        Self {
            _nodes: nodes,
            console,
        }
    }

    /// Somebody with a browser.
    pub fn visitor(&self) -> Visitor {
        Visitor::of(self.console.person())
    }

    /// Somebody who calls from this address, which is this machine's too.
    pub fn visitor_from(&self, from: [u8; 4]) -> Visitor {
        Visitor::of(self.console.person().calling_from(from))
    }

    /// What was written down of who came and who was refused: act, who, outcome.
    pub async fn audited(&self) -> Vec<serde_json::Value> {
        // It is written a moment after the answer.
        let mut before = 0;
        eventually("everything is written", async || {
            let entries = entries(&self.console.storage_file()).await;
            let is_all = !entries.is_empty() && entries.len() == before;
            before = entries.len();
            is_all.then_some(entries)
        })
        .await
    }
}

/// Somebody with a browser, which keeps the cookies of the console and of the provider.
pub struct Visitor {
    pub person: Person,
    pub cookies: Jar,
    there: Jar,
    client: HttpClient,
}

/// The cookies of one place.
#[derive(Clone, Default)]
pub struct Jar(pub BTreeMap<String, String>);

impl Jar {
    fn keep(&mut self, headers: &http::HeaderMap) {
        for set in headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if value.is_empty() {
                self.0.remove(name);
            } else {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    fn header(&self) -> String {
        let pairs = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }
}

impl Visitor {
    /// Nobody is signed in anywhere.
    pub fn of(person: Person) -> Self {
        Self {
            person,
            cookies: Jar::default(),
            there: Jar::default(),
            client: HttpClient::new(None, PATIENCE),
        }
    }

    /// The same with a browser that trusts whomever this authority vouches for.
    pub fn trusting(self, authority: &Authority) -> Self {
        let roots = Roots::read(&authority.file()).unwrap();
        Self {
            client: HttpClient::new(Some(&roots), PATIENCE),
            ..self
        }
    }

    /// Asks the console.
    pub async fn get(&mut self, path: &str) -> Answer {
        let cookies = self.cookies.header();
        let headers = [("cookie", cookies.as_str())];
        let answer = self.person.send("GET", path, &headers, "").await;
        self.cookies.keep(&answer.headers);
        answer
    }

    /// Sends a form to the console.
    pub async fn post(&mut self, path: &str, form: &str) -> Answer {
        let cookies = self.cookies.header();
        let headers = [crate::access::FORM[0], ("cookie", cookies.as_str())];
        let answer = self.person.send("POST", path, &headers, form).await;
        self.cookies.keep(&answer.headers);
        answer
    }

    /// Where the console sends somebody who wants to sign in with the provider.
    pub async fn begin(&mut self, next: &str) -> String {
        let next = next.replace('/', "%2F");
        let answer = self.get(&format!("/sign-in/provider?next={next}")).await;
        let to = crate::access::location(&answer).to_owned();
        assert!(to.contains("://127.0.0.1:"), "{to}");
        to
    }

    /// Signs in at the provider and consents; answers the path of the console that the provider sends the browser to.
    pub async fn at_provider(&mut self, to: &str, name: &str) -> String {
        let origin = to.split('/').take(3).collect::<Vec<_>>().join("/");
        let (mut method, mut url, mut form) = ("GET", to.to_owned(), String::new());
        for _ in 0..20 {
            let (headers, text) = self.ask_there(method, &url, &form).await;
            if let Some(location) = headers.get("location") {
                let location = location.to_str().unwrap();
                if let Some(path) = location.strip_prefix(CONSOLE) {
                    return path.to_owned();
                }
                (method, form) = ("GET", String::new());
                url = match location.strip_prefix('/') {
                    Some(path) => format!("{origin}/{path}"),
                    None => location.to_owned(),
                };
                continue;
            }
            let action = text.split("action=\"").nth(1);
            let action = action.unwrap_or_else(|| panic!("{url} has no form: {text}"));
            let action = action.split('"').next().unwrap();
            url = if action.starts_with('/') {
                format!("{origin}{action}")
            } else {
                action.to_owned()
            };
            method = "POST";
            form = if text.contains("value=\"login\"") {
                format!("prompt=login&login={name}&password=any")
            } else {
                "prompt=consent".to_owned()
            };
        }
        panic!("the provider sends nobody back from {url}");
    }

    async fn ask_there(
        &mut self,
        method: &str,
        url: &str,
        form: &str,
    ) -> (http::HeaderMap, String) {
        let request = http::Request::builder()
            .method(method)
            .uri(url)
            .header("cookie", self.there.header())
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.to_owned().into())
            .unwrap();
        let answer = self.client.exchange(request, 1_000_000).await;
        let answer =
            answer.unwrap_or_else(|why| panic!("no answer of the provider: {method} {url}: {why}"));
        let (parts, body) = answer.into_parts();
        let text = String::from_utf8_lossy(&body).into_owned();
        self.there.keep(&parts.headers);
        assert!(
            parts.status.as_u16() < 400,
            "{url}: {} {text}",
            parts.status
        );
        (parts.headers, text)
    }

    /// Signs in by name, wanting to go to `/nodes`; answers what the console says in the end.
    pub async fn sign_in(&mut self, name: &str) -> Answer {
        let there = self.begin("/nodes").await;
        let back = self.at_provider(&there, name).await;
        self.get(&back).await
    }

    /// Whether the console lets them in.
    pub async fn is_in(&mut self) -> bool {
        match self.get("/api/v1/groups").await.status {
            200 => true,
            401 => false,
            other => panic!("{other}"),
        }
    }
}

/// Why an answer sends somebody back to the page.
pub fn why(answer: &Answer) -> &str {
    let location = crate::access::location(answer);
    let why = location.split("why=").nth(1);
    why.unwrap_or_else(|| panic!("{location}"))
}
