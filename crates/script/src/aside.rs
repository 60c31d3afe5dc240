//! Running an engine on a stack of its own, so that it can be left.
//!
//! An engine that has run into the wall of its heap cannot go on, and cannot be told either: it does
//! not survive allocations that fail, and nothing may unwind through its frames. So its frames stay
//! where they are, on a stack that nobody returns to. Whoever started it goes on as if it had answered,
//! takes its heap away as a whole and uses the stack again.
//!
//! What the Rust in those frames and the engine itself own outside of the heap is lost: some kilobytes,
//! as long as what is large stays with whoever started it. This is for scripts that mean it; others are
//! stopped before by the limit of the heap.

#![expect(unsafe_code, reason = "frames are given up without unwinding")]

use std::io;
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::heap::Heap;

/// A stack for one engine after the other.
pub(crate) struct Aside {
    bytes: usize,
    /// None before the first use, and after a panic.
    stack: Option<DefaultStack>,
}

/// The way from an engine back to whoever started it.
#[derive(Clone, Copy)]
pub(crate) struct Exit(NonNull<Yielder<(), ()>>);

impl Exit {
    /// Gives up everything that runs aside. Does not come back.
    pub(crate) fn leave(self) -> ! {
        // SAFETY: the heap has an exit only while `Aside::run` is in its `work`, on the same
        // thread, and the yielder lives on that stack as long.
        unsafe { self.0.as_ref().suspend(()) }
        unreachable!("nobody returns to what was left");
    }
}

impl Aside {
    pub(crate) fn new(bytes: usize) -> Aside {
        Aside { bytes, stack: None }
    }

    /// What `work` gives; none when it was left at the wall of `heap`, which is empty then.
    ///
    /// # Safety
    ///
    /// Everything of the engine of `heap` is made and dropped in `work`, or forgotten when this gives
    /// none. Whatever `work` has locked or borrowed while the engine may ask for memory is not needed
    /// afterwards.
    pub(crate) unsafe fn run<T>(
        &mut self,
        heap: &Heap,
        work: impl FnOnce() -> T,
    ) -> io::Result<Option<T>> {
        let stack = match self.stack.take() {
            Some(stack) => stack,
            None => DefaultStack::new(self.bytes)?,
        };
        let body = |yielder: &Yielder<(), ()>, ()| {
            let _open = Open::new(heap, Exit(NonNull::from(yielder)));
            work()
        };
        // SAFETY: the coroutine may borrow what lives as long as this call, because it does not
        // outlive it: it returns, panics, or is reset below.
        let mut routine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        let result = match routine.resume(()) {
            CoroutineResult::Return(value) => Some(value),
            CoroutineResult::Yield(()) => {
                // SAFETY: no destructor of the frames is relied on, and nobody uses the engine any
                // more; both as promised by the caller.
                unsafe {
                    routine.force_reset();
                    heap.clear();
                }
                None
            }
        };
        self.stack = Some(routine.into_stack());
        Ok(result)
    }
}

/// The time in which a heap has an exit, also when it ends with a panic.
struct Open<'a>(&'a Heap);

impl<'a> Open<'a> {
    fn new(heap: &'a Heap, exit: Exit) -> Open<'a> {
        heap.set_exit(Some(exit));
        Open(heap)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.set_exit(None);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rquickjs::allocator::Allocator;

    use super::*;

    #[test]
    fn work_comes_back_panics_or_is_left() {
        let mut aside = Aside::new(64 << 10);
        let limit = 1 << 20;
        for _ in 0..100 {
            let heap = Heap::new(limit, crate::Clock::Steps);
            // SAFETY: there is no engine, and nothing is locked.
            let came = unsafe { aside.run(&heap, || 7) };
            assert_eq!(came.unwrap(), Some(7));
            let reached = Cell::new(0);
            let fill = || {
                let mut memory = heap.clone();
                for _ in 0..1000 {
                    assert!(!memory.alloc(100_000).is_null());
                    reached.set(reached.get() + 1);
                }
            };
            // SAFETY: as above.
            let left = unsafe { aside.run(&heap, fill) };
            assert_eq!(left.unwrap(), None);
            assert!((10..100).contains(&reached.get()), "{}", reached.get());
            assert!(!heap.is_over(), "its blocks are gone");
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                // SAFETY: as above.
                unsafe { aside.run(&heap, || panic!("p")) }
            }));
            assert!(panicked.is_err());
            // Nobody is inside: there is nothing to leave.
            let mut memory = heap.clone();
            assert!((0..100).all(|_| !memory.alloc(100_000).is_null()));
        }
    }
}
