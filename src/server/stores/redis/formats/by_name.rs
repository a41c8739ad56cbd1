//! Formats that are detected by name, because the library chooses it. The value only adds a label.
//!
//! ```text
//! redbeat::lock  unacked_mutex  qo_tasks.mail_to-7              celery-redbeat, kombu, celery-once: redis-py's token
//! rq:scheduler-lock:default  arq:in-progress:7f3c               RQ's scheduler, arq's jobs (the value is `1`)
//! laravel_unique_job:App\Jobs\Mail:7  …laravel-queue-overlap:…  …framework/schedule-<sha1>
//! {hangfire}:recurring-jobs:lock                                a UUID per process
//! activejob_uniqueness:…  asynq:{default}:unique:mail:9f86…     jobs that are queued already
//! gitlab:exclusive_lease:…  php-malkusch-lock:…
//! resque:resque_scheduler_master_lock                           host:process
//! n8n:main_instance_leader                                      the leader's id
//! ```

use super::detected_lock::host;
use super::look_alikes::contains;
use super::{DetectedLock, NameHint, redis_py, shapes, string_value};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

/// The formats that are detected by name.
pub const FORMATS: [Format; 15] = [
    Format::Redbeat,
    Format::Kombu,
    Format::CeleryOnce,
    Format::Rq,
    Format::Arq,
    Format::ActivejobUniqueness,
    Format::Gitlab,
    Format::PhpLock,
    Format::Hangfire,
    Format::ResqueScheduler,
    Format::N8n,
    Format::LaravelUniqueJob,
    Format::LaravelOverlap,
    Format::LaravelSchedule,
    Format::Asynq,
];

/// Detects a string by its name. If the name is not distinctive, the value must match as well.
pub fn detect(state: &KeyState, name_hint: NameHint) -> Option<DetectedLock> {
    let value = string_value(state).filter(|value| !value.is_empty())?;
    let format = format_of_name(state.key.as_bytes())?;
    let lock = |label| Some(DetectedLock::from_value(format, state, value, label));
    match format {
        Format::Redbeat | Format::Kombu | Format::CeleryOnce => {
            redis_py::detect(state, name_hint).map(|lock| lock.with_format(format))
        }
        Format::Hangfire if !shapes::is_uuid(value) => None,
        Format::ResqueScheduler => lock(process_label(value)),
        _ => lock(None),
    }
}

fn format_of_name(key: &[u8]) -> Option<Format> {
    let begins = |prefix: &str| key.starts_with(prefix.as_bytes());
    let ends = |suffix: &str| key.ends_with(suffix.as_bytes());
    let has = |part: &str| contains(key, part.as_bytes());
    let format = match key.first()? {
        b'r' if begins("redbeat") && ends(":lock") => Format::Redbeat,
        b'r' if begins("rq:scheduler-lock:") => Format::Rq,
        b'a' if begins("arq:in-progress:") => Format::Arq,
        b'a' if begins("activejob_uniqueness:") => Format::ActivejobUniqueness,
        b'a' if begins("asynq:{") && has("}:unique:") => Format::Asynq,
        b'q' if begins("qo_") => Format::CeleryOnce,
        b'g' if begins("gitlab:exclusive_lease:") => Format::Gitlab,
        b'p' if begins("php-malkusch-lock:") => Format::PhpLock,
        b'{' if begins("{hangfire}:") => Format::Hangfire,
        b'h' if begins("hangfire:") => Format::Hangfire,
        _ if ends("unacked_mutex") => Format::Kombu,
        _ if ends("resque_scheduler_master_lock") => Format::ResqueScheduler,
        _ if ends(":main_instance_leader") => Format::N8n,
        _ if has("laravel_unique_job:") => Format::LaravelUniqueJob,
        _ if has("laravel-queue-overlap:") => Format::LaravelOverlap,
        _ if has("framework/schedule-") => Format::LaravelSchedule,
        _ => return None,
    };
    Some(format)
}

/// The label of a value `host:process`.
fn process_label(value: &[u8]) -> Option<String> {
    let at = value.iter().rposition(|&byte| byte == b':')?;
    let (machine, pid) = (&value[..at], &value[at + 1..]);
    Some(format!(
        "{} pid {}",
        host(machine)?,
        shapes::parse_pid(pid)?
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, string};
    use super::*;
    use crate::domain::Confidence;

    /// Written by redis-py 8.1.0 on 2026-11-20.
    const UUID1: &str = "88a4914ee51011f19df302fc00000001";
    const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015";
    const UUID: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";
    const ALNUM: &str = "Yk941JgLndDdI9Ec";

    #[test]
    fn each_name_is_detected() {
        let card = Some("02:fc:00:00:00:01");
        for (key, value, expected, label) in [
            ("redbeat::lock", UUID1, Format::Redbeat, card),
            ("redbeat:eu:lock", UUID1, Format::Redbeat, card),
            ("unacked_mutex", UUID1, Format::Kombu, card),
            ("eu:unacked_mutex", UUID1, Format::Kombu, card),
            ("qo_tasks.mail_to-7", UUID1, Format::CeleryOnce, card),
            ("rq:scheduler-lock:default", HEX, Format::Rq, None),
            ("arq:in-progress:7f3c", "1", Format::Arq, None),
            (
                "activejob_uniqueness:mail:7",
                UUID,
                Format::ActivejobUniqueness,
                None,
            ),
            (
                "asynq:{default}:unique:mail:9f86",
                UUID,
                Format::Asynq,
                None,
            ),
            (
                "gitlab:exclusive_lease:project:7",
                UUID,
                Format::Gitlab,
                None,
            ),
            (
                "gitlab:exclusive_lease:el:throttle:a",
                UUID,
                Format::Gitlab,
                None,
            ),
            (
                "php-malkusch-lock:stock",
                "1804289383",
                Format::PhpLock,
                None,
            ),
            ("{hangfire}:recurring-jobs", UUID, Format::Hangfire, None),
            ("hangfire:recurring-jobs", UUID, Format::Hangfire, None),
            (
                "resque:resque_scheduler_master_lock",
                "worker-3.eu.example.com:4711",
                Format::ResqueScheduler,
                Some("worker-3.eu.example.com pid 4711"),
            ),
            ("n8n:main_instance_leader", "main-Xk29fQ", Format::N8n, None),
            (
                "laravel_database_laravel_unique_job:App\\Jobs\\Mail:7",
                ALNUM,
                Format::LaravelUniqueJob,
                None,
            ),
            (
                "shop-cache-laravel-queue-overlap:7",
                "s:16:\"Zb1kM5c0P7mJr8xw\";",
                Format::LaravelOverlap,
                None,
            ),
            (
                "shop-cache-framework/schedule-9f86",
                "b:1;",
                Format::LaravelSchedule,
                None,
            ),
        ] {
            assert_eq!(
                describe(&string(key, value, 60_000)),
                Some((expected, Confidence::Sure, label.map(str::to_owned))),
                "{key}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_distinctive_needs_a_matching_value() {
        for (key, value) in [
            ("qo_total", "17"),
            ("{hangfire}:stats", "17"),
            ("hangfire:job:7", "{}"),
            ("redbeat:tasks", UUID1),
            ("arq:in-progress:7", ""),
        ] {
            let format = describe(&string(key, value, 60_000)).map(|found| found.0);
            assert!(
                matches!(format, None | Some(Format::RedisPy)),
                "{key}: {format:?}"
            );
        }
    }
}
