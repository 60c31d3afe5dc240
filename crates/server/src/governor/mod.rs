//! What clients may use of this process: memory, connections, time.
//!
//! A process has one governor, whatever the number of its listeners and regions: memory and files
//! belong to the process. A client is a credential ([`ClientIdentity`]); before its credential is
//! known, the connection pays for its memory.

mod clock;
mod connection;
mod counts;
mod limits;
mod low_priority;
mod register;
mod rules;
mod shares;
mod socket;

use std::sync::{Arc, OnceLock};

use orrery_memory::{MemoryPool, MemoryShare};

use clock::Clock;
pub(crate) use connection::{Connection, OpenRequest};
pub(crate) use counts::Counts;
pub use limits::Limits;
pub(crate) use limits::STALL_RATE;
pub(crate) use low_priority::LowPriorityThreads;
pub(crate) use register::{AdmittedConnection, Register};
pub(crate) use rules::Reason;
pub(crate) use shares::ClientIdentity;
use shares::Shares;
pub(crate) use socket::Socket;

/// The connection limit of the management listener. It is separate from the limit of clients, so
/// that operators can connect when clients have used up their connections.
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
    /// Started by the first listener of clients.
    low_priority: OnceLock<LowPriorityThreads>,
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
            // A process without a listener of clients, such as a test, starts no such threads.
            low_priority: OnceLock::new(),
            shares: Shares::new(&pool),
            limits: Arc::clone(&limits),
            pool,
        }))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The connections of clients to all regions of the process.
    pub(crate) fn clients(&self) -> &Arc<Register> {
        &self.0.clients
    }

    /// The connections of operators.
    pub(crate) fn operators(&self) -> &Arc<Register> {
        &self.0.operators
    }

    /// Threads for connections on which no key of the account has been shown.
    pub(crate) fn low_priority_threads(&self) -> &LowPriorityThreads {
        self.0.low_priority.get_or_init(LowPriorityThreads::start)
    }

    /// The client that a token identifies.
    pub(crate) fn bearer(&self, token: &str) -> ClientIdentity {
        self.0.shares.bearer(token)
    }

    /// The share through which a client borrows memory.
    pub(crate) fn share(&self, client: ClientIdentity) -> MemoryShare {
        self.0.shares.of(client)
    }

    pub(crate) fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }
}
