//! The sensor against a made-up server clock.

use super::*;

/// So many milliseconds on our steady clock.
fn steady(ms: i64) -> Steady {
    Steady::default().plus(std::time::Duration::from_millis(ms.unsigned_abs()))
}

/// A key on a server with a clock of its own, read now and then.
struct Bench {
    seen: Seen,
    /// The server's clock and ours, in milliseconds.
    now: i64,
    touched: i64,
    deadline: Option<i64>,
    is_told: bool,
    is_shared: bool,
}

impl Bench {
    fn new(now: i64) -> Self {
        Self {
            seen: Seen::default(),
            now,
            touched: now,
            deadline: Some(now + 30_000),
            is_told: true,
            is_shared: false,
        }
    }

    fn clock(&self) -> TouchClock {
        TouchClock((self.now / 1_000).rem_euclid(1 << 24))
    }

    fn touch(&mut self) {
        self.touched = self.now;
    }

    fn renew(&mut self) {
        self.touch();
        self.deadline = self.deadline.map(|_| self.now + 30_000);
    }

    fn idle(&self) -> i64 {
        let (clock, lru) = (self.clock().0, (self.touched / 1_000).rem_euclid(1 << 24));
        if clock >= lru {
            clock - lru
        } else {
            clock + ((1 << 24) - 1) - lru
        }
    }

    fn read(&mut self) {
        let wanted = self.seen.wants();
        let deadline = match self.deadline {
            _ if !wanted.deadline => Deadline::Unknown,
            Some(at) => Deadline::At(steady(at)),
            None => Deadline::Never,
        };
        self.seen.take(&Reading {
            clocks: Clocks {
                before: self.clock(),
                after: self.clock(),
            },
            mark: Mark::Idle(self.idle()),
            deadline,
            shared: wanted.shared.then_some(self.is_shared),
            is_told: self.is_told,
        });
    }

    /// Half a second passes, and it is read.
    fn tick(&mut self) {
        self.now += 500;
        self.read();
    }

    fn figure(&self) -> (u32, u32) {
        let figure = self.seen.figure(self.clock());
        (figure.contended, figure.watched)
    }
}

#[test]
fn nobody_is_accused_while_only_the_owner_renews() {
    for is_told in [true, false] {
        let mut bench = Bench {
            is_told,
            ..Bench::new(1_000_000)
        };
        for n in 0..600 {
            if n % 7 == 0 {
                bench.renew();
                if is_told && n % 2 == 0 {
                    bench.seen.written();
                }
            }
            bench.tick();
            assert_eq!(bench.figure().0, 0, "at {n}, told: {is_told}");
        }
        assert_eq!(bench.figure().1, 60);
    }
}

#[test]
fn a_try_that_failed_counts_in_its_second_and_for_a_minute() {
    let mut bench = Bench::new(1_000_000);
    bench.read();
    for _ in 0..10 {
        bench.tick();
    }
    bench.touch();
    bench.tick();
    assert_eq!(bench.figure().0, 0, "not yet borne out");
    bench.tick();
    assert_eq!(bench.figure(), (1, 6));
    for _ in 0..10 {
        bench.touch();
        bench.tick();
    }
    bench.tick();
    assert_eq!(bench.figure().0, 6, "five or six more seconds, each once");
    for _ in 0..100 {
        bench.tick();
    }
    assert_eq!(bench.figure().1, 60);
    assert!(bench.figure().0 <= 6);
    for _ in 0..30 {
        bench.tick();
    }
    assert_eq!(bench.figure(), (0, 60));
}

#[test]
fn a_write_that_is_told_late_is_not_held_against_anybody() {
    let mut bench = Bench {
        // A write that leaves the deadline where it is.
        deadline: None,
        ..Bench::new(1_000_000)
    };
    bench.read();
    bench.tick();
    bench.tick();
    bench.touch();
    bench.tick();
    bench.seen.written();
    for _ in 0..20 {
        bench.tick();
        assert_eq!(bench.figure().0, 0);
    }
}

#[test]
fn a_number_that_all_keys_share_is_not_measured() {
    let mut bench = Bench {
        is_shared: true,
        ..Bench::new(1_000_000)
    };
    bench.read();
    for _ in 0..20 {
        bench.touch();
        bench.tick();
        assert_eq!(bench.figure().0, 0);
    }
    assert_eq!(bench.seen.doubt(), Some(Doubt::SharedNumber));
}

#[test]
fn without_deadline_and_news_nobody_is_accused() {
    let mut bench = Bench {
        deadline: None,
        is_told: false,
        ..Bench::new(1_000_000)
    };
    bench.read();
    for _ in 0..20 {
        bench.touch();
        bench.tick();
        assert_eq!(bench.figure().0, 0);
    }
    assert_eq!(bench.seen.doubt(), Some(Doubt::Untold));
}

#[test]
fn a_clock_that_turns_over_or_is_set_makes_nobody_touch_a_key() {
    let turn = (1_i64 << 24) * 1_000;
    let mut bench = Bench::new(turn - 20_000);
    bench.read();
    for _ in 0..100 {
        bench.tick();
        assert_eq!(bench.figure().0, 0, "at {}", bench.now - turn);
    }
    for step in [3_600_000, -3_600_000, -1_000, -2_000, 5_000] {
        let mut bench = Bench::new(1_000_000_000);
        bench.read();
        bench.tick();
        bench.tick();
        bench.now += step;
        for _ in 0..200 {
            bench.tick();
            assert_eq!(bench.figure().0, 0, "a step of {step} ms");
        }
    }
}

#[test]
fn a_second_that_begins_while_the_server_answers_is_not_another_touch() {
    let mut bench = Bench::new(1_000_900);
    bench.read();
    let straddling = |bench: &Bench, idle: i64| Reading {
        clocks: Clocks {
            before: bench.clock(),
            after: TouchClock(bench.clock().0 + 1),
        },
        mark: Mark::Idle(idle),
        deadline: Deadline::At(steady(bench.deadline.unwrap())),
        shared: Some(false),
        is_told: true,
    };
    // Answered before the tick, and after it.
    for late in [0, 1] {
        let mut bench = Bench::new(1_000_900);
        bench.seen.take(&straddling(&bench, late));
        bench.now += 500;
        for _ in 0..10 {
            bench.tick();
            assert_eq!(bench.figure().0, 0, "{late}");
        }
        // At the write itself.
        bench.renew();
        bench.seen.written();
        bench.now = bench.now / 1_000 * 1_000 + 999;
        let idle = bench.idle() + late;
        bench.seen.take(&straddling(&bench, idle));
        for _ in 0..10 {
            bench.tick();
            assert_eq!(bench.figure().0, 0, "{late}");
        }
    }
}

#[test]
fn a_counter_that_rises_without_a_write_is_somebody_elses_doing() {
    let mut bench = Bench::new(1_000_000);
    let read = |bench: &mut Bench, counter| {
        bench.now += 500;
        let wanted = bench.seen.wants();
        bench.seen.take(&Reading {
            clocks: Clocks {
                before: bench.clock(),
                after: bench.clock(),
            },
            mark: Mark::Frequency(counter),
            deadline: Deadline::At(steady(bench.deadline.unwrap())),
            shared: wanted.shared.then_some(false),
            is_told: true,
        });
        bench.figure().0
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
    bench.seen.written();
    assert_eq!(
        [7, 7, 7].map(|counter| read(&mut bench, counter)),
        [1, 1, 1]
    );
}

#[test]
fn of_a_key_that_is_seldom_read_only_what_was_seen_counts_as_watched() {
    let mut bench = Bench::new(1_000_000);
    bench.read();
    for _ in 0..6 {
        bench.now += 10_000;
        bench.touch();
        bench.read();
    }
    let (contended, watched) = bench.figure();
    assert!((4..=6).contains(&contended), "{contended}");
    assert!(watched <= 7, "{watched}");
    for _ in 0..6 {
        bench.now += 10_000;
        bench.read();
    }
    assert_eq!(bench.figure(), (0, 60), "quiet seconds are seen afterwards");
}

#[test]
fn what_we_read_ourselves_is_nobody_elses_touch_and_hides_few() {
    for is_contended in [false, true] {
        let mut bench = Bench::new(1_000_300);
        bench.read();
        for n in 0..240 {
            if is_contended {
                bench.touch();
            }
            match n % 3 {
                0 => bench.seen.read_by_us(true),
                1 => {
                    bench.touch();
                    bench.seen.read_by_us(false);
                }
                _ => {}
            }
            bench.tick();
            assert!(is_contended || bench.figure().0 == 0, "at {n}");
        }
        assert_eq!(bench.figure().0 >= 10, is_contended, "{:?}", bench.figure());
    }
}
