//! Activity ids for requests without one: distinct GUIDs that need no entropy for each request.

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct ActivityIds {
    // The number of this server, from entropy.
    node: u64,
    counter: AtomicU64,
}

impl ActivityIds {
    pub(crate) fn new() -> ActivityIds {
        let mut seed = [0; 16];
        // Ids must differ between servers; without entropy ids of one server still differ from each
        // other.
        let _ = getrandom::fill(&mut seed);
        let [node, counter] =
            [0, 8].map(|at| u64::from_le_bytes(seed[at..at + 8].try_into().expect("eight bytes")));
        ActivityIds {
            node,
            counter: AtomicU64::new(counter),
        }
    }

    /// A GUID of version 4. Its node part is the number of the server, and the rest is the counter.
    pub(crate) fn next(&self) -> String {
        let counter = self
            .counter
            // The odd step visits every number once before one repeats.
            .fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = counter ^ (counter >> 31);
        let (a, b) = (mixed >> 32, mixed & 0xFFFF_FFFF);
        let (c, d) = ((self.node >> 48) & 0x0FFF, self.node & 0xFFFF_FFFF_FFFF);
        format!(
            "{a:08x}-{:04x}-4{c:03x}-8{:03x}-{d:012x}",
            b >> 16,
            b & 0x0FFF
        )
    }

    /// A number for a resource token. No two calls return the same number.
    pub(crate) fn nonce(&self) -> u64 {
        self.node
            ^ self
                .counter
                .fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}
