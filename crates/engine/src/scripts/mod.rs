//! Server-side JavaScript: registered scripts, and runs of them as transactions.
//!
//! A run is one snapshot of its logical partition with its own writes above it, on a thread of the
//! script runtime ([`host`]). It ends as one record or none. Runs on the same logical partition
//! queue behind each other ([`turns`]); other writers do not wait for them, and a run that one of
//! them overtook is run again ([`runs`]).

mod allowance;
mod execute;
mod failure;
mod functions;
mod host;
mod offenders;
mod registered;
mod registration;
mod reservations;
mod runs;
mod settling;
mod triggers;
mod turns;

pub use execute::{Executed, ProcedureRequest};
pub(crate) use offenders::Offenders;
pub use registered::ContainerScripts;
pub use registration::NewScript;
pub(crate) use reservations::Reservations;
pub use triggers::{Triggers, Written};
pub(crate) use turns::Turns;
