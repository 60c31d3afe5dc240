//! Runs an engine on a separate stack, so that its thread can abandon it.
//!
//! An engine that has reached the hard limit of its heap cannot continue and cannot be told so: it
//! does not survive failing allocations, and nothing may unwind through its frames. So its frames
//! stay on a stack that is never resumed. The code that started the engine continues as if the
//! engine had returned, frees its heap as a whole and uses the stack again.
//!
//! Memory that these frames and the engine own outside of the heap is lost: some kilobytes, as long
//! as the starter owns everything large. Only hostile scripts get this far; others are stopped
//! earlier by the limit of the heap.

#![expect(unsafe_code, reason = "frames are given up without unwinding")]

use std::io;
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::heap::Heap;

/// A stack that serves one engine after another.
pub(crate) struct Fiber {
    bytes: usize,
    /// `None` before the first use, and after a panic.
    stack: Option<DefaultStack>,
}

/// The way out of an engine, back to the code that started the engine.
#[derive(Clone, Copy)]
pub(crate) struct FiberExit(NonNull<Yielder<(), ()>>);

impl FiberExit {
    /// Abandons everything that runs on the fiber. This call does not return.
    pub(crate) fn abandon(self) -> ! {
        // SAFETY: the heap has an exit only while `Fiber::run` is in its `work`, on the same
        // thread, and the yielder lives on that stack as long.
        unsafe { self.0.as_ref().suspend(()) }
        unreachable!("nobody returns to what was left");
    }
}

impl Fiber {
    pub(crate) fn new(bytes: usize) -> Fiber {
        Fiber { bytes, stack: None }
    }

    /// Runs `work` on the fiber; `None` if the thread abandoned it at the hard limit of `heap`. The
    /// heap is empty then.
    ///
    /// # Safety
    ///
    /// All parts of the engine of `heap` are created and dropped inside of `work`, or the caller
    /// forgets them when this returns `None`. No lock or borrow that `work` holds while the engine
    /// may allocate is needed afterwards.
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
            let _open = ExitGuard::new(heap, FiberExit(NonNull::from(yielder)));
            work()
        };
        // SAFETY: the coroutine may borrow what lives as long as this call, because it does not
        // outlive it: it returns, panics, or is reset below.
        let mut routine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        let result = match routine.resume(()) {
            CoroutineResult::Return(value) => Some(value),
            CoroutineResult::Yield(()) => {
                // SAFETY: no code relies on a destructor of these frames or uses the engine
                // afterwards; the caller promises both.
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

/// The time during which a heap has an exit. The drop ends it also after a panic.
struct ExitGuard<'a>(&'a Heap);

impl<'a> ExitGuard<'a> {
    fn new(heap: &'a Heap, exit: FiberExit) -> ExitGuard<'a> {
        heap.set_exit(Some(exit));
        ExitGuard(heap)
    }
}

impl Drop for ExitGuard<'_> {
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
    fn work_returns_panics_or_is_abandoned() {
        let mut fiber = Fiber::new(64 << 10);
        let limit = 1 << 20;
        for _ in 0..100 {
            let heap = Heap::new(limit, crate::Clock::Steps);
            // SAFETY: the test uses no engine and holds no lock.
            let came = unsafe { fiber.run(&heap, || 7) };
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
            let left = unsafe { fiber.run(&heap, fill) };
            assert_eq!(left.unwrap(), None);
            assert!((10..100).contains(&reached.get()), "{}", reached.get());
            assert!(!heap.is_above_limit(), "its blocks are gone");
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                // SAFETY: as above.
                unsafe { fiber.run(&heap, || panic!("p")) }
            }));
            assert!(panicked.is_err());
            // Outside of a fiber the heap has no exit.
            let mut memory = heap.clone();
            assert!((0..100).all(|_| !memory.alloc(100_000).is_null()));
        }
    }
}
