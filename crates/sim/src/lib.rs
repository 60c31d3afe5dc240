//! One simulated world: a store and its log on one thread, from one seed, down to a faulty disk.
//!
//! ```text
//!   seed -> World -> transactions -> Store --steps--> log -> FaultDisk (loses, tears, fills, fails)
//!             |                        '---batches--> state in memory, saved now and then
//!             '-> Ledger: every transaction in order, with its answer
//!
//!   crash: the disk keeps what it synced and parts of the rest; the state falls back to any batch
//!          since its last save; the store opens again; the ledger judges what it finds
//! ```
//!
//! No thread, no clock and no file of the machine takes part, so a seed repeats its run exactly. The
//! crate knows no query, no region and no protocol yet: their turn comes with the parts that can be
//! taken in steps.

mod fault;
mod ledger;
mod world;

pub use fault::PlantedBug;
pub use ledger::Violation;
pub use world::{Report, World};
