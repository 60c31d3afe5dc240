//! Counts one value while it is copied out of an engine.
//!
//! What a script calls one value may be one array that is named twice, by one that is named twice, and so
//! on: the copy has each as often as it is named. So bytes are counted for each copy, as they are
//! allocated, and steps also where nothing is copied; whoever copies asks before going on.

use crate::bridge::Bridge;
use crate::heap::Heap;

/// Steps between two questions whether the run may go on. The run pays for each of these steps as
/// for a jump or a call of the engine.
const STEPS_PER_QUESTION: u32 = 10_000;

/// Bytes that a copy may grow by before it reports them to the account of the run.
const PIECE_BYTES: usize = 64 << 10;

/// Why a value is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The copy takes more memory than one value may take.
    TooLarge,
    /// The run must end; the bridge knows the cause.
    Over,
}

pub(crate) struct Crossing<'a> {
    bridge: &'a Bridge,
    bytes_max: usize,
    bytes: usize,
    steps: u32,
    held: Held,
}

/// Bytes of a copy in the account of its run, for as long as this lives.
pub(crate) struct Held {
    heap: Heap,
    bytes: usize,
}

impl Held {
    pub(crate) fn new(heap: &Heap) -> Held {
        Held {
            heap: heap.clone(),
            bytes: 0,
        }
    }

    /// False when the bytes could not be borrowed.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.heap.account().hold(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.heap.account().release(self.bytes);
    }
}

impl<'a> Crossing<'a> {
    pub(crate) fn new(bridge: &'a Bridge) -> Crossing<'a> {
        Crossing {
            bridge,
            bytes_max: bridge.value_bytes_max(),
            bytes: 0,
            steps: 0,
            held: Held::new(bridge.heap()),
        }
    }

    /// One more value or property is looked at.
    pub(crate) fn step(&mut self) -> Result<(), Refusal> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_QUESTION) && self.bridge.interrupt() {
            return Err(Refusal::Over);
        }
        Ok(())
    }

    /// Counts bytes that the copy is about to allocate.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.bytes_max {
            return Err(Refusal::TooLarge);
        }
        if self.bytes - self.held.bytes >= PIECE_BYTES {
            let more = self.bytes - self.held.bytes;
            if !self.held.grow(more) {
                return Err(Refusal::Over);
            }
        }
        Ok(())
    }

    /// The bytes stay in the account until what this gives is dropped.
    pub(crate) fn into_held(self) -> Held {
        self.held
    }
}
