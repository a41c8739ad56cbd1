//! Messages with hostile names, and incidents that are opened and resolved.

use super::*;
use crate::domain::testing::{NOW, lock};
use crate::domain::{Flag, GoneReason, LockKey};
use crate::server::config::{Config, parse};

fn webhook(table: &str) -> WebhookConfig {
    let text = format!(
        "[[webhook]]\nname = \"pager\"\nurl = \"https://h.example.org/\"\npublic_url = \"https://locks.example.org/\"\n{table}\n\
         [[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://h:1\" }}]"
    );
    let config: Config = parse("lockkeeper.toml", &text, &|_| None).unwrap();
    config.webhooks[0].clone()
}

fn json_payload(config: &WebhookConfig, event: &WebhookEvent) -> Value {
    serde_json::from_str(&payload(config, event).unwrap()).unwrap()
}

#[test]
fn a_slack_message_shows_a_hostile_name_as_plain_text() {
    let mut held = lock(&[1], NOW, NOW);
    held.id.key = LockKey::from("<!channel> & \u{202e}x");
    let event = WebhookEvent::raised(Flag::Split, &held, NOW);
    let message = json_payload(&webhook("format = \"slack\""), &event);
    let name = "&lt;!channel&gt; &amp; \\u{202e}x in orders";
    let text = message["text"].as_str().unwrap();
    assert!(text.starts_with(name), "{text}");
    let blocks = message["blocks"].as_array().unwrap();
    assert_eq!(blocks[0]["text"]["type"], "plain_text");
    assert_eq!(
        blocks[0]["text"]["text"],
        "<!channel> & \\u{202e}x in orders: the lock has several owners."
    );
    let fields = blocks[1]["fields"].as_array().unwrap();
    assert!(fields.iter().all(|field| field["type"] == "plain_text"));
    assert_eq!(
        blocks[2]["elements"][0]["url"],
        "https://locks.example.org/groups/orders/locks/%3C%21channel%3E%20%26%20%E2%80%AEx"
    );
}

#[test]
fn a_cleared_flag_resolves_the_incident_that_the_raised_flag_opened() {
    let pagerduty =
        webhook("format = \"pagerduty\"\nsecret = \"0123456789abcdef0123456789abcdef\"");
    let held = lock(&[1], NOW, NOW);
    let raised = WebhookEvent::raised(Flag::Overdue, &held, NOW);
    let raised = json_payload(&pagerduty, &raised);
    assert_eq!(raised["routing_key"], "0123456789abcdef0123456789abcdef");
    assert_eq!(raised["event_action"], "trigger");
    assert_eq!(raised["payload"]["severity"], "error");
    assert_eq!(raised["payload"]["component"], "lock:a");
    assert_eq!(
        raised["client_url"],
        "https://locks.example.org/groups/orders/locks/lock%3Aa"
    );
    let reason = Some(GoneReason::Released);
    let cleared = WebhookEvent::cleared(Flag::Overdue, &held.id, reason, NOW);
    let cleared = json_payload(&pagerduty, &cleared);
    assert_eq!(cleared["event_action"], "resolve");
    assert_eq!(cleared["dedup_key"], raised["dedup_key"]);
    let other = WebhookEvent::raised(Flag::Split, &held, NOW);
    assert_ne!(
        json_payload(&pagerduty, &other)["dedup_key"],
        raised["dedup_key"]
    );
}

#[test]
fn texts_stay_within_the_limits_of_the_receivers() {
    let mut held = lock(&[1], NOW, NOW);
    held.id.key = LockKey::from("k".repeat(LockKey::MAX_BYTES).as_str());
    held.owner = held.owner.map(|owner| crate::domain::Owner {
        label: Some("o".repeat(10_000)),
        ..owner
    });
    let event = WebhookEvent::raised(Flag::NoExpiry, &held, NOW);
    let message = json_payload(&webhook("format = \"slack\""), &event);
    let texts = message["blocks"][1]["fields"].as_array().unwrap().iter();
    let longest = texts.map(|field| field["text"].as_str().unwrap().chars().count());
    assert!(longest.max() < Some(2_000), "the limit of Slack");
    let pagerduty =
        webhook("format = \"pagerduty\"\nsecret = \"0123456789abcdef0123456789abcdef\"");
    let alert = json_payload(&pagerduty, &event);
    let summary = alert["payload"]["summary"].as_str().unwrap();
    assert!(summary.chars().count() <= 1_024, "the limit of PagerDuty");
    assert!(alert["dedup_key"].as_str().unwrap().len() <= 255);
}

#[test]
fn pagerduty_gets_no_event_that_opens_no_incident() {
    let pagerduty =
        webhook("format = \"pagerduty\"\nsecret = \"0123456789abcdef0123456789abcdef\"");
    let head = WebhookEvent::audit_head(7, "abc", NOW);
    assert_eq!(payload(&pagerduty, &head), None);
}
