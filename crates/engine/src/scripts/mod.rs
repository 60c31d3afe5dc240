//! Server-side JavaScript: registered scripts, and their runs as transactions.
//!
//! A run reads one snapshot of its logical partition and overlays its own writes, on a thread of
//! the script runtime ([`host`]). It produces one record or none. Runs on the same logical
//! partition queue behind each other ([`queue`]). Other writers do not wait for scripts; a run that
//! such a writer overtook is repeated ([`attempts`]).

mod attempts;
mod blocklist;
mod charge_estimates;
mod charge_limit;
mod conflict_resolution;
mod container_scripts;
mod execute;
mod failure;
mod function_threads;
mod functions;
mod host;
mod queue;
mod registration;
mod triggers;

pub(crate) use blocklist::ScriptBlocklist;
pub(crate) use charge_estimates::ChargeEstimates;
pub use container_scripts::ContainerScripts;
pub use execute::{ProcedureRequest, ProcedureResponse};
pub(crate) use function_threads::FunctionThreads;
pub(crate) use queue::ScriptQueue;
pub use registration::NewScript;
pub use triggers::{TriggerNames, TriggeredOutcome};
