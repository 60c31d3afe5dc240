//! Counts of the connections of direct mode, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct DirectCounts {
    connections: AtomicU64,
    malformed: AtomicU64,
    without_context: AtomicU64,
}

/// From this many connections without a context on, something is wrong with the certificate.
const WITHOUT_CONTEXT_MANY: u64 = 20;

impl DirectCounts {
    /// Counts a connection whose client has negotiated its context.
    pub(super) fn opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that ends because of a frame that cannot be read.
    pub(super) fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that ends before its context. An SDK that refuses the certificate does
    /// not report it: it connects again and again.
    pub(super) fn ended_without_context(&self) {
        let before = self.without_context.fetch_add(1, Ordering::Relaxed);
        if before + 1 == WITHOUT_CONTEXT_MANY {
            tracing::warn!(
                "clients of direct mode connect and leave at once; do they trust the certificate, and has it the \
                 name of the host that they use?"
            );
        }
    }

    pub(crate) fn figures(&self) -> [(&'static str, &'static str, u64); 3] {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "orrery_direct_connections_total",
                "Connections in direct mode that negotiated their context.",
                get(&self.connections),
            ),
            (
                "orrery_direct_malformed_total",
                "Connections in direct mode that were closed for a frame that cannot be read.",
                get(&self.malformed),
            ),
            (
                "orrery_direct_without_context_total",
                "Connections in direct mode that ended before they negotiated their context.",
                get(&self.without_context),
            ),
        ]
    }
}
