//! Memory accounting: one pool of bytes for the process, from which every request of a client
//! borrows.
//!
//! Request bodies, responses, the values of a query and the values of a script occupy server memory
//! on behalf of a client. A caller that is about to allocate such bytes first borrows them from the
//! pool, through the [`MemoryShare`] of the client that sent the request. Dropping the [`Loan`]
//! returns the bytes. The pool counts bytes and allocates no memory: it cannot stop a caller that
//! allocates without a loan.
//!
//! # How much one client may hold
//!
//! The limit of one client equals the number of bytes that the pool has free. One greedy client
//! gets half of the pool and two get a third each, so the next client always finds free bytes. The
//! pool does not need the number of clients in advance, and it revokes no loan of one client in
//! favour of another.
//!
//! ```text
//!   one client      [ client 1              |  free                 ]
//!   two clients     [ client 1     | client 2       |  free         ]
//!   three clients   [ client 1 | client 2  | client 3   |  free     ]
//! ```
//!
//! A loan costs two atomic additions, and two more when it ends. A loop that needs many small
//! pieces borrows larger pieces and subdivides them itself.
//!
//! The pool has no notion of clients or requests, nor of the purpose of the bytes.

mod error;
mod loan;
mod pool;
mod share;

pub use error::LoanError;
pub use loan::Loan;
pub use pool::MemoryPool;
pub use share::MemoryShare;
