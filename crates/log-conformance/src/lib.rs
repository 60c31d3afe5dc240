//! The contract of `CommitLog`, as a random run beside a model: every implementation must pass it.
//!
//! A run appends, syncs, trims, restarts and crashes a log, while the environment of the log refuses
//! or delays some calls. After each step the run compares the log with the list of records that the
//! log has accepted:
//!
//! - An accepted batch gets the next positions, without a gap, and nothing else gets positions.
//! - A refused batch (`Busy`, `NotOwner`, `Throttled`, `NotWritten`) leaves the log as it was.
//! - After any other error the log accepts nothing until it is opened again.
//! - `durable` never moves back, and no crash loses a durable record or invents one.
//! - What was committed once stays committed, and everything before it is committed.
//! - A trim removes nothing that the caller still needs.
//!
//! A failure panics and names the seed, which repeats the run.

mod run;

pub use orrery_fault_disk::Random;
pub use run::{Subject, Survivors, check};
