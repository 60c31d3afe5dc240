//! The heap of one engine: its limits, and the release of all its blocks.
//!
//! The engine does not survive every failing allocation. It can publish half-made objects, and if
//! it cannot even allocate the error that stops a script, it aborts the process. So small
//! allocations never fail here:
//!
//! - Below its limit an engine gets every block.
//! - Above the limit, a new block of megabytes is refused. The engine turns that into an error
//!   which the script can catch. Only strings and buffers have such blocks, and the engine handles
//!   their failure correctly.
//! - All other blocks are granted up to a hard limit. The engine interrupts every ten thousand
//!   jumps and calls; [`Heap::is_above_limit`] then ends the run, as for a run without time.
//! - A run that reaches the hard limit before that interrupt does not return: its thread abandons
//!   the engine (see [`crate::fiber`]), and the heap frees all blocks of that engine. When the
//!   client has no memory left to lend, the hard limit moves close.
//! - A run that continues long after its time is inside a native function that never interrupts.
//!   Its thread abandons the engine when that function allocates a block.
//!
//! If a script is stopped at an unlucky moment, the engine may lose count of the references to an
//! object and never free it. The engine's own check for this would abort the process and is left
//! out of the build. The heap frees the blocks of such objects, so that a script cannot make the
//! process grow either. The engine requests few and large blocks, because it divides them itself.

#![expect(unsafe_code, reason = "the engine's interface to an allocator")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::Cell;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rquickjs::Runtime as Engine;
use rquickjs::allocator::Allocator;

use crate::ScriptError;
use crate::budget::Clock;
use crate::fiber::FiberExit;
use crate::memory_account::MemoryAccount;

/// New blocks of this size and above may be refused: only strings and buffers are as large.
const REFUSABLE_BYTES: usize = 2 << 20;

/// Minimal reserve between the limit and the hard limit: an engine needs memory before its script
/// begins.
const RESERVE_BYTES_MIN: usize = 4 << 20;

/// Blocks between two checks of the clock. The engine requests few and large blocks.
const BLOCKS_PER_LOOK: u32 = 16;

/// The heap of one engine, shared by the engine and its watcher.
#[derive(Clone)]
pub(crate) struct Heap(Rc<HeapInner>);

struct HeapInner {
    /// The list of all blocks that the engine has not freed, newest first.
    newest: Cell<*mut Block>,
    /// Bytes of the blocks, including headers.
    used: Cell<usize>,
    limit: usize,
    hard_limit: Cell<usize>,
    account: MemoryAccount,
    /// The exit from the engine while it runs on a fiber.
    exit: Cell<Option<FiberExit>>,
    allocation_deadline: AllocationDeadline,
    /// The reason for which the engine was abandoned last.
    abandon_reason: Cell<AbandonReason>,
}

/// Deadline for allocations of the engine.
struct AllocationDeadline {
    clock: Clock,
    deadline: Cell<Option<Duration>>,
    blocks: Cell<u32>,
    given_up: Arc<AtomicBool>,
}

/// The reason for which an engine was abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AbandonReason {
    Memory,
    Time,
}

impl AllocationDeadline {
    /// Whether the run must end because of the watchdog or the deadline.
    fn has_expired(&self) -> bool {
        if self.given_up.load(Ordering::Relaxed) {
            return true;
        }
        let (Some(deadline), Clock::Monotonic(now)) = (self.deadline.get(), &self.clock) else {
            return false;
        };
        let blocks = self.blocks.get().wrapping_add(1);
        self.blocks.set(blocks);
        blocks.is_multiple_of(BLOCKS_PER_LOOK) && now() >= deadline
    }
}

/// The header in front of the bytes that the engine gets.
#[repr(C, align(16))]
struct Block {
    newer: *mut Block,
    older: *mut Block,
    /// Bytes for the engine, without the header.
    size: usize,
}

/// Whether the engine survives a refused block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    New,
    Grown,
}

impl Heap {
    pub(crate) fn new(limit: usize, clock: Clock) -> Heap {
        Heap(Rc::new(HeapInner {
            newest: Cell::new(ptr::null_mut()),
            used: Cell::default(),
            limit,
            hard_limit: Cell::new(limit.saturating_add(limit.max(RESERVE_BYTES_MIN))),
            account: MemoryAccount::new(),
            exit: Cell::default(),
            allocation_deadline: AllocationDeadline {
                clock,
                deadline: Cell::default(),
                blocks: Cell::default(),
                given_up: Arc::default(),
            },
            abandon_reason: Cell::new(AbandonReason::Memory),
        }))
    }

    /// Creates an engine on this heap.
    pub(crate) fn engine(&self) -> rquickjs::Result<Engine> {
        Engine::new_with_alloc(self.clone())
    }

    /// Whether the script exceeds its memory limit and must stop.
    pub(crate) fn is_above_limit(&self) -> bool {
        self.0.used.get() > self.0.limit || self.0.account.refusal().is_some()
    }

    /// The account of all memory that the run holds, inside and outside of this heap.
    pub(crate) fn account(&self) -> &MemoryAccount {
        &self.0.account
    }

    /// Returns the borrowed memory to the share, after the run and its values have ended.
    pub(crate) fn close_account(&self) {
        self.0.account.close(self.0.used.get());
    }

    /// Makes the thread abandon an engine that still allocates after this time.
    pub(crate) fn set_deadline(&self, after: Duration) {
        let watch = &self.0.allocation_deadline;
        if let Clock::Monotonic(now) = &watch.clock {
            watch.deadline.set(Some(now() + after));
        }
    }

    /// The watchdog's flag, which says that the watchdog has given up the run.
    pub(crate) fn given_up(&self) -> &Arc<AtomicBool> {
        &self.0.allocation_deadline.given_up
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.0.allocation_deadline.given_up.load(Ordering::Relaxed)
    }

    /// The error of a run whose engine was abandoned.
    pub(crate) fn abandon_error(&self) -> ScriptError {
        match (self.0.abandon_reason.get(), self.0.account.refusal()) {
            (AbandonReason::Time, _) => ScriptError::TimedOut,
            (AbandonReason::Memory, Some(refusal)) => ScriptError::Memory(refusal),
            (AbandonReason::Memory, None) => ScriptError::OutOfMemory,
        }
    }

    /// Keeps the thread from abandoning the engine while `work` holds memory outside of the heap,
    /// which would be lost. Calls of `work` into the engine must be bounded and must not run script
    /// code.
    pub(crate) fn without_abandoning<T>(&self, work: impl FnOnce() -> T) -> T {
        let exit = self.0.exit.take();
        let result = work();
        self.0.exit.set(exit);
        result
    }

    /// Sets or removes the exit for a thread that reaches the hard limit.
    pub(crate) fn set_exit(&self, exit: Option<FiberExit>) {
        self.0.exit.set(exit);
    }

    /// Frees every block of an abandoned engine.
    ///
    /// # Safety
    ///
    /// No code may use the engine or a part of the engine afterwards, not even to free that part.
    pub(crate) unsafe fn clear(&self) {
        self.0.clear();
    }
}

fn layout(size: usize) -> Option<Layout> {
    let size = size.checked_add(size_of::<Block>())?;
    Layout::from_size_align(size, align_of::<Block>()).ok()
}

/// SAFETY of the functions below: a block is in the list from its allocation until it is freed, and
/// list walks meet only such blocks. The engine runs on one thread at a time and passes back only
/// pointers from [`HeapInner::link`].
impl HeapInner {
    /// Whether the engine gets `more` bytes. At the hard limit this call does not return.
    fn admits(&self, more: usize, kind: Kind) -> bool {
        // A native function without interrupts still allocates, so the deadline is checked here as
        // well.
        if self.allocation_deadline.has_expired() {
            self.abandon(AbandonReason::Time);
        }
        let wanted = self.used.get().saturating_add(more);
        if wanted <= self.limit.min(self.hard_limit.get()) {
            return true;
        }
        if kind == Kind::New && more >= REFUSABLE_BYTES {
            return false;
        }
        if wanted > self.hard_limit.get() {
            self.abandon(AbandonReason::Memory);
        }
        true
    }

    /// Abandons the engine if it runs on a fiber.
    fn abandon(&self, why: AbandonReason) {
        if let Some(exit) = self.exit.take() {
            self.abandon_reason.set(why);
            exit.abandon();
        }
    }

    /// Counts a block. If the account cannot borrow its bytes, the hard limit moves to a small
    /// reserve above the used bytes.
    fn count(&self, bytes: usize) {
        let used = self.used.get() + bytes;
        self.used.set(used);
        if !self.account.hold(bytes) {
            let wall = used.saturating_add(RESERVE_BYTES_MIN);
            self.hard_limit.set(self.hard_limit.get().min(wall));
        }
    }

    /// Takes a block from the system allocator. If the system has no memory either, a small block
    /// abandons the engine.
    fn add(&self, size: usize, allocate: unsafe fn(Layout) -> *mut u8) -> *mut u8 {
        let Some(layout) = layout(size).filter(|layout| self.admits(layout.size(), Kind::New))
        else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty.
        let block: *mut Block = unsafe { allocate(layout) }.cast();
        if block.is_null() {
            if size < REFUSABLE_BYTES {
                self.abandon(AbandonReason::Memory);
            }
            return ptr::null_mut();
        }
        // SAFETY: the block is new.
        unsafe { self.link(block, size) }
    }

    /// Adds a block to the list and returns the bytes behind its header.
    unsafe fn link(&self, block: *mut Block, size: usize) -> *mut u8 {
        let newest = self.newest.get();
        // SAFETY: the block is new and as large as its header and `size` bytes; see above.
        unsafe {
            block.write(Block {
                newer: ptr::null_mut(),
                older: newest,
                size,
            });
            if let Some(older) = newest.as_mut() {
                older.newer = block;
            }
            self.newest.set(block);
            self.count(size_of::<Block>() + size);
            block.add(1).cast()
        }
    }

    unsafe fn unlink(&self, block: *mut Block) {
        // SAFETY: the block is in the list; see above.
        unsafe {
            let Block { newer, older, size } = block.read();
            match newer.as_mut() {
                Some(newer) => newer.older = older,
                None => self.newest.set(older),
            }
            if let Some(older) = older.as_mut() {
                older.newer = newer;
            }
            let bytes = size_of::<Block>() + size;
            self.used.set(self.used.get() - bytes);
            self.account.release(bytes);
        }
    }

    unsafe fn release(&self, block: *mut Block) {
        // SAFETY: the block is in the list, and its layout is that of its allocation.
        unsafe {
            let size = (*block).size;
            self.unlink(block);
            let layout = layout(size).expect("it was allocated");
            dealloc(block.cast(), layout);
        }
    }

    fn clear(&self) {
        while !self.newest.get().is_null() {
            // SAFETY: blocks in the list are not freed yet, and the engine no longer exists.
            unsafe { self.release(self.newest.get()) };
        }
    }
}

/// The header in front of bytes that the engine has.
unsafe fn block_of(bytes: *mut u8) -> *mut Block {
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "it is a header, which is aligned"
    )]
    // SAFETY: `HeapInner::link` gave the pointer, right behind a header.
    unsafe {
        bytes.cast::<Block>().sub(1)
    }
}

// SAFETY: a block has at least the requested size and the alignment of a header, which exceeds that
// of `usize`; the header stores the size. See `HeapInner` for the list.
unsafe impl Allocator for Heap {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.0.add(size, alloc)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(size) => self.0.add(size, alloc_zeroed),
            None => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the engine hands back what it got.
        unsafe { self.0.release(block_of(ptr)) }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if ptr.is_null() {
            return self.alloc(new_size);
        }
        // SAFETY: the engine passes a pointer of this heap. The block is outside of the list while
        // it may move, and returns to the list with its old size if it could not grow.
        unsafe {
            let block = block_of(ptr);
            let size = (*block).size;
            let Some(new_layout) = layout(new_size) else {
                self.0.abandon(AbandonReason::Memory);
                return ptr::null_mut();
            };
            // The result is irrelevant: a grown block is never refused, because the engine does not
            // survive that. Only the hard limit acts.
            self.0.admits(new_size.saturating_sub(size), Kind::Grown);
            self.0.unlink(block);
            let layout = layout(size).expect("it was allocated");
            let moved: *mut Block = realloc(block.cast(), layout, new_layout.size()).cast();
            if moved.is_null() {
                self.0.link(block, size);
                self.0.abandon(AbandonReason::Memory);
                return ptr::null_mut();
            }
            self.0.link(moved, new_size)
        }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the engine passes a pointer of this heap.
        unsafe { (*block_of(ptr)).size }
    }
}

impl Drop for HeapInner {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a heap, newest first, with the size and first byte of each.
    fn blocks(heap: &Heap) -> Vec<(usize, u8)> {
        let mut found = Vec::new();
        let mut block = heap.0.newest.get();
        while !block.is_null() {
            // SAFETY: blocks in the list are allocated, and the tests wrote their first bytes.
            unsafe {
                found.push(((*block).size, *block.add(1).cast::<u8>()));
                block = (*block).older;
            }
        }
        found
    }

    #[test]
    fn blocks_come_and_go_in_any_order() {
        let mut heap = Heap::new(usize::MAX, Clock::Steps);
        // SAFETY: pointers are those of the heap, used within their sizes and freed once.
        unsafe {
            let [a, b, c] = [1_u8, 2, 3].map(|mark| {
                let bytes = heap.alloc(usize::from(mark) * 100);
                bytes.write(mark);
                bytes
            });
            assert_eq!(blocks(&heap), [(300, 3), (200, 2), (100, 1)]);
            heap.dealloc(b);
            assert_eq!(blocks(&heap), [(300, 3), (100, 1)]);
            let a = heap.realloc(a, 1 << 20);
            assert_eq!(blocks(&heap), [(1 << 20, 1), (300, 3)]);
            assert_eq!(Heap::usable_size(a), 1 << 20);
            assert!(heap.realloc(a, usize::MAX).is_null());
            assert!(heap.alloc(usize::MAX).is_null() && heap.calloc(usize::MAX, 2).is_null());
            let d = heap.calloc(3, 5);
            assert_eq!(blocks(&heap), [(15, 0), (1 << 20, 1), (300, 3)]);
            heap.dealloc(d);
            heap.dealloc(c);
            heap.dealloc(a);
            assert!(blocks(&heap).is_empty());
            heap.alloc(10).write(4);
        }
        assert_eq!(heap.0.used.get(), 10 + size_of::<Block>());
        // The heap frees its last block; Miri and the sanitizers would report a leak.
        assert_eq!(blocks(&heap), [(10, 4)]);
    }

    #[test]
    fn only_new_blocks_of_megabytes_are_refused() {
        let limit = 8 << 20;
        let mut heap = Heap::new(limit, Clock::Steps);
        assert!(heap.alloc(limit).is_null() && heap.calloc(2, limit).is_null());
        let most = heap.alloc(limit - 1000);
        assert!(!most.is_null() && !heap.is_above_limit());
        assert!(heap.alloc(REFUSABLE_BYTES).is_null());
        assert!(!heap.alloc(2000).is_null() && heap.is_above_limit());
        // SAFETY: the pointers are those of the heap.
        unsafe {
            let grown = heap.realloc(most, limit + 1000);
            assert!(!grown.is_null());
            heap.dealloc(grown);
        }
        assert!(!heap.is_above_limit());
        // Without an exit there is no hard limit.
        assert!((0..200).all(|_| !heap.alloc(100_000).is_null()));
        assert!(heap.0.used.get() > heap.0.hard_limit.get());
    }
}
