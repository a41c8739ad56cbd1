//! What became of each lock in words, and all of it as a file.

use super::run::{Fate, Line};
use crate::domain::{ActOutcome, Fault, Lock, NodeAct, quorum, sheet};
use crate::ui::format;
use crate::ui::kit::Tone;
use crate::ui::words::bulk as words;
use crate::ui::words::faults::sentence;
use crate::ui::words::lock::name as owner_name;
use crate::ui::words::punctuation;

/// What becomes of a lock, given how it stands on the board by now.
pub(super) fn told(line: &Line, lock: Option<&Lock>) -> (String, Tone) {
    let shows = |lock: &&Lock| line.is_shown_by(lock);
    match &line.fate {
        Fate::Waiting => (words::waiting().to_owned(), Tone::Plain),
        Fate::Would(_) if line.has_changed_hands(lock) => {
            (words::owner_changed_since().to_owned(), Tone::Warn)
        }
        Fate::Would(acts) => match line.harm {
            Some(harm) => (words::harm(harm), Tone::Alarm),
            None if away(acts) >= quorum::majority(acts.len()) => {
                (words::would_partly(on(acts), acts.len()), Tone::Warn)
            }
            None => (words::would(on(acts), acts.len()), Tone::Plain),
        },
        Fate::Doing => (words::doing().to_owned(), Tone::Plain),
        Fate::Released(released) => {
            let at = released.at;
            match lock
                .filter(|lock| lock.observed_at > at)
                .filter(shows)
                .map(Lock::nodes_held)
            {
                Some(nodes) => (words::still_held(nodes), Tone::Warn),
                None => {
                    let (on, of) = (on(&released.nodes), released.nodes.len());
                    (words::released(on, of), Tone::Good)
                }
            }
        }
        Fate::LeftAlone(fault @ (Fault::Unanswered { .. } | Fault::Internal { .. })) => {
            (words::unanswered(&sentence(fault)), Tone::Alarm)
        }
        Fate::LeftAlone(Fault::PartlyReleased { nodes, .. }) => {
            (words::partly(on(nodes), nodes.len()), Tone::Warn)
        }
        Fate::LeftAlone(fault) => {
            let owner = match fault {
                Fault::OwnerChanged {
                    owner: Some(owner), ..
                } => punctuation::aside(&owner_name(owner)),
                _ => String::new(),
            };
            let why = format!("{}{owner}", sentence(fault));
            (words::left_alone(&why), Tone::Warn)
        }
        Fate::NotTried => (words::not_tried().to_owned(), Tone::Unsure),
    }
}

/// On how many nodes the owner may hold it still, for want of an answer.
fn away(acts: &[NodeAct]) -> usize {
    let is_away = |act: &&NodeAct| matches!(act.outcome, ActOutcome::Failed { .. });
    acts.iter().filter(is_away).count()
}

fn on(acts: &[NodeAct]) -> usize {
    let is_done = |act: &&NodeAct| match act.outcome {
        ActOutcome::Released | ActOutcome::Releasable | ActOutcome::Holds { .. } => true,
        ActOutcome::Acquired
        | ActOutcome::Extended
        | ActOutcome::NotHeld
        | ActOutcome::OtherOwner { .. }
        | ActOutcome::AnotherHold
        | ActOutcome::Pending
        | ActOutcome::Failed { .. } => false,
    };
    acts.iter().filter(is_done).count()
}

/// All of it, a line each, for a spreadsheet.
pub(super) fn csv(lines: &[Line]) -> String {
    let head = ["group", "lock", "fingerprint", "owner", "outcome"].map(str::to_owned);
    // Names of locks are anybody's.
    let cells = lines.iter().map(|line| {
        [
            line.picked.id.group.as_str(),
            &line.picked.id.key.text(),
            line.picked.fingerprint.as_str(),
            &line.owner,
            &told(line, None).0,
        ]
        .map(format::visible)
    });
    sheet([head].into_iter().chain(cells))
}

#[cfg(test)]
mod tests {
    use super::super::run::Sums;
    use super::*;
    use crate::domain::testing::{NOW, lock, owner};
    use crate::domain::{Picked, Released, SeenHold};

    fn line(fate: Fate) -> Line {
        Line {
            picked: Picked {
                label: None,
                format: crate::domain::Format::Plain,
                id: lock(&[1], NOW, NOW).id,
                fingerprint: owner(1).fingerprint,
                seen: SeenHold::default(),
            },
            owner: "api-1".into(),
            harm: None,
            is_grave: false,
            fate,
        }
    }

    fn on_node(outcome: ActOutcome) -> NodeAct {
        NodeAct {
            node: "a".into(),
            outcome,
        }
    }

    fn away() -> ActOutcome {
        ActOutcome::Failed {
            reason: "no answer".into(),
        }
    }

    fn partly() -> Fault {
        Fault::PartlyReleased {
            released: 1,
            remaining: 2,
            quorum: 2,
            nodes: vec![
                on_node(ActOutcome::Released),
                on_node(away()),
                on_node(away()),
            ],
        }
    }

    #[test]
    fn the_sums_count_what_the_rows_say() {
        let would = || line(Fate::Would(vec![on_node(ActOutcome::Releasable)]));
        let lines = [
            would(),
            would(),
            line(Fate::LeftAlone(partly())),
            line(Fate::LeftAlone(Fault::NotHeld { nodes: Vec::new() })),
            line(Fate::NotTried),
        ];
        let sums = |board: Option<&Lock>| Sums::of(&lines, |_| board);
        let counts = |sums: Sums| {
            (
                sums.all,
                sums.would,
                sums.partly,
                sums.left_alone,
                sums.not_tried,
            )
        };
        assert_eq!(counts(sums(None)), (5, 2, 1, 1, 1));
        assert_eq!(counts(sums(Some(&lock(&[1], NOW, NOW)))), (5, 2, 1, 1, 1));
        // Both rows say that the owner changed.
        assert_eq!(counts(sums(Some(&lock(&[5], NOW, NOW)))), (5, 0, 1, 3, 1));
    }

    #[test]
    fn each_end_is_told_as_it_was() {
        let released = || Released {
            nodes: vec![
                on_node(ActOutcome::Released),
                on_node(ActOutcome::NotHeld),
                on_node(ActOutcome::Released),
            ],
            at: NOW,
            holds: None,
            seen_after: None,
        };
        let changed = Fault::OwnerChanged {
            owner: Some(owner(5)),
            nodes: Vec::new(),
        };
        for (fate, words) in [
            (
                Fate::Would(vec![on_node(ActOutcome::Releasable)]),
                "would be released",
            ),
            (
                Fate::Released(Box::new(released())),
                "released on 2 of 3 nodes",
            ),
            (
                Fate::LeftAlone(changed),
                "left alone: The owner is not the one you saw; nothing was touched. (api-5)",
            ),
            (Fate::NotTried, "not tried"),
            (
                Fate::Would(vec![
                    on_node(ActOutcome::Releasable),
                    on_node(away()),
                    on_node(away()),
                ]),
                "would be released on 1 of 3 nodes only; its owner may keep a quorum until the others are back",
            ),
            (
                Fate::LeftAlone(partly()),
                "partly released: on 1 of 3 nodes; its owner may keep a quorum until the others are back",
            ),
        ] {
            assert_eq!(told(&line(fate), None).0, words);
        }
    }

    #[test]
    fn a_new_owner_and_an_old_one_that_is_back_are_seen_under_the_open_dialog() {
        let would = line(Fate::Would(vec![on_node(ActOutcome::Releasable)]));
        let taken = lock(&[5], NOW, NOW);
        assert!(
            told(&would, Some(&taken))
                .0
                .starts_with("the owner changed")
        );
        assert_eq!(told(&would, Some(&lock(&[1], NOW, NOW))).1, Tone::Plain);

        let released = line(Fate::Released(Box::new(Released {
            nodes: vec![on_node(ActOutcome::Released)],
            at: NOW,
            holds: None,
            seen_after: None,
        })));
        let back = lock(&[1], NOW.plus_millis(5), NOW.plus_millis(5));
        assert_eq!(told(&released, Some(&back)).1, Tone::Warn);
        assert_eq!(told(&released, Some(&lock(&[1], NOW, NOW))).1, Tone::Good);
    }

    #[test]
    fn no_name_of_a_lock_is_a_formula_or_ends_its_cell() {
        let mut named = line(Fate::NotTried);
        named.picked.id.key = "=1+1\",\"\r\n".into();
        let text = csv(&[named]);
        let cells: Vec<&str> = text.lines().nth(1).unwrap().splitn(3, ',').collect();
        assert_eq!(cells[1], "\"'=1+1\"\"");
        assert!(text.contains("\"'=1+1\"\",\"\"\\r\\n\""), "{text}");
    }
}
