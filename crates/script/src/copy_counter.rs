//! Counts one value while it is copied out of an engine.
//!
//! A script's value may be an array that refers to another array twice, which refers to a third one
//! twice, and so on. The copy duplicates an array for every reference. So the counter adds the
//! bytes of each copy before their allocation, and counts steps even where nothing is copied. The
//! copying code checks the counter before it continues.

use crate::bridge::Bridge;
use crate::heap::Heap;

/// Steps between two checks whether the run may continue. Each step counts like a jump or call of
/// the engine.
const STEPS_PER_QUESTION: u32 = 10_000;

/// Bytes by which a copy may grow before it reports them to the account of the run.
const PIECE_BYTES: usize = 64 << 10;

/// The reason for which a value is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The copy exceeds the memory limit of one value.
    TooLarge,
    /// The run must end; the bridge knows the reason.
    RunEnded,
}

/// The counter of one copy.
pub(crate) struct CopyCounter<'a> {
    bridge: &'a Bridge,
    bytes_max: usize,
    bytes: usize,
    steps: u32,
    held: MemoryLease,
}

/// Bytes of a copy in the account of its run, until the lease is dropped.
pub(crate) struct MemoryLease {
    heap: Heap,
    bytes: usize,
}

impl MemoryLease {
    pub(crate) fn new(heap: &Heap) -> MemoryLease {
        MemoryLease {
            heap: heap.clone(),
            bytes: 0,
        }
    }

    /// Counts further bytes; returns false when they cannot be borrowed.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.heap.account().hold(bytes)
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.heap.account().release(self.bytes);
    }
}

impl<'a> CopyCounter<'a> {
    pub(crate) fn new(bridge: &'a Bridge) -> CopyCounter<'a> {
        CopyCounter {
            bridge,
            bytes_max: bridge.value_bytes_max(),
            bytes: 0,
            steps: 0,
            held: MemoryLease::new(bridge.heap()),
        }
    }

    /// Counts one examined value or property.
    pub(crate) fn step(&mut self) -> Result<(), Refusal> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_QUESTION) && self.bridge.interrupt() {
            return Err(Refusal::RunEnded);
        }
        Ok(())
    }

    /// Counts bytes in front of their allocation.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.bytes_max {
            return Err(Refusal::TooLarge);
        }
        if self.bytes - self.held.bytes >= PIECE_BYTES {
            let more = self.bytes - self.held.bytes;
            if !self.held.grow(more) {
                return Err(Refusal::RunEnded);
            }
        }
        Ok(())
    }

    /// Ends the count; the bytes stay in the account until the lease is dropped.
    pub(crate) fn into_lease(self) -> MemoryLease {
        self.held
    }
}
