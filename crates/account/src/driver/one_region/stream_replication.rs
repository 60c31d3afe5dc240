//! The replica of a region as the log of its store sees it: the replica gives records their
//! sequences in the account stream, and at level strong it says when a quorum has them.
//!
//! The commit thread of the store makes these calls. Each call holds the lock of the replica for a
//! moment and waits for no other region.

use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{AppendError, CommitStatus, Note, Position, Replication};
use orrery_model::Failure;
use orrery_partition::note_record;
use orrery_regions::{Consistency, Sequence, WriteRefusal};

use crate::driver::shared_replica::{InFlightGroup, SharedReplica};

/// The time after which a client repeats a write that would exceed the staleness bound.
const BOUND_RETRY_MS: u64 = 100;

pub(crate) struct StreamReplication(pub(crate) Arc<SharedReplica>);

impl Replication for StreamReplication {
    fn assign_positions(
        &mut self,
        last: Position,
        records: &[Bytes],
    ) -> Result<Vec<Note>, AppendError> {
        let shared = &*self.0;
        let now = shared.now();
        let mut core = shared.lock();
        let may_write = core.replica.may_write_many(now, records.len() as u64);
        match may_write.map_err(append_error) {
            // Notes are not bounded: the regions catch up through them.
            Err(AppendError::Throttled { .. }) if records.is_empty() => {}
            may_write => may_write?,
        }
        if !core.follows(Sequence(last.0)) {
            return Err(AppendError::Busy);
        }
        // Notes got their sequences before these records, so they come first in the log.
        let notes = core.take_notes().into_iter().map(|(_, text)| Note {
            record: note_record(text.clone()),
            text,
        });
        let notes = notes.collect();
        for record in records {
            let written = core.replica.write_unbounded(now, record.clone());
            debug_assert!(written.is_ok(), "the replica permitted these records");
        }
        Ok(notes)
    }

    fn has_notes(&self) -> bool {
        self.0.lock().has_notes()
    }

    fn on_durable(&mut self, upto: Position) {
        let shared = &*self.0;
        let upto = Sequence(upto.0);
        let now = shared.now();
        let mut core = shared.lock();
        core.replica.mark_durable(now, upto);
        if shared.level == Consistency::Strong
            && core.commit_status(now, upto) != CommitStatus::Committed
        {
            let epoch = core.replica.epoch();
            core.in_flight.push_back(InFlightGroup {
                upto,
                since: now,
                epoch,
            });
        }
        drop(core);
        shared.wake();
    }

    fn commit_status(&mut self, upto: Position) -> CommitStatus {
        let shared = &*self.0;
        // Below level strong a client does not wait for other regions.
        if shared.level != Consistency::Strong {
            return CommitStatus::Committed;
        }
        let upto = Sequence(upto.0);
        let mut core = shared.lock();
        core.is_commit_check_requested = false;
        let status = core.commit_status(shared.now(), upto);
        if status == CommitStatus::Committed {
            core.forget_in_flight(upto);
        }
        status
    }

    fn on_applied(&mut self, upto: Position) {
        self.0.lock().replica.applied(Sequence(upto.0));
        self.0.wake();
    }

    fn on_abandoned(&mut self) {
        let mut core = self.0.lock();
        core.in_flight.clear();
        core.is_commit_check_requested = false;
        // The store holds records outside its state, also if this region is the write region again
        // by now: the driver demotes the engine until the state has them.
        core.has_abandoned_groups = true;
        drop(core);
        self.0.wake();
    }
}

fn append_error(refusal: WriteRefusal) -> AppendError {
    match refusal {
        WriteRefusal::NotTheWriteRegion | WriteRefusal::HandingOver => AppendError::NotOwner,
        WriteRefusal::VersionBound(_) | WriteRefusal::TimeBound(_) | WriteRefusal::Unheard => {
            AppendError::Throttled {
                retry_after_ms: BOUND_RETRY_MS,
            }
        }
    }
}

/// The answer to a client whose write cannot begin.
pub(crate) fn refusal(refusal: WriteRefusal) -> Failure {
    match append_error(refusal) {
        AppendError::Throttled { retry_after_ms } => Failure::TooManyRequests { retry_after_ms },
        _ => Failure::WriteForbidden,
    }
}
