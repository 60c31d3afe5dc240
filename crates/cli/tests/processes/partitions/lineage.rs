//! The versions of one item as clients saw them: which version replaced which, and which versions
//! certainly exist.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::{Event, Token, Value, What};

#[derive(Debug, Clone, Copy)]
pub(super) struct Version {
    pub(super) over: Option<Value>,
    pub(super) region: usize,
    pub(super) begun: Duration,
    pub(super) is_acknowledged: bool,
    /// An upper limit on the records that the region had when it made the version. None if unknown.
    pub(super) had: Option<Token>,
}

#[derive(Debug, Default)]
pub(super) struct Lineage {
    pub(super) versions: BTreeMap<Value, Version>,
    /// Versions that were acknowledged, read, or replaced by another version.
    pub(super) made: BTreeSet<Value>,
}

impl Lineage {
    /// With versions that were found at the end.
    pub(super) fn new(events: &[&Event], found: &[Value]) -> Result<Lineage, String> {
        let mut lineage = Lineage::default();
        for event in events {
            let What::Wrote { value, over } = event.what else {
                continue;
            };
            let version = Version {
                over,
                region: event.region,
                begun: event.begun,
                is_acknowledged: event.token.is_some(),
                had: event.token,
            };
            if lineage.versions.insert(value, version).is_some() {
                return Err(format!("{value} was written twice"));
            }
        }
        let mut answered: Vec<_> = events
            .iter()
            .filter(|event| event.token.is_some())
            .collect();
        answered.sort_by_key(|event| event.ended);
        for event in answered {
            if let What::Wrote { value, .. } = event.what {
                lineage.is_made(value)?;
            }
            if let What::Read(Some(seen))
            | What::Wrote {
                over: Some(seen), ..
            } = event.what
            {
                lineage.is_made(seen)?;
                // Whoever saw it first had what its author had.
                if let Some(version) = lineage.versions.get_mut(&seen) {
                    version.had = version.had.or(event.token);
                }
            }
        }
        for value in found {
            lineage.is_made(*value)?;
        }
        Ok(lineage)
    }

    fn is_made(&mut self, value: Value) -> Result<(), String> {
        let mut next = Some(value);
        while let Some(value) = next {
            let Some(version) = self.versions.get(&value) else {
                return Err(format!("{value} was never written"));
            };
            next = if self.made.insert(value) {
                version.over
            } else {
                None
            };
        }
        Ok(())
    }

    /// Whether `older` is `than`'s direct or indirect predecessor.
    pub(super) fn is_older(&self, older: Value, than: Value) -> bool {
        let mut next = self.over(than);
        while let Some(value) = next {
            // Each value is written once, over a value that was read before, so the loop ends.
            if value == older {
                return true;
            }
            next = self.over(value);
        }
        false
    }

    fn over(&self, value: Value) -> Option<Value> {
        self.versions.get(&value).and_then(|version| version.over)
    }
}
