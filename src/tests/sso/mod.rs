//! Sign-in with OpenID Connect: a real provider, and a client that follows the redirects of the
//! console and the provider like a browser.

mod config;
mod consoles;
mod email_claims;
mod pending_sign_ins;
mod provider;
mod rejections;
mod session_lifetime;
mod signing_in;

use std::collections::BTreeMap;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config};
use lockkeeper::server::http_client::{CaCertificates, HttpClient};

use crate::api::group_config;
use crate::support::WAIT_TIMEOUT;
use crate::support::audit::entries;
use crate::support::certificates::CertificateAuthority;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_for;
use provider::Provider;

/// The configured `public_url`. The test client sends requests for it to the console under test.
pub const PUBLIC_URL: &str = "http://localhost:1";

/// The access configuration for this provider: `sre` are operators, `oncall` are viewers.
pub fn access(provider: &Provider) -> AccessConfig {
    access_with(&provider.table(), ROLE_MAPPINGS)
}

pub const ROLE_MAPPINGS: &str = r#"
[[sign_in.oidc.role_mapping]]
value = "sre"
role = "operator"
groups = ["orders"]
keys = ["lock:*"]

[[sign_in.oidc.role_mapping]]
claim = "realm_access.roles"
value = "oncall"
role = "viewer"
"#;

/// The access configuration with this `[sign_in.oidc]` table and these role mappings.
pub fn access_with(table: &str, role_mappings: &str) -> AccessConfig {
    let text = format!(
        "{table}{role_mappings}\n[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://h:1\" }}]\n"
    );
    let config = lockkeeper::server::config::parse("sso.toml", &text, &|_| None);
    config.unwrap_or_else(|error| panic!("{error}")).access
}

/// A console with one node and single sign-on.
pub struct SsoConsole {
    /// The nodes of the group `orders`, stopped on drop.
    _nodes: RedisNodes,
    console: TestConsole,
}

impl SsoConsole {
    pub async fn start(access: AccessConfig, clock: Clock) -> Self {
        let nodes = RedisNodes::start(1).await;
        let config = Config {
            access,
            ..Config::with_groups(vec![group_config("orders", &nodes)])
        };
        let console = TestConsole::start_with_config(config, clock).await;
        Self {
            _nodes: nodes,
            console,
        }
    }

    pub fn api(&self) -> ApiClient {
        self.console.api()
    }

    /// A new browser without cookies.
    pub fn browser(&self) -> Browser {
        Browser::new(self.api())
    }

    /// A new browser that connects from this loopback address.
    pub fn browser_from(&self, local_address: [u8; 4]) -> Browser {
        Browser::new(self.api().with_local_address(local_address))
    }

    /// The entries of the audit log.
    pub async fn audit_entries(&self) -> Vec<serde_json::Value> {
        // End entries are written after the response, so the log is read until it stops growing.
        let mut previous_count = 0;
        wait_for("every entry is written", async || {
            let entries = entries(&self.console.storage_file()).await;
            let is_complete = !entries.is_empty() && entries.len() == previous_count;
            previous_count = entries.len();
            is_complete.then_some(entries)
        })
        .await
    }
}

/// A browser with the cookies of the console and of the provider.
pub struct Browser {
    pub api: ApiClient,
    pub cookies: CookieJar,
    provider_cookies: CookieJar,
    client: HttpClient,
}

/// The cookies of one site.
#[derive(Clone, Default)]
pub struct CookieJar(pub BTreeMap<String, String>);

impl CookieJar {
    fn store(&mut self, headers: &http::HeaderMap) {
        for set_cookie in headers.get_all("set-cookie") {
            let pair = set_cookie.to_str().unwrap().split(';').next().unwrap();
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

impl Browser {
    /// A browser without cookies.
    pub fn new(api: ApiClient) -> Self {
        Self {
            api,
            cookies: CookieJar::default(),
            provider_cookies: CookieJar::default(),
            client: HttpClient::new(None, WAIT_TIMEOUT),
        }
    }

    /// Makes the browser trust this certificate authority.
    pub fn trusting(self, authority: &CertificateAuthority) -> Self {
        let roots = CaCertificates::read(&authority.ca_file()).unwrap();
        Self {
            client: HttpClient::new(Some(&roots), WAIT_TIMEOUT),
            ..self
        }
    }

    /// Sends a GET request to the console.
    pub async fn get(&mut self, path: &str) -> ApiResponse {
        let cookies = self.cookies.header();
        let headers = [("cookie", cookies.as_str())];
        let response = self.api.send("GET", path, &headers, "").await;
        self.cookies.store(&response.headers);
        response
    }

    /// Sends a form to the console.
    pub async fn post(&mut self, path: &str, form: &str) -> ApiResponse {
        let cookies = self.cookies.header();
        let headers = [crate::access::FORM_HEADERS[0], ("cookie", cookies.as_str())];
        let response = self.api.send("POST", path, &headers, form).await;
        self.cookies.store(&response.headers);
        response
    }

    /// Begins a sign-in and returns the authorization URL of the provider.
    pub async fn begin_sign_in(&mut self, next: &str) -> String {
        let next = next.replace('/', "%2F");
        let response = self.get(&format!("/sign-in/provider?next={next}")).await;
        let authorization_url = crate::access::location(&response).to_owned();
        assert!(
            authorization_url.contains("://127.0.0.1:"),
            "{authorization_url}"
        );
        authorization_url
    }

    /// Signs in and consents at the provider. Returns the callback path that the provider redirects
    /// to.
    pub async fn sign_in_at_provider(&mut self, authorization_url: &str, name: &str) -> String {
        let origin = authorization_url
            .split('/')
            .take(3)
            .collect::<Vec<_>>()
            .join("/");
        let (mut method, mut url, mut form) = ("GET", authorization_url.to_owned(), String::new());
        for _ in 0..20 {
            let (headers, text) = self.send_to_provider(method, &url, &form).await;
            if let Some(location) = headers.get("location") {
                let location = location.to_str().unwrap();
                if let Some(path) = location.strip_prefix(PUBLIC_URL) {
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
        panic!("the provider does not redirect to the console: {url}");
    }

    async fn send_to_provider(
        &mut self,
        method: &str,
        url: &str,
        form: &str,
    ) -> (http::HeaderMap, String) {
        let request = http::Request::builder()
            .method(method)
            .uri(url)
            .header("cookie", self.provider_cookies.header())
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.to_owned().into())
            .unwrap();
        let response = self.client.send_and_read_body(request, 1_000_000).await;
        let response = response.unwrap_or_else(|error| panic!("{method} {url}: {error}"));
        let (parts, body) = response.into_parts();
        let text = String::from_utf8_lossy(&body).into_owned();
        self.provider_cookies.store(&parts.headers);
        assert!(
            parts.status.as_u16() < 400,
            "{url}: {} {text}",
            parts.status
        );
        (parts.headers, text)
    }

    /// Signs in with `/nodes` as the requested page. Returns the response to the callback.
    pub async fn sign_in(&mut self, name: &str) -> ApiResponse {
        let authorization_url = self.begin_sign_in("/nodes").await;
        let callback = self.sign_in_at_provider(&authorization_url, name).await;
        self.get(&callback).await
    }

    /// Sends a request with the session cookie, and returns whether the console accepts it.
    pub async fn check_session(&mut self) -> bool {
        match self.get("/api/v1/groups").await.status {
            200 => true,
            401 => false,
            other => panic!("{other}"),
        }
    }
}

/// The error code with which a response redirects to the sign-in page.
pub fn error_code(response: &ApiResponse) -> &str {
    let location = crate::access::location(response);
    let code = location.split("why=").nth(1);
    code.unwrap_or_else(|| panic!("{location}"))
}
