//! The memory of one engine: what it may have, and all of which goes when the engine goes.
//!
//! The engine does not survive every allocation that fails. It gives up half-made objects as if they
//! were whole, and when even the error that stops a script cannot be made, it takes the process down.
//! So nothing small ever fails here:
//!
//! - Up to its limit an engine gets what it asks for.
//! - Beyond it, a new block of megabytes is refused, which the engine turns into an error that the
//!   script can catch. Strings and buffers are the only such blocks, and the engine is sound there.
//! - Everything else is still given, up to a wall. The engine asks every ten thousand jumps and calls
//!   whether to go on, and [`Heap::is_over`] is the answer: the run ends like one without time.
//! - A run that reaches the wall before that question does not come back: its thread leaves the engine
//!   where it is (see [`crate::aside`]), and the heap frees all blocks of that engine. When the client has
//!   no memory left to lend, the wall is near.
//! - A run that goes on long after its time is inside a function of the engine that never asks that
//!   question. Its thread leaves the engine when that function wants a block.
//!
//! When a script is stopped at an unlucky moment, the engine may lose count of what refers to an
//! object and never free it. Its own check of that at the end would take the process down and is left
//! out of the build; this takes back what such an object still holds, so that a script cannot make
//! the process grow either. The engine asks for few and large blocks, because it divides small ones
//! itself.

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
use crate::account::Account;
use crate::aside::Exit;
use crate::budget::Clock;

/// New blocks from here on may be refused: larger than anything but strings and buffers.
const REFUSABLE_BYTES: usize = 2 << 20;

/// Room between the limit and the wall, at least: for what an engine has before its script begins.
const RESERVE_BYTES_MIN: usize = 4 << 20;

/// Blocks between two looks at the clock. The engine asks for few and large ones.
const BLOCKS_PER_LOOK: u32 = 16;

/// The heap of one engine, for the engine and for whoever watches it.
#[derive(Clone)]
pub(crate) struct Heap(Rc<Inner>);

struct Inner {
    /// Every block that the engine has not freed, in a list.
    newest: Cell<*mut Block>,
    /// Bytes of the blocks, headers included.
    used: Cell<usize>,
    limit: usize,
    wall: Cell<usize>,
    account: Account,
    /// The way out of the engine, while it runs aside.
    exit: Cell<Option<Exit>>,
    watch: Watch,
    /// Why the engine was left last.
    left: Cell<Left>,
}

/// How long an engine may want blocks.
struct Watch {
    clock: Clock,
    deadline: Cell<Option<Duration>>,
    blocks: Cell<u32>,
    given_up: Arc<AtomicBool>,
}

/// Why an engine was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Memory,
    Time,
}

impl Watch {
    /// Whether the run must end, because the watchdog has given it up or its time is over.
    fn is_over(&self) -> bool {
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

/// What stands before the bytes that the engine is given.
#[repr(C, align(16))]
struct Block {
    newer: *mut Block,
    older: *mut Block,
    /// Bytes of the engine.
    size: usize,
}

/// Whether the engine survives that it does not get a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    New,
    Grown,
}

impl Heap {
    pub(crate) fn new(limit: usize, clock: Clock) -> Heap {
        Heap(Rc::new(Inner {
            newest: Cell::new(ptr::null_mut()),
            used: Cell::default(),
            limit,
            wall: Cell::new(limit.saturating_add(limit.max(RESERVE_BYTES_MIN))),
            account: Account::new(),
            exit: Cell::default(),
            watch: Watch {
                clock,
                deadline: Cell::default(),
                blocks: Cell::default(),
                given_up: Arc::default(),
            },
            left: Cell::new(Left::Memory),
        }))
    }

    /// A new engine on this heap.
    pub(crate) fn engine(&self) -> rquickjs::Result<Engine> {
        Engine::new_with_alloc(self.clone())
    }

    /// Whether the script has more than it may have and must stop.
    pub(crate) fn is_over(&self) -> bool {
        self.0.used.get() > self.0.limit || self.0.account.refusal().is_some()
    }

    /// The account of all memory that the run holds, in this heap and outside of it.
    pub(crate) fn account(&self) -> &Account {
        &self.0.account
    }

    /// Gives back to the share what the run has borrowed, after the run has ended and its values
    /// are gone.
    pub(crate) fn close_account(&self) {
        self.0.account.close(self.0.used.get());
    }

    /// Leaves an engine that wants a block so long from now.
    pub(crate) fn set_deadline(&self, after: Duration) {
        let watch = &self.0.watch;
        if let Clock::Monotonic(now) = &watch.clock {
            watch.deadline.set(Some(now() + after));
        }
    }

    /// The flag that the watchdog sets when it gives up the run.
    pub(crate) fn given_up(&self) -> &Arc<AtomicBool> {
        &self.0.watch.given_up
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.0.watch.given_up.load(Ordering::Relaxed)
    }

    /// What the end of the run is to its client when the engine was left.
    pub(crate) fn why_left(&self) -> ScriptError {
        match (self.0.left.get(), self.0.account.refusal()) {
            (Left::Time, _) => ScriptError::TimedOut,
            (Left::Memory, Some(refusal)) => ScriptError::Memory(refusal),
            (Left::Memory, None) => ScriptError::OutOfMemory,
        }
    }

    /// Keeps the thread from leaving the engine while `work` holds memory outside of the heap, which
    /// would be lost. The calls that `work` makes to the engine must have a bound of their own, and
    /// must not run the script.
    pub(crate) fn staying<T>(&self, work: impl FnOnce() -> T) -> T {
        let exit = self.0.exit.take();
        let result = work();
        self.0.exit.set(exit);
        result
    }

    /// Lets whoever runs into the wall leave by `exit`, or nobody.
    pub(crate) fn set_exit(&self, exit: Option<Exit>) {
        self.0.exit.set(exit);
    }

    /// Takes every block from an engine that was left.
    ///
    /// # Safety
    ///
    /// Nothing may use the engine or anything of it any more, not even to free it.
    pub(crate) unsafe fn clear(&self) {
        self.0.clear();
    }
}

fn layout(size: usize) -> Option<Layout> {
    let size = size.checked_add(size_of::<Block>())?;
    Layout::from_size_align(size, align_of::<Block>()).ok()
}

/// SAFETY of the functions below: a block is in the list from its allocation until it is freed, the
/// list is only ever walked with blocks in it, and the engine, which is on one thread at a time, hands
/// back pointers that it got from [`Inner::link`].
impl Inner {
    /// Whether the engine gets `more` bytes. Does not come back at the wall.
    fn admits(&self, more: usize, kind: Kind) -> bool {
        if self.watch.is_over() {
            self.leave(Left::Time);
        }
        let wanted = self.used.get().saturating_add(more);
        if wanted <= self.limit.min(self.wall.get()) {
            return true;
        }
        if kind == Kind::New && more >= REFUSABLE_BYTES {
            return false;
        }
        if wanted > self.wall.get() {
            self.leave(Left::Memory);
        }
        true
    }

    /// Leaves the engine, if there is a way.
    fn leave(&self, why: Left) {
        if let Some(exit) = self.exit.take() {
            self.left.set(why);
            exit.leave();
        }
    }

    /// Counts a block. When the account cannot borrow the bytes of a block, the wall moves to a
    /// small reserve above the bytes in use.
    fn count(&self, bytes: usize) {
        let used = self.used.get() + bytes;
        self.used.set(used);
        if !self.account.hold(bytes) {
            let wall = used.saturating_add(RESERVE_BYTES_MIN);
            self.wall.set(self.wall.get().min(wall));
        }
    }

    /// A block of the system, by `allocate`. Where the system has none either, small ones do not
    /// come back.
    fn add(&self, size: usize, allocate: unsafe fn(Layout) -> *mut u8) -> *mut u8 {
        let Some(layout) = layout(size).filter(|layout| self.admits(layout.size(), Kind::New))
        else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty.
        let block: *mut Block = unsafe { allocate(layout) }.cast();
        if block.is_null() {
            if size < REFUSABLE_BYTES {
                self.leave(Left::Memory);
            }
            return ptr::null_mut();
        }
        // SAFETY: the block is new.
        unsafe { self.link(block, size) }
    }

    /// Puts a block in the list and gives the bytes behind it.
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
        // SAFETY: the block is in the list and has the layout that it was allocated with.
        unsafe {
            let size = (*block).size;
            self.unlink(block);
            let layout = layout(size).expect("it was allocated");
            dealloc(block.cast(), layout);
        }
    }

    fn clear(&self) {
        while !self.newest.get().is_null() {
            // SAFETY: what is in the list was not freed, and the engine is gone.
            unsafe { self.release(self.newest.get()) };
        }
    }
}

/// The header before what the engine was given.
unsafe fn block_of(bytes: *mut u8) -> *mut Block {
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "it is a header, which is aligned"
    )]
    // SAFETY: `Inner::link` gave the pointer, right behind a header.
    unsafe {
        bytes.cast::<Block>().sub(1)
    }
}

// SAFETY: what is given has at least the size that was asked for and the alignment of a header,
// which is more than that of `usize`; the size is remembered. See `Inner` for the list.
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
        // SAFETY: the engine hands back what it got. The block is out of the list while it may
        // move, and back in it, with its old size, when it could not grow.
        unsafe {
            let block = block_of(ptr);
            let size = (*block).size;
            let Some(new_layout) = layout(new_size) else {
                self.0.leave(Left::Memory);
                return ptr::null_mut();
            };
            self.0.admits(new_size.saturating_sub(size), Kind::Grown);
            self.0.unlink(block);
            let layout = layout(size).expect("it was allocated");
            let moved: *mut Block = realloc(block.cast(), layout, new_layout.size()).cast();
            if moved.is_null() {
                self.0.link(block, size);
                self.0.leave(Left::Memory);
                return ptr::null_mut();
            }
            self.0.link(moved, new_size)
        }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the engine asks about what it got.
        unsafe { (*block_of(ptr)).size }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a heap, the newest first, by the size and the first byte of each.
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
        // The last block goes with the heap: Miri and the sanitizer see if it does not.
        assert_eq!(blocks(&heap), [(10, 4)]);
    }

    #[test]
    fn only_new_blocks_of_megabytes_are_refused() {
        let limit = 8 << 20;
        let mut heap = Heap::new(limit, Clock::Steps);
        assert!(heap.alloc(limit).is_null() && heap.calloc(2, limit).is_null());
        let most = heap.alloc(limit - 1000);
        assert!(!most.is_null() && !heap.is_over());
        assert!(heap.alloc(REFUSABLE_BYTES).is_null());
        assert!(!heap.alloc(2000).is_null() && heap.is_over());
        // SAFETY: the pointers are those of the heap.
        unsafe {
            let grown = heap.realloc(most, limit + 1000);
            assert!(!grown.is_null());
            heap.dealloc(grown);
        }
        assert!(!heap.is_over());
        // Without a way out there is no wall.
        assert!((0..200).all(|_| !heap.alloc(100_000).is_null()));
        assert!(heap.0.used.get() > heap.0.wall.get());
    }
}
