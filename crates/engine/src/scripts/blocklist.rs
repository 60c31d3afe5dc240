//! Blocks procedures that break the limits of their sandbox repeatedly.
//!
//! Each such run costs its whole time limit and occupies a script thread. A new version of the
//! script starts with a clean count, and so does a restart of the server.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_keys::ChildRid;
use orrery_model::{Etag, Failure, Script};

/// Consecutive runs that may break a limit.
const VIOLATIONS_MAX: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct ScriptBlocklist(Mutex<HashMap<ChildRid, LimitViolations>>);

#[derive(Debug)]
struct LimitViolations {
    version: Etag,
    count: usize,
}

impl ScriptBlocklist {
    /// Refuses a script that has broken its limits too often.
    pub(crate) fn check(&self, script: &Script) -> Result<(), Failure> {
        match self.table().get(&script.rid) {
            Some(offender)
                if offender.version == script.etag && offender.count >= VIOLATIONS_MAX =>
            {
                Err(Failure::Forbidden(format!(
                    "The script with id '{}' is blocked for execution because it has violated its \
                     allowed resource limit several times.",
                    script.id
                )))
            }
            _ => Ok(()),
        }
    }

    /// Records the end of a run. A run within its limits clears the count.
    pub(crate) fn note(&self, script: &Script, broke_a_limit: bool) {
        let mut table = self.table();
        if !broke_a_limit {
            table.remove(&script.rid);
            return;
        }
        let offender = table.entry(script.rid).or_insert_with(|| LimitViolations {
            version: script.etag.clone(),
            count: 0,
        });
        if offender.version != script.etag {
            offender.version = script.etag.clone();
            offender.count = 0;
        }
        offender.count += 1;
    }

    fn table(&self) -> MutexGuard<'_, HashMap<ChildRid, LimitViolations>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use orrery_keys::{ContainerRid, DatabaseRid};
    use orrery_model::ScriptKind;

    use super::*;

    #[test]
    fn a_script_is_blocked_until_it_is_replaced() {
        let offenders = ScriptBlocklist::default();
        let container = ContainerRid::new(DatabaseRid::new(1), 1);
        let mut script = Script {
            rid: ChildRid::new(container, ScriptKind::StoredProcedure.child_kind(), 1),
            kind: ScriptKind::StoredProcedure,
            id: "s".to_owned(),
            body: String::new(),
            etag: Etag::from_stored("\"1\""),
            modified_seconds: 0,
            trigger: None,
        };
        for _ in 1..VIOLATIONS_MAX {
            offenders.note(&script, true);
        }
        offenders.check(&script).unwrap();
        offenders.note(&script, false);
        for _ in 0..VIOLATIONS_MAX {
            offenders.check(&script).unwrap();
            offenders.note(&script, true);
        }
        assert!(matches!(
            offenders.check(&script),
            Err(Failure::Forbidden(_))
        ));
        script.etag = Etag::from_stored("\"2\"");
        offenders.check(&script).unwrap();
    }
}
