//! The store asks before it appends and before it applies: here its records get their places in the
//! account stream, and at level strong they wait for a majority.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{Authority, Position};
use orrery_regions::{Level, Sequence, WriteRefusal};

use super::core::Shared;

/// How long a group waits for what goes before it.
const PLACE_PATIENCE: Duration = Duration::from_secs(5);
/// How long a strong write waits for the others before its outcome is called unknown.
const SETTLE_PATIENCE: Duration = Duration::from_secs(10);
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

    fn settle(&self, last: Position) -> bool {
        let shared = &*self.0;
        let last = Sequence(last.0);
        let begun = Instant::now();
        let mut core = shared.lock();
        core.replica.kept(shared.now(), last);
        shared.wake();
        if shared.level != Level::Strong {
            return true;
        }
        core.waiting_since = Some(shared.now());
        let is_settled = loop {
            if !core.replica.is_write_region() {
                break false;
            }
            if core.replica.settled(shared.now()) >= last {
                break true;
            }
            // A note that goes before anything can settle needs this thread.
            if core.has_notes() || begun.elapsed() > SETTLE_PATIENCE {
                break false;
            }
            core = shared.wait(core, LOOK_AGAIN);
        };
        core.waiting_since = None;
        // Even if this is the write region again by now, the store holds records back.
        core.fell_back |= !is_settled;
        drop(core);
        if !is_settled {
            shared.wake();
        }
        is_settled
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
