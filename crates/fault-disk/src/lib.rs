//! A disk in memory with the failures of a real disk, for tests and simulations of the log.
//!
//! Every failure follows from a call of the test or from a seed, so a run can be repeated. The crate
//! knows files and sectors, and no record of the log.

mod disk;
mod random;

pub use disk::{Fault, FaultDisk};
pub use random::Random;
