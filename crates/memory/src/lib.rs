//! The memory that clients use: one pool of bytes for the process, from which every request borrows.
//!
//! A client can make a server hold bodies, answers, the values of a query, the values of a script.
//! Whoever is about to hold such bytes borrows them from the pool first, through the [`Share`] of the
//! client that asked for the work, and gives them back when the [`Loan`] is dropped. The pool hands out
//! numbers and no memory: who allocates without a loan is not stopped by anything here.
//!
//! # How much one client may hold
//!
//! A client may hold at most as many bytes as nobody holds. One greedy client gets half of the pool,
//! two get a third each, and there is always a part left for the next client, whoever that is. Nobody
//! has to say in advance how many clients there are, and no client is stopped to make room.
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
//! What it does not know: clients, requests, and what the bytes are for.

mod exhausted;
mod loan;
mod pool;
mod share;

pub use exhausted::Exhausted;
pub use loan::Loan;
pub use pool::MemoryPool;
pub use share::Share;
