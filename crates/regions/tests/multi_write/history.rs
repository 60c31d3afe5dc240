//! What was recorded of a run. Checkers see nothing else.

use std::collections::{BTreeMap, BTreeSet};

use orrery_regions::{Epoch, RegionId, VersionId, VersionKind, VersionVector};

pub(crate) type Item = u8;
/// Names a change: every put, delete and decision has a number of its own.
pub(crate) type Value = u64;

pub(crate) type View = BTreeMap<Item, Value>;

/// A change as its client requested it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) item: Item,
    pub(crate) change: VersionKind,
    pub(crate) claims: Vec<u64>,
    pub(crate) decided: Option<Epoch>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) session: u64,
    pub(crate) began: u64,
    pub(crate) ended: Option<u64>,
    pub(crate) action: Action,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Write(Value),
    Read { region: RegionId, view: View },
}

#[derive(Default)]
pub(crate) struct History {
    pub(crate) made: BTreeMap<Value, Made>,
    pub(crate) operations: Vec<Operation>,
    /// Where a change was committed, and what its origin had applied.
    pub(crate) committed: BTreeMap<Value, (VersionId, VersionVector)>,
    /// Changes outside the history: a region that left had acknowledged them and no other region
    /// had them. A planned removal must have no such changes.
    pub(crate) put_aside: BTreeSet<Value>,
    pub(crate) forced: bool,
    /// At the end of a run: the view of each region, its state byte for byte, and how often each
    /// change was applied in it.
    pub(crate) views: BTreeMap<RegionId, View>,
    pub(crate) states: BTreeMap<RegionId, String>,
    pub(crate) applied: BTreeMap<RegionId, BTreeMap<Value, u32>>,
}

impl History {
    /// Changes that are part of the history.
    pub(crate) fn standing(&self) -> impl Iterator<Item = &Value> {
        let committed = self.committed.keys();
        committed.filter(|value| !self.put_aside.contains(value))
    }
}
