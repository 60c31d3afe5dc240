//! What clients may use of this process: its memory, its connections, its time.
//!
//! There is one governor in a process, whatever the number of its listeners and regions: memory and
//! files are the process's. A client is a credential ([`Client`]); what comes before a credential is
//! known is paid by the connection.

mod limits;
mod shares;

use std::sync::Arc;

use orrery_memory::{MemoryPool, Share};

pub use limits::Limits;
pub(crate) use shares::Client;
use shares::Shares;

/// Clones are handles to the same governor.
#[derive(Clone)]
pub struct Governor(Arc<Inner>);

struct Inner {
    pool: MemoryPool,
    shares: Shares,
}

impl Governor {
    pub fn new(limits: Limits) -> Governor {
        let pool = MemoryPool::new(limits.memory_bytes);
        Governor(Arc::new(Inner {
            shares: Shares::new(&pool),
            pool,
        }))
    }

    /// A client known by its token.
    pub(crate) fn bearer(&self, token: &str) -> Client {
        self.0.shares.bearer(token)
    }

    /// What a client borrows memory through.
    pub(crate) fn share(&self, client: Client) -> Share {
        self.0.shares.of(client)
    }

    pub(crate) fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }
}
