//! The body of a request, in the format that the receiver expects.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::WebhookEvent;
use super::notice::{Incident, Notice};
use crate::domain::WebhookFormat;
use crate::server::config::{WebhookConfig, WebhookSecret};

/// The JSON document of an event for this webhook; `None` if its format has no such event.
pub(super) fn payload(config: &WebhookConfig, event: &WebhookEvent) -> Option<String> {
    let link = match (&config.public_url, &event.notice().id) {
        (Some(url), Some(id)) => Some(format!("{url}{}", id.page_path())),
        _ => None,
    };
    match (&config.format, &config.secret) {
        (WebhookFormat::Standard, _) => Some(event.body().to_owned()),
        (WebhookFormat::Slack, _) => {
            Some(slack_message(event.notice(), link.as_deref()).to_string())
        }
        (WebhookFormat::Pagerduty, Some(routing_key)) => {
            let incident = event.notice().incident.as_ref()?;
            let alert = pagerduty_alert(event, incident, routing_key, link.as_deref());
            Some(alert.to_string())
        }
        (WebhookFormat::Pagerduty, None) => None,
    }
}

/// A message with blocks. Names and reasons stand in `plain_text`, in which Slack resolves no
/// mention and no link.
fn slack_message(notice: &Notice, link: Option<&str>) -> Value {
    let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    let mut blocks = vec![json!({ "type": "section", "text": plain(&notice.summary) })];
    if !notice.facts.is_empty() {
        let facts = notice.facts.iter();
        let fields: Vec<Value> = facts
            .map(|(title, text)| plain(&format!("{title}: {text}")))
            .collect();
        blocks.push(json!({ "type": "section", "fields": fields }));
    }
    if let Some(link) = link {
        let button = json!({ "type": "button", "text": plain("Open in Lockkeeper"), "url": link });
        blocks.push(json!({ "type": "actions", "elements": [button] }));
    }
    // The text of the notification on a phone. It is parsed for mentions.
    json!({ "text": slack_escaped(&notice.summary), "blocks": blocks })
}

/// Escapes the characters that begin mentions and links.
fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// An event of version 2 of the Events API.
fn pagerduty_alert(
    event: &WebhookEvent,
    incident: &Incident,
    routing_key: &WebhookSecret,
    link: Option<&str>,
) -> Value {
    let notice = event.notice();
    let action = match incident.is_resolved {
        true => "resolve",
        false => "trigger",
    };
    let details: BTreeMap<_, _> = notice.facts.iter().cloned().collect();
    let mut alert = json!({
        "routing_key": String::from_utf8_lossy(routing_key.expose()),
        "event_action": action,
        "dedup_key": incident.key,
        "client": "Lockkeeper",
        "payload": {
            "summary": notice.summary,
            "source": notice.id.as_ref().map_or("lockkeeper", |id| id.group.as_str()),
            "severity": incident.severity,
            "timestamp": event.at(),
            "class": incident.class,
            "component": notice.id.as_ref().map(|id| id.key.text()),
            "group": notice.id.as_ref().map(|id| &id.group),
            "custom_details": details,
        },
    });
    if let Some(link) = link {
        alert["client_url"] = link.into();
        alert["links"] = json!([{ "href": link, "text": "Lock in Lockkeeper" }]);
    }
    alert
}

#[cfg(test)]
mod tests;
