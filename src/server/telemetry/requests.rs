//! How many requests there were by route and status, and how long they took.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::counts::Counts;
use super::page::Page;
use super::times::Times;

/// What there is to say about one route.
#[derive(Default)]
pub struct Route {
    times: Times,
    statuses: Counts<u16>,
}

/// The requests of every route.
#[derive(Default)]
pub struct Requests(RwLock<BTreeMap<Box<str>, Arc<Route>>>);

impl Route {
    /// A request to this route was answered.
    pub fn add(&self, status: u16, took: Duration) {
        self.times.add(took);
        self.statuses.add(status);
    }
}

impl Requests {
    /// The route with this pattern (`/api/v1/groups/{group}/locks/{key}`). Patterns come from the router, so they are few.
    pub fn route(&self, pattern: &str) -> Arc<Route> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = known.get(pattern) {
            return Arc::clone(route);
        }
        drop(known);
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(routes.entry(pattern.into()).or_default())
    }

    pub(super) fn write(&self, page: &mut Page) {
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = page.counter(
            "lockkeeper_http_requests_total",
            "Requests that were answered, by route and status.",
        );
        for (pattern, route) in routes.iter() {
            for (status, n) in route.statuses.each() {
                all.add(&[("route", pattern), ("status", &status.to_string())], n);
            }
        }
        let mut times = page.histogram(
            "lockkeeper_http_request_duration_seconds",
            "From a request's head to its answer's head; an acquire that waits is waited for.",
        );
        for (pattern, route) in routes.iter() {
            times.add_ranges(&[("route", pattern)], &route.times.ranges());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status() {
        let requests = Requests::default();
        requests.route("/a").add(200, Duration::from_millis(3));
        requests.route("/a").add(429, Duration::from_millis(1));
        let mut page = Page::default();
        requests.write(&mut page);
        let page = page.text();
        for line in [
            r#"lockkeeper_http_requests_total{route="/a",status="200"} 1"#,
            r#"lockkeeper_http_requests_total{route="/a",status="429"} 1"#,
            r#"lockkeeper_http_request_duration_seconds_bucket{route="/a",le="0.0025"} 1"#,
            r#"lockkeeper_http_request_duration_seconds_bucket{route="/a",le="+Inf"} 2"#,
            r#"lockkeeper_http_request_duration_seconds_count{route="/a"} 2"#,
            r#"lockkeeper_http_request_duration_seconds_sum{route="/a"} 0.004"#,
        ] {
            assert!(page.contains(line), "{page}");
        }
    }
}
