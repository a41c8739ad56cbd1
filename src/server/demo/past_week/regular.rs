//! The week of the clients that work: regular holds, a contended lock, jobs that do not renew, and a
//! client that crashed again and again.

use std::ops::Range;
use std::time::Duration;

use super::before;
use super::incident::{LEDGER, MERGE};
use super::timeline::{DemoLock, PastHold, Timeline};
use crate::domain::{Flag, Format, HoldEndReason, Timestamp};
use crate::server::demo::clients::{CRASH_LOOP_KEY, JOBS, ORDERS};

/// A client that takes a lock again and again.
struct Series {
    lock: DemoLock,
    label: Option<&'static str>,
    hold: Range<Duration>,
    pause: Range<Duration>,
    end: HoldEndReason,
}

/// Adds the regular holds. The incident has its own.
pub(super) fn add(timeline: &mut Timeline, incident_at: Timestamp) {
    let (from, to) = (timeline.from, timeline.to);
    let incident = (
        before(incident_at, mins(210)),
        incident_at.plus(mins(20)).min(to),
    );
    for series in all_series() {
        let is_in_incident = [LEDGER.key, MERGE.key].contains(&series.lock.key);
        if is_in_incident {
            add_series(timeline, &series, from, incident.0);
            add_series(timeline, &series, incident.1, to);
        } else {
            add_series(timeline, &series, from, to);
        }
    }
    for day in 0..7 {
        let start = before(to, Duration::from_hours(24 * day + 2));
        add_contention(timeline, start, start.plus(mins(8)));
    }
    add_contention(timeline, before(to, mins(15)), to);
    add_crashes(timeline, before(to, Duration::from_hours(20)));
}

fn all_series() -> Vec<Series> {
    let released = HoldEndReason::Released;
    let lock = |group, key, format, renewal| DemoLock {
        group,
        key,
        format,
        renewal,
    };
    let series = |lock, label, hold, pause, end| Series {
        lock,
        label,
        hold,
        pause,
        end,
    };
    let every_10s = Some((secs(30), secs(10)));
    let pricing = lock(ORDERS, "lock:pricing:feed", Format::NodeRedlock, every_10s);
    let reindex = lock(
        ORDERS,
        "lock:search:reindex",
        Format::NodeRedlock,
        every_10s,
    );
    let printer = "lock:shipment:label-printer";
    let printer = lock(ORDERS, printer, Format::Redsync, Some((secs(8), secs(3))));
    let billing = lock(JOBS, "redisson:billing:run", Format::Redisson, every_10s);
    let inventory = lock(JOBS, "redisson:inventory:sync", Format::Redisson, every_10s);
    let report = lock(JOBS, "lock:nightly-report", Format::RedisPy, None);
    let reminders = lock(JOBS, "job-lock:prod:send-reminders", Format::ShedLock, None);
    let thumbnails = lock(JOBS, "lock:thumbnails:rebuild", Format::Plain, None);
    vec![
        series(
            LEDGER,
            None,
            mins(40)..mins(90),
            mins(10)..mins(40),
            released,
        ),
        series(MERGE, None, mins(5)..mins(20), mins(30)..mins(90), released),
        series(
            pricing,
            None,
            mins(180)..mins(360),
            secs(30)..mins(3),
            released,
        ),
        series(
            reindex,
            None,
            mins(80)..mins(120),
            mins(1_300)..mins(1_340),
            released,
        ),
        series(
            printer,
            None,
            mins(20)..mins(50),
            secs(20)..mins(5),
            released,
        ),
        series(
            billing,
            Some("6d1f5a0e thread 87"),
            mins(8)..mins(15),
            mins(45)..mins(52),
            released,
        ),
        series(
            inventory,
            Some("90b2c7d1 thread 31"),
            mins(25)..mins(40),
            mins(15)..mins(30),
            released,
        ),
        series(
            report,
            Some("02:42:ac:11:00:07"),
            mins(12)..mins(18),
            mins(1_420)..mins(1_428),
            released,
        ),
        series(
            reminders,
            Some("worker-7d9f"),
            secs(50)..secs(51),
            mins(28)..mins(32),
            HoldEndReason::Expired,
        ),
        series(
            thumbnails,
            None,
            secs(40)..secs(41),
            mins(50)..mins(70),
            HoldEndReason::Expired,
        ),
    ]
}

fn add_series(timeline: &mut Timeline, series: &Series, from: Timestamp, to: Timestamp) {
    let mut at = from.plus(timeline.duration(series.pause.clone()) / 2);
    while at < to {
        let end = at.plus(timeline.duration(series.hold.clone()));
        let hold = PastHold {
            label: series.label.map(str::to_owned),
            from: at,
            to: end.min(to),
            end: series.end,
            attempts: None,
        };
        timeline.add_hold(&series.lock, hold);
        at = end.plus(timeline.duration(series.pause.clone()));
    }
}

/// Four machines compete for one lock.
fn add_contention(timeline: &mut Timeline, from: Timestamp, to: Timestamp) {
    let lock = DemoLock {
        group: ORDERS,
        key: "lock:invoice:1842",
        format: Format::Madelson,
        renewal: None,
    };
    let mut at = from;
    while at < to {
        let end = at.plus(timeline.duration(secs(2)..secs(6))).min(to);
        let (machine, pid) = (timeline.number(1..5), timeline.number(4_000..4_004));
        let hold = PastHold {
            label: Some(format!("BILLING-{machine} pid {pid}")),
            from: at,
            to: end,
            end: HoldEndReason::Released,
            attempts: Some(timeline.number(20..60)),
        };
        timeline.add_hold(&lock, hold);
        at = end.plus(timeline.duration(secs(1)..secs(2)));
    }
    timeline.add_flag(&lock, Flag::Contended, from.plus(secs(4)), to);
}

/// A client took a lock, crashed, and took it again after the lease, for an hour.
fn add_crashes(timeline: &mut Timeline, from: Timestamp) {
    let lock = DemoLock {
        group: JOBS,
        key: CRASH_LOOP_KEY,
        format: Format::Madelson,
        renewal: None,
    };
    let mut at = from;
    while at < from.plus(mins(60)) {
        let end = at.plus(secs(15));
        let hold = PastHold {
            label: Some(format!("SYNC-1 pid {}", timeline.number(1_000..30_000))),
            from: at,
            to: end,
            end: HoldEndReason::Expired,
            attempts: None,
        };
        timeline.add_hold(&lock, hold);
        timeline.add_flag(&lock, Flag::AtRisk, before(end, secs(3)), end);
        at = end.plus(timeline.duration(secs(5)..secs(20)));
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn mins(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}
