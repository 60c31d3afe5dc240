//! The store asks before it appends and before it applies: here its records get their places in the
//! account stream, and at level strong they are under way until the others keep them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{Authority, Position, Verdict};
use orrery_regions::{Level, Sequence, WriteRefusal};

use super::core::{Shared, UnderWay};

/// How long a group waits for what goes before it.
const PLACE_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// What a client is told that would break the bound.
const BOUND_RETRY_MS: u64 = 100;

pub(crate) struct StoreAuthority(pub(crate) Arc<Shared>);

impl Authority for StoreAuthority {
    fn number(&self, last: Position, records: &[Bytes]) -> Result<Vec<Bytes>, Failure> {
        let shared = &*self.0;
        let begun = Instant::now();
        let mut core = shared.lock();
        let count = records.len() as u64;
        loop {
            let verdict = core.replica.may_write_many(shared.now(), count);
            let may = verdict.map_err(refusal);
            match may {
                Err(Failure::TooManyRequests { .. }) if records.is_empty() => {}
                may => may?,
            }
            if core.follows(Sequence(last.0)) {
                break;
            }
            if begun.elapsed() > PLACE_PATIENCE {
                return Err(Failure::Timeout);
            }
            core = shared.wait(core, LOOK_AGAIN);
        }
        let now = shared.now();
        let notes = core.take_notes().into_iter().map(|(_, text)| text);
        let notes = notes.collect();
        for record in records {
            let written = core.replica.write_unbounded(now, record.clone());
            debug_assert!(written.is_ok(), "it was asked a moment ago");
        }
        Ok(notes)
    }

    fn kept(&self, last: Position) -> Verdict {
        let shared = &*self.0;
        let upto = Sequence(last.0);
        let now = shared.now();
        let mut core = shared.lock();
        core.replica.kept(now, upto);
        shared.wake();
        if shared.level != Level::Strong {
            return Verdict::Settled;
        }
        let verdict = core.verdict(now, upto);
        if verdict != Verdict::Settled {
            let epoch = core.replica.epoch();
            core.under_way.push_back(UnderWay {
                upto,
                since: now,
                epoch,
            });
        }
        verdict
    }

    fn verdict(&self, last: Position) -> Verdict {
        let shared = &*self.0;
        let mut core = shared.lock();
        core.is_store_told = false;
        let verdict = core.verdict(shared.now(), Sequence(last.0));
        if verdict == Verdict::Settled {
            core.settled(Sequence(last.0));
        }
        verdict
    }

    fn settle(&self, last: Position) -> Verdict {
        let shared = &*self.0;
        let mut core = shared.lock();
        loop {
            let verdict = core.verdict(shared.now(), Sequence(last.0));
            if verdict == Verdict::Settled {
                core.settled(Sequence(last.0));
            }
            if verdict != Verdict::Open || core.has_notes() {
                return verdict;
            }
            core = shared.wait(core, LOOK_AGAIN);
        }
    }

    fn held_back(&self) {
        let mut core = self.0.lock();
        core.under_way.clear();
        core.is_store_told = false;
        // Even if this is the write region again by now, the store holds records back.
        core.fell_back = true;
        drop(core);
        self.0.wake();
    }

    fn seen(&self, last: Position) {
        self.0.lock().replica.applied(Sequence(last.0));
        self.0.wake();
    }
}

/// What a client is told whose write cannot begin.
pub(crate) fn refusal(refusal: WriteRefusal) -> Failure {
    match refusal {
        WriteRefusal::NotTheWriteRegion | WriteRefusal::HandingOver => Failure::WriteForbidden,
        WriteRefusal::VersionBound(_) | WriteRefusal::TimeBound(_) | WriteRefusal::Unheard => {
            Failure::TooManyRequests {
                retry_after_ms: BOUND_RETRY_MS,
            }
        }
    }
}
