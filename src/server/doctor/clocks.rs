//! Whether clocks agree, and whether one of them jumped.

use std::time::Duration;

use super::{Examined, Patient, Rule, Words, nodes_do, span};
use crate::domain::{Finding, Severity};
use crate::server::nodes::health::ClockStep;

pub(super) const RULES: &[Rule] = &[differs, ours_differs, stepped, ours_stepped];

/// Clocks that are looked after differ by far less.
const MOST_APART_MS: i64 = 1_000;

/// Steps of several nodes that are noticed so close together are one step, of the clock they are measured by.
const TOGETHER: Duration = Duration::from_secs(3);

const AGREE: &str = "Let all machines ask the same time servers (chrony, systemd-timesyncd, or ntpd with -x: it never steps), and set no clock by hand while locks are held.";

/// By how much a node's clock is ahead of ours, as far as that is beyond what a round trip blurs.
fn ahead_ms(node: &Examined) -> Option<i64> {
    let skew = node.view.clock_skew_ms?;
    let blur = Duration::from_secs_f64(node.view.latency_ms.unwrap_or(0.0) / 2e3);
    let blur = i64::try_from(blur.as_millis()).unwrap_or(i64::MAX);
    Some(skew.signum() * (skew.abs() - blur).max(0))
}

/// The nodes with their clocks, and the one in the middle.
fn clocks<'a>(patient: &'a Patient<'_>) -> Option<(Vec<(&'a Examined, i64)>, i64)> {
    let all: Vec<_> = patient
        .up()
        .filter_map(|node| Some((node, ahead_ms(node)?)))
        .collect();
    let mut sorted: Vec<i64> = all.iter().map(|(_, ahead)| *ahead).collect();
    sorted.sort_unstable();
    // Of two that differ, neither is known to be right: then ours decides.
    let middle = match sorted.as_slice() {
        [] => return None,
        [one, other] if other - one > MOST_APART_MS => 0,
        all => all[all.len() / 2],
    };
    Some((all, middle))
}

fn say(ahead: i64) -> String {
    let by = span(Duration::from_millis(ahead.unsigned_abs()));
    if ahead < 0 {
        format!("{by} behind this console (TIME)")
    } else {
        format!("{by} ahead of this console (TIME)")
    }
}

fn differs(patient: &Patient<'_>) -> Option<Finding> {
    let (clocks, middle) = clocks(patient)?;
    // With one node there is nobody to compare with but us.
    let right = if clocks.len() == 1 { 0 } else { middle };
    let seen: Vec<_> = clocks
        .into_iter()
        .filter(|(_, ahead)| (ahead - right).abs() > MOST_APART_MS)
        .map(|(node, ahead)| (node, say(ahead)))
        .collect();
    let words = Words {
        code: "clock-differs",
        severity: Severity::Warning,
        what: format!(
            "{} another time than the others.",
            nodes_do(&seen, "shows", "show")
        ),
        why: "A lease that the server counts itself is not touched by that. Deadlines that clients write down are: in Redisson's fair queues, in legacy time stamps, in ShedLock's values. And a clock that is wrong is one that will be set.",
        fix: AGREE.to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn ours_differs(patient: &Patient<'_>) -> Option<Finding> {
    let (clocks, middle) = clocks(patient)?;
    if clocks.len() < 2 || middle.abs() <= MOST_APART_MS {
        return None;
    }
    let words = Words {
        code: "console-clock-differs",
        severity: Severity::Warning,
        what: "The clock of the machine that asks differs from that of the nodes.".to_owned(),
        why: "Fencing tokens are never smaller than its clock in microseconds: one that is ahead makes those of other consoles look old. Ages and deadlines shown here are not touched.",
        fix: AGREE.to_owned(),
        commands: Vec::new(),
    };
    let say = |(node, ahead): (&Examined, i64)| format!("{}: {}", node.view.name, say(ahead));
    words.on_the_group(clocks.into_iter().map(say).collect())
}

/// The nodes whose clocks stepped while a lease may have been held, and whether it was one step of ours.
fn steps<'a>(patient: &'a Patient<'_>) -> (Vec<(&'a Examined, ClockStep)>, bool) {
    let since = |step: &ClockStep| patient.now.since(step.at);
    let steps: Vec<_> = patient
        .reports()
        .filter_map(|(node, report)| Some((node, report.clock_step?)))
        .filter(|(_, step)| since(step) <= patient.longest_lease())
        .collect();
    let all_at_once = steps.windows(2).all(|two| {
        let (one, other) = (two[0].1, two[1].1);
        let apart = one.at.millis_since(other.at).unsigned_abs();
        u128::from(apart) <= TOGETHER.as_millis() && (one.by_ms < 0) == (other.by_ms < 0)
    });
    let is_ours = steps.len() > 1 && steps.len() == patient.up().count() && all_at_once;
    (steps, is_ours)
}

fn say_step(step: ClockStep) -> String {
    let by = span(Duration::from_millis(step.by_ms.unsigned_abs()));
    let way = if step.by_ms < 0 { "back" } else { "ahead" };
    format!("{by} {way} at {} (TIME)", step.at)
}

fn stepped(patient: &Patient<'_>) -> Option<Finding> {
    let (steps, is_ours) = steps(patient);
    if is_ours {
        return None;
    }
    let ahead = steps.iter().any(|(_, step)| step.by_ms > 0);
    let seen: Vec<_> = steps
        .into_iter()
        .map(|(node, step)| (node, say_step(step)))
        .collect();
    let words = Words {
        code: "clock-stepped",
        severity: if ahead {
            Severity::Error
        } else {
            Severity::Warning
        },
        what: format!(
            "{}, or this machine did.",
            nodes_do(&seen, "has set its clock", "have set their clocks")
        ),
        why: "Redis ends keys by the wall clock. One that goes ahead ends leases early: the lock is given to the next one while its owner relies on it. One that goes back keeps locks longer.",
        fix: AGREE.to_owned(),
        commands: Vec::new(),
    };
    words.on(seen)
}

fn ours_stepped(patient: &Patient<'_>) -> Option<Finding> {
    let (steps, is_ours) = steps(patient);
    if !is_ours {
        return None;
    }
    let words = Words {
        code: "console-clock-stepped",
        severity: Severity::Note,
        what: "The clock of the machine that asks was set: all nodes stepped against it at once."
            .to_owned(),
        why: "No lease on the nodes is touched. Fencing tokens that are handed out here jump along, and times shown before and after do not fit together.",
        fix: AGREE.to_owned(),
        commands: Vec::new(),
    };
    let say =
        |(node, step): (&Examined, ClockStep)| format!("{}: {}", node.view.name, say_step(step));
    words.on_the_group(steps.into_iter().map(say).collect())
}
