//! The history of the week before the demo was started. It is made up: the same holds, outages and
//! gaps for the same time, so that every picture of the console has something to show at once.
//!
//! Everything ends a minute before the start of the demo, so that a gap separates it from what the
//! console observes.

mod counters;
mod incident;
mod regular;
#[cfg(test)]
mod tests;
mod timeline;

use std::time::Duration;

use crate::domain::{GapCause, NodeState, Timestamp};
use crate::server::config::StorageConfig;
use crate::server::demo::clients::{JOBS, ORDERS};
use crate::server::history::{PastHistory, write_past};
use crate::server::storage::{Storage, StorageError};
use timeline::Timeline;

/// The length of the history.
const LENGTH: Duration = Duration::from_hours(7 * 24);
/// The end of the history before the start of the demo.
const END_BEFORE_START: Duration = Duration::from_mins(1);

/// Writes the week into the database of the demo. Returns its end.
pub(super) async fn write(
    config: &StorageConfig,
    now: Timestamp,
) -> Result<Timestamp, StorageError> {
    let storage = Storage::new(config, true);
    let week = made_up_week(now);
    let until = week.to;
    write_past(&storage, week).await?;
    Ok(until)
}

/// The week before `now`.
fn made_up_week(now: Timestamp) -> PastHistory {
    let to = before(now, END_BEFORE_START);
    let mut timeline = Timeline::new(before(to, LENGTH), to);
    let incident_at = incident::time(to);
    add_gaps(&mut timeline, incident_at);
    regular::add(&mut timeline, incident_at);
    incident::add(&mut timeline, incident_at);
    add_maintenance(&mut timeline);
    timeline.into_history()
}

/// A restart of the console four days ago, and a full disk within the last day.
fn add_gaps(timeline: &mut Timeline, incident_at: Timestamp) {
    let days_ago = before(timeline.to, Duration::from_hours(4 * 24));
    let stopped = Duration::from_mins(42);
    timeline.add_gap(days_ago, stopped, GapCause::ConsoleStopped);
    // Apart from the incident, on the side that has more space within the last day.
    let is_early = timeline.to.since(incident_at) > Duration::from_hours(12);
    let full_at = match is_early {
        true => incident_at.plus(Duration::from_hours(5)),
        false => before(incident_at, Duration::from_hours(6)),
    };
    let full = Duration::from_mins(6);
    timeline.add_gap(full_at, full, GapCause::StorageUnavailable);
}

/// The nodes of `orders` were restarted one after another five days ago, and the node of `jobs` was
/// unreachable three days ago.
fn add_maintenance(timeline: &mut Timeline) {
    let restarts = before(timeline.to, Duration::from_hours(5 * 24));
    for (node, minutes) in ["a", "b", "c", "d", "e"]
        .into_iter()
        .zip([0, 5, 10, 15, 20])
    {
        let at = restarts.plus(Duration::from_mins(minutes));
        let states = [
            (NodeState::Down, Duration::from_secs(40)),
            (NodeState::Loading, Duration::from_secs(10)),
        ];
        timeline.add_outage(ORDERS, node, at, &states);
    }
    let unreachable = before(timeline.to, Duration::from_hours(3 * 24));
    let states = [(NodeState::Down, Duration::from_mins(3))];
    timeline.add_outage(JOBS, "main", unreachable, &states);
}

/// An earlier time.
fn before(at: Timestamp, span: Duration) -> Timestamp {
    at.plus_millis(-timeline::millis(span))
}
