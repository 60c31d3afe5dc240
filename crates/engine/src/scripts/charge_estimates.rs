//! Estimates the charge of a run: the mean of recent runs of the same script. The admission
//! reserves the estimate, so that concurrent runs do not all count on the same budget.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_keys::ChildRid;
use orrery_model::{Charge, Etag, Script};

/// Number of recent runs in the mean.
const RUNS: usize = 32;
/// Limit of remembered scripts. Beyond it the whole table is cleared.
const SCRIPTS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct ChargeEstimates(Mutex<HashMap<ChildRid, ChargeHistory>>);

#[derive(Debug)]
struct ChargeHistory {
    version: Etag,
    charges: VecDeque<Charge>,
}

impl ChargeEstimates {
    /// The expected charge; zero for a script that has not run yet.
    pub(crate) fn expected(&self, script: &Script) -> Charge {
        let table = self.table();
        let past = table.get(&script.rid);
        past.filter(|past| past.version == script.etag)
            .map_or(Charge::ZERO, ChargeHistory::mean)
    }

    /// Records the charge of a run. A new version of the script discards the older runs.
    pub(crate) fn note(&self, script: &Script, charge: Charge) {
        let mut table = self.table();
        if table.len() >= SCRIPTS_MAX && !table.contains_key(&script.rid) {
            table.clear();
        }
        let past = table.entry(script.rid).or_insert_with(|| ChargeHistory {
            version: script.etag.clone(),
            charges: VecDeque::new(),
        });
        if past.version != script.etag {
            past.version = script.etag.clone();
            past.charges.clear();
        }
        if past.charges.len() == RUNS {
            past.charges.pop_front();
        }
        past.charges.push_back(charge);
    }

    fn table(&self) -> MutexGuard<'_, HashMap<ChildRid, ChargeHistory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChargeHistory {
    fn mean(&self) -> Charge {
        let sum: u64 = self.charges.iter().map(|charge| charge.hundredths()).sum();
        Charge::from_hundredths(sum / (self.charges.len() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use orrery_keys::{ContainerRid, DatabaseRid};
    use orrery_model::ScriptKind;

    use super::*;

    #[test]
    fn the_last_runs_of_a_version_say_what_the_next_will_cost() {
        let container = ContainerRid::new(DatabaseRid::new(1), 1);
        let script = |version| Script {
            rid: ChildRid::new(container, ScriptKind::StoredProcedure.child_kind(), 1),
            kind: ScriptKind::StoredProcedure,
            id: "s".to_owned(),
            body: String::new(),
            trigger: None,
            etag: Etag::of_write(0, version, 0, 0),
            modified_seconds: 0,
        };
        let reservations = ChargeEstimates::default();
        let expected = |version| reservations.expected(&script(version)).units();
        assert!(expected(1).abs() < 1e-9);
        for units in [100.0, 10.0, 20.0] {
            reservations.note(&script(1), Charge::from_units(units));
        }
        assert!((expected(1) - 43.33).abs() < 1e-9);
        for _ in 0..31 {
            reservations.note(&script(1), Charge::from_units(20.0));
        }
        assert!((expected(1) - 20.0).abs() < 1e-9, "{}", expected(1));
        assert!(expected(2).abs() < 1e-9);
        reservations.note(&script(2), Charge::from_units(7.0));
        assert!((expected(2) - 7.0).abs() < 1e-9);
    }
}
