//! Access detection with a simulated server clock.

use super::*;

/// `ms` milliseconds on the console's monotonic clock.
fn steady(ms: i64) -> MonotonicTime {
    MonotonicTime::default().plus(std::time::Duration::from_millis(ms.unsigned_abs()))
}

/// A key on a simulated server with its own clock.
struct Bench {
    seen: KeyAccesses,
    /// The server's and the console's clock, in milliseconds.
    now: i64,
    last_access_at: i64,
    deadline: Option<i64>,
    is_write_reported: bool,
    is_shared: bool,
}

impl Bench {
    fn new(now: i64) -> Self {
        Self {
            seen: KeyAccesses::default(),
            now,
            last_access_at: now,
            deadline: Some(now + 30_000),
            is_write_reported: true,
            is_shared: false,
        }
    }

    fn clock(&self) -> LruClock {
        LruClock((self.now / 1_000).rem_euclid(1 << 24))
    }

    fn access(&mut self) {
        self.last_access_at = self.now;
    }

    fn renew(&mut self) {
        self.access();
        self.deadline = self.deadline.map(|_| self.now + 30_000);
    }

    fn idle(&self) -> i64 {
        let (clock, lru) = (
            self.clock().0,
            (self.last_access_at / 1_000).rem_euclid(1 << 24),
        );
        if clock >= lru {
            clock - lru
        } else {
            clock + ((1 << 24) - 1) - lru
        }
    }

    fn read(&mut self) {
        let wanted = self.seen.required_fields();
        let deadline = match self.deadline {
            _ if !wanted.deadline => Deadline::Unknown,
            Some(at) => Deadline::At(steady(at)),
            None => Deadline::Never,
        };
        self.seen.record_reading(&AccessReading {
            clocks: Clocks {
                before: self.clock(),
                after: self.clock(),
            },
            mark: AccessMark::Idle(self.idle()),
            deadline,
            is_shared: wanted.is_shared.then_some(self.is_shared),
            is_write_reported: self.is_write_reported,
        });
    }

    /// Advances the clock by half a second and reads the key.
    fn tick(&mut self) {
        self.now += 500;
        self.read();
    }

    fn access_count(&self) -> (u32, u32) {
        let figure = self.seen.access_count(self.clock());
        (figure.contended_seconds, figure.observed_seconds)
    }
}

#[test]
fn renewals_by_the_owner_do_not_count_as_accesses() {
    for is_write_reported in [true, false] {
        let mut bench = Bench {
            is_write_reported,
            ..Bench::new(1_000_000)
        };
        for n in 0..600 {
            if n % 7 == 0 {
                bench.renew();
                if is_write_reported && n % 2 == 0 {
                    bench.seen.record_write();
                }
            }
            bench.tick();
            assert_eq!(
                bench.access_count().0,
                0,
                "at {n}, reported: {is_write_reported}"
            );
        }
        assert_eq!(bench.access_count().1, 60);
    }
}

#[test]
fn a_failed_attempt_counts_in_its_second_and_for_one_minute() {
    let mut bench = Bench::new(1_000_000);
    bench.read();
    for _ in 0..10 {
        bench.tick();
    }
    bench.access();
    bench.tick();
    assert_eq!(bench.access_count().0, 0, "not yet borne out");
    bench.tick();
    assert_eq!(bench.access_count(), (1, 6));
    for _ in 0..10 {
        bench.access();
        bench.tick();
    }
    bench.tick();
    assert_eq!(
        bench.access_count().0,
        6,
        "five or six more seconds, each once"
    );
    for _ in 0..100 {
        bench.tick();
    }
    assert_eq!(bench.access_count().1, 60);
    assert!(bench.access_count().0 <= 6);
    for _ in 0..30 {
        bench.tick();
    }
    assert_eq!(bench.access_count(), (0, 60));
}

#[test]
fn a_write_that_is_reported_late_does_not_count_as_an_access() {
    let mut bench = Bench {
        // A write that does not change the deadline.
        deadline: None,
        ..Bench::new(1_000_000)
    };
    bench.read();
    bench.tick();
    bench.tick();
    bench.access();
    bench.tick();
    bench.seen.record_write();
    for _ in 0..20 {
        bench.tick();
        assert_eq!(bench.access_count().0, 0);
    }
}

#[test]
fn shared_integers_are_not_measured() {
    let mut bench = Bench {
        is_shared: true,
        ..Bench::new(1_000_000)
    };
    bench.read();
    for _ in 0..20 {
        bench.access();
        bench.tick();
        assert_eq!(bench.access_count().0, 0);
    }
    assert_eq!(bench.seen.limitation(), Some(KeyLimitation::SharedInteger));
}

#[test]
fn without_expiry_and_reported_writes_nothing_is_counted() {
    let mut bench = Bench {
        deadline: None,
        is_write_reported: false,
        ..Bench::new(1_000_000)
    };
    bench.read();
    for _ in 0..20 {
        bench.access();
        bench.tick();
        assert_eq!(bench.access_count().0, 0);
    }
    assert_eq!(
        bench.seen.limitation(),
        Some(KeyLimitation::WritesNotReported)
    );
}

#[test]
fn a_wrapped_or_changed_clock_does_not_count_as_an_access() {
    let turn = (1_i64 << 24) * 1_000;
    let mut bench = Bench::new(turn - 20_000);
    bench.read();
    for _ in 0..100 {
        bench.tick();
        assert_eq!(bench.access_count().0, 0, "at {}", bench.now - turn);
    }
    for step in [3_600_000, -3_600_000, -1_000, -2_000, 5_000] {
        let mut bench = Bench::new(1_000_000_000);
        bench.read();
        bench.tick();
        bench.tick();
        bench.now += step;
        for _ in 0..200 {
            bench.tick();
            assert_eq!(bench.access_count().0, 0, "a step of {step} ms");
        }
    }
}

#[test]
fn a_second_that_changes_during_the_reply_is_not_a_second_access() {
    let mut bench = Bench::new(1_000_900);
    bench.read();
    let straddling = |bench: &Bench, idle: i64| AccessReading {
        clocks: Clocks {
            before: bench.clock(),
            after: LruClock(bench.clock().0 + 1),
        },
        mark: AccessMark::Idle(idle),
        deadline: Deadline::At(steady(bench.deadline.unwrap())),
        is_shared: Some(false),
        is_write_reported: true,
    };
    // The reply is computed before or after the second changes.
    for late in [0, 1] {
        let mut bench = Bench::new(1_000_900);
        bench.seen.record_reading(&straddling(&bench, late));
        bench.now += 500;
        for _ in 0..10 {
            bench.tick();
            assert_eq!(bench.access_count().0, 0, "{late}");
        }
        // The same at a write.
        bench.renew();
        bench.seen.record_write();
        bench.now = bench.now / 1_000 * 1_000 + 999;
        let idle = bench.idle() + late;
        bench.seen.record_reading(&straddling(&bench, idle));
        for _ in 0..10 {
            bench.tick();
            assert_eq!(bench.access_count().0, 0, "{late}");
        }
    }
}

#[test]
fn a_counter_that_rises_without_a_write_counts_as_an_access() {
    let mut bench = Bench::new(1_000_000);
    let read = |bench: &mut Bench, counter| {
        bench.now += 500;
        let wanted = bench.seen.required_fields();
        bench.seen.record_reading(&AccessReading {
            clocks: Clocks {
                before: bench.clock(),
                after: bench.clock(),
            },
            mark: AccessMark::Frequency(counter),
            deadline: Deadline::At(steady(bench.deadline.unwrap())),
            is_shared: wanted.is_shared.then_some(false),
            is_write_reported: true,
        });
        bench.access_count().0
    };
    assert_eq!(
        [5, 5, 5].map(|counter| read(&mut bench, counter)),
        [0, 0, 0]
    );
    assert_eq!(
        [6, 6, 6].map(|counter| read(&mut bench, counter)),
        [0, 1, 1]
    );
    assert_eq!(
        [5, 5, 5].map(|counter| read(&mut bench, counter)),
        [1, 1, 1]
    );
    bench.seen.record_write();
    assert_eq!(
        [7, 7, 7].map(|counter| read(&mut bench, counter)),
        [1, 1, 1]
    );
}

#[test]
fn for_a_rarely_read_key_only_covered_seconds_count_as_observed() {
    let mut bench = Bench::new(1_000_000);
    bench.read();
    for _ in 0..6 {
        bench.now += 10_000;
        bench.access();
        bench.read();
    }
    let (contended, watched) = bench.access_count();
    assert!((4..=6).contains(&contended), "{contended}");
    assert!(watched <= 7, "{watched}");
    for _ in 0..6 {
        bench.now += 10_000;
        bench.read();
    }
    assert_eq!(
        bench.access_count(),
        (0, 60),
        "quiet seconds are seen afterwards"
    );
}

#[test]
fn own_reads_do_not_count_and_hide_few_accesses() {
    for is_contended in [false, true] {
        let mut bench = Bench::new(1_000_300);
        bench.read();
        for n in 0..240 {
            if is_contended {
                bench.access();
            }
            match n % 3 {
                0 => bench.seen.record_own_read(true),
                1 => {
                    bench.access();
                    bench.seen.record_own_read(false);
                }
                _ => {}
            }
            bench.tick();
            assert!(is_contended || bench.access_count().0 == 0, "at {n}");
        }
        assert_eq!(
            bench.access_count().0 >= 10,
            is_contended,
            "{:?}",
            bench.access_count()
        );
    }
}
