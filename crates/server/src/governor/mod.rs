//! What clients may use of this process: its memory, its connections, its time.
//!
//! There is one governor in a process, whatever the number of its listeners and regions: memory and
//! files are the process's. A client is a credential ([`Client`]); what comes before a credential is
//! known is paid by the connection.

mod clock;
mod connection;
mod counts;
mod limits;
mod register;
mod rules;
mod shares;
mod socket;

use std::sync::Arc;

use orrery_memory::{MemoryPool, Share};

use clock::Clock;
pub(crate) use connection::{Connection, Open};
pub(crate) use counts::Counts;
pub use limits::Limits;
pub(crate) use limits::STALL_RATE;
pub(crate) use register::{Admitted, Register};
pub(crate) use rules::Reason;
pub(crate) use shares::Client;
use shares::Shares;
pub(crate) use socket::Socket;

/// Connections of the management listener at one time. They are counted apart from those of
/// clients, so that an operator can connect when clients have taken all of their places.
const OPERATORS_MAX: usize = 64;

/// Clones are handles to the same governor.
#[derive(Clone)]
pub struct Governor(Arc<Inner>);

struct Inner {
    limits: Arc<Limits>,
    pool: MemoryPool,
    shares: Shares,
    clients: Arc<Register>,
    operators: Arc<Register>,
}

impl Governor {
    pub fn new(limits: Limits) -> Governor {
        let pool = MemoryPool::new(limits.memory_bytes);
        let limits = Arc::new(limits);
        let clock = Arc::new(Clock::new());
        let register = |connections| {
            let register = Register::new(&limits, connections, &clock, pool.share());
            Arc::new(register)
        };
        Governor(Arc::new(Inner {
            clients: register(limits.connections),
            operators: register(OPERATORS_MAX),
            shares: Shares::new(&pool),
            limits: Arc::clone(&limits),
            pool,
        }))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The connections of clients, whichever region they came to.
    pub(crate) fn clients(&self) -> &Arc<Register> {
        &self.0.clients
    }

    pub(crate) fn operators(&self) -> &Arc<Register> {
        &self.0.operators
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
