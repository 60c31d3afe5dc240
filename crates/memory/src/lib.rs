//! The memory that clients use: one pool of bytes for the process, from which every request borrows.
//!
//! A client can make a server hold bodies, answers, the values of a query, the values of a script. A
//! caller that is about to hold such bytes borrows them from the pool first, through the [`Share`] of
//! the client that asked for the work; dropping the [`Loan`] gives the bytes back. The pool hands out
//! numbers and no memory: nothing here stops a caller that allocates without a loan.
//!
//! # How much one client may hold
//!
//! One client may hold at most as many bytes as the pool has free. One greedy client gets half of the
//! pool, two get a third each, and there is always a part left for the next client, whoever that is.
//! The pool need not know in advance how many clients come, and it stops no client to make room for
//! another.
//!
//! ```text
//!   one client      [ client 1              |  free                 ]
//!   two clients     [ client 1     | client 2       |  free         ]
//!   three clients   [ client 1 | client 2  | client 3   |  free     ]
//! ```
//!
//! A loan costs two atomic additions, and two when it ends. A loop that needs many small pieces borrows
//! a larger piece now and then and counts within it.
//!
//! The pool does not know clients or requests, nor what a caller uses the bytes for.

mod exhausted;
mod loan;
mod pool;
mod share;

pub use exhausted::Exhausted;
pub use loan::Loan;
pub use pool::MemoryPool;
pub use share::Share;
