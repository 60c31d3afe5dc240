//! The memory of one engine, all of which goes when the engine goes.
//!
//! When memory is out, or a script is stopped at an unlucky moment, the engine may lose count of what
//! refers to an object and never free it. Its own check of that at the end would take the process
//! down and is left out of the build; this takes back what such an object still holds, so that a
//! script cannot make the process grow either. The engine asks for few and large blocks, because
//! it divides small ones itself.

#![expect(unsafe_code, reason = "the engine's interface to an allocator")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr;

use rquickjs::Runtime as Engine;
use rquickjs::allocator::Allocator;

/// A new engine with a heap of its own.
pub(crate) fn engine() -> rquickjs::Result<Engine> {
    Engine::new_with_alloc(Heap {
        newest: ptr::null_mut(),
    })
}

/// Every block that the engine has not freed, in a list.
struct Heap {
    newest: *mut Block,
}

/// What stands before the bytes that the engine is given.
#[repr(C, align(16))]
struct Block {
    newer: *mut Block,
    older: *mut Block,
    /// Bytes of the engine.
    size: usize,
}

fn layout(size: usize) -> Option<Layout> {
    let size = size.checked_add(size_of::<Block>())?;
    Layout::from_size_align(size, align_of::<Block>()).ok()
}

/// SAFETY of the functions below: a block is in the list from its allocation until it is freed, the
/// list is only ever walked with blocks in it, and the engine, which is on one thread at a time, hands
/// back pointers that it got from [`Heap::link`].
impl Heap {
    /// Puts a block in the list and gives the bytes behind it; null stays null.
    unsafe fn link(&mut self, block: *mut Block, size: usize) -> *mut u8 {
        if block.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the block is new and as large as its header and `size` bytes; see above.
        unsafe {
            block.write(Block {
                newer: ptr::null_mut(),
                older: self.newest,
                size,
            });
            if let Some(older) = self.newest.as_mut() {
                older.newer = block;
            }
            self.newest = block;
            block.add(1).cast()
        }
    }

    unsafe fn unlink(&mut self, block: *mut Block) {
        // SAFETY: the block is in the list; see above.
        unsafe {
            let Block { newer, older, .. } = block.read();
            match newer.as_mut() {
                Some(newer) => newer.older = older,
                None => self.newest = older,
            }
            if let Some(older) = older.as_mut() {
                older.newer = newer;
            }
        }
    }

    unsafe fn release(&mut self, block: *mut Block) {
        // SAFETY: the block is in the list and has the layout that it was allocated with.
        unsafe {
            let size = (*block).size;
            self.unlink(block);
            let layout = layout(size).expect("it was allocated");
            dealloc(block.cast(), layout);
        }
    }
}

/// The header before what the engine was given.
unsafe fn block_of(bytes: *mut u8) -> *mut Block {
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "it is a header, which is aligned"
    )]
    // SAFETY: `Heap::link` gave the pointer, right behind a header.
    unsafe {
        bytes.cast::<Block>().sub(1)
    }
}

// SAFETY: what is given has at least the size that was asked for and the alignment of a header,
// which is more than that of `usize`; the size is remembered. See `Heap` for the list.
unsafe impl Allocator for Heap {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        let Some(layout) = layout(size) else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty.
        unsafe { self.link(alloc(layout).cast(), size) }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some((size, layout)) = count
            .checked_mul(size)
            .and_then(|size| Some((size, layout(size)?)))
        else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty.
        unsafe { self.link(alloc_zeroed(layout).cast(), size) }
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the engine hands back what it got.
        unsafe { self.release(block_of(ptr)) }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if ptr.is_null() {
            return self.alloc(new_size);
        }
        let Some(new_layout) = layout(new_size) else {
            return ptr::null_mut();
        };
        // SAFETY: the engine hands back what it got. The block is out of the list while it may
        // move, and back in it, with its old size, when it could not grow.
        unsafe {
            let block = block_of(ptr);
            let size = (*block).size;
            self.unlink(block);
            let layout = layout(size).expect("it was allocated");
            let moved: *mut Block = realloc(block.cast(), layout, new_layout.size()).cast();
            if moved.is_null() {
                self.link(block, size);
                return ptr::null_mut();
            }
            self.link(moved, new_size)
        }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the engine asks about what it got.
        unsafe { (*block_of(ptr)).size }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        while !self.newest.is_null() {
            // SAFETY: what is in the list was not freed, and the engine is gone.
            unsafe { self.release(self.newest) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a heap, the newest first, by the size and the first byte of each.
    fn blocks(heap: &Heap) -> Vec<(usize, u8)> {
        let mut found = Vec::new();
        let mut block = heap.newest;
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
        let mut heap = Heap {
            newest: ptr::null_mut(),
        };
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
        // The last block goes with the heap: Miri and the sanitizer see if it does not.
        assert_eq!(blocks(&heap), [(10, 4)]);
    }
}
