//! What was recorded of a run. Checkers see nothing else.

use std::collections::{BTreeMap, BTreeSet};

use orrery_regions::{RecordBody, RegionId, Sequence, StreamRecord, VersionVector};

use super::super::RangeMove;
use super::plan::{KEYS, Key};
use crate::codec::decode_move;

/// The open keys of a region from a moment on.
#[derive(Clone, Debug)]
pub(super) struct Stance {
    pub(super) at: u64,
    pub(super) region: RegionId,
    /// How often it was started.
    pub(super) life: u64,
    /// The last record of the account stream that it follows.
    pub(super) follows: Sequence,
    pub(super) open: [bool; KEYS],
}

/// A write that was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) key: Key,
    pub(super) region: RegionId,
    /// The position in the region's stream.
    pub(super) sequence: Sequence,
    /// What the region had.
    pub(super) deps: VersionVector,
    /// The number of stances before the write.
    pub(super) stances: usize,
}

/// A record of the account stream, as far as it is about owners.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Everything(RegionId),
    Range(RangeMove),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Crashed, stopped or taken down.
    Region(RegionId),
    /// One way.
    Link(RegionId, RegionId),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) what: Broken,
    pub(super) begins: u64,
    pub(super) ends: Option<u64>,
}

/// The state of the world after it was stable for long.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    pub(super) at: u64,
    /// Keys by region in which they were down.
    pub(super) down: Vec<(RegionId, Key)>,
}

/// A region at rest.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) follows: Sequence,
    pub(super) open: [bool; KEYS],
    pub(super) numbers: BTreeSet<u64>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) regions: Vec<RegionId>,
    pub(super) account: BTreeMap<Sequence, Given>,
    pub(super) stances: Vec<Stance>,
    pub(super) writes: Vec<Write>,
    pub(super) faults: Vec<Fault>,
    /// When regions started or came back.
    pub(super) returns: Vec<(u64, RegionId)>,
    /// Times in which a key was down somewhere.
    pub(super) downs: Vec<(Key, u64, Option<u64>)>,
    pub(super) steady: Option<Steady>,
    pub(super) ends: BTreeMap<RegionId, End>,
    /// Counts of events: a run without an event proves nothing about it.
    pub(super) happened: BTreeMap<&'static str, u64>,
}

impl Given {
    pub(super) fn by(record: &StreamRecord) -> Given {
        match &record.body {
            RecordBody::EpochStart(_) => match record.epoch.write_region() {
                Some(region) => Given::Everything(region),
                None => Given::Nothing,
            },
            RecordBody::Data(data) => decode_move(data).map_or(Given::Nothing, Given::Range),
            RecordBody::Members(_) => Given::Nothing,
        }
    }
}

impl History {
    pub(super) fn happened(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }

    /// A region has applied a record of the account stream.
    pub(super) fn applied(&mut self, record: &StreamRecord) {
        let given = Given::by(record);
        let known = self.account.entry(record.sequence);
        let known = known.or_insert_with(|| given.clone());
        assert_eq!(*known, given, "the account stream is one");
    }

    /// Records a stance of a region, if it differs from the region's last one.
    pub(super) fn takes(&mut self, stance: Stance) {
        let before = self.stances.iter().rev();
        let mut before = before.filter(|before| before.region == stance.region);
        let what = |stance: &Stance| (stance.life, stance.follows, stance.open);
        if before.next().map(what) != Some(what(&stance)) {
            self.stances.push(stance);
        }
    }

    pub(super) fn breaks(&mut self, at: u64, what: Broken) {
        let mut open = self.faults.iter();
        if !open.any(|fault| fault.what == what && fault.ends.is_none()) {
            self.faults.push(Fault {
                what,
                begins: at,
                ends: None,
            });
        }
    }

    pub(super) fn mends(&mut self, at: u64, what: Broken) {
        for fault in &mut self.faults {
            if fault.what == what && fault.ends.is_none() {
                fault.ends = Some(at);
            }
        }
    }

    /// The events in order, for the search of a cause.
    pub(super) fn tell(&self) -> String {
        let mut lines = Vec::new();
        for (sequence, given) in &self.account {
            lines.push((0, format!("record {sequence}: {given:?}")));
        }
        for stance in &self.stances {
            let open: Vec<Key> = (0..KEYS).filter(|key| stance.open[*key]).collect();
            let (region, follows) = (stance.region, stance.follows);
            let line = format!("{region} follows {follows}, takes {open:?}");
            lines.push((stance.at, line));
        }
        for fault in &self.faults {
            lines.push((fault.begins, format!("broken: {fault:?}")));
        }
        for (at, region) in &self.returns {
            lines.push((*at, format!("{region} is back")));
        }
        lines.sort_by_key(|(at, _)| *at);
        let lines = lines.iter().map(|(at, line)| format!("{at:>6} {line}\n"));
        lines.collect()
    }
}
