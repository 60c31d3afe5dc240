//! Query plans for SDKs: how a client merges, sorts and counts rows, and which EPK ranges it
//! queries.
//!
//! A client that sends a query to several partitions cannot send the user's text: averages of
//! averages are wrong, and sorted pages merge only if every row carries its sort key. So the client
//! first requests a plan with three parts: instructions for the rows (`QueryInfo`), a rewritten
//! query whose rows carry the values for the merge, and the EPK ranges that may contain matching
//! documents. Planning has four steps:
//!
//! 1. `bind` rejects queries without a valid meaning: unknown names and functions, misplaced
//!    clauses.
//! 2. `infer` finds filters that can never hold, and `ranges` derives the possible partition keys from the filter.
//! 3. `rewrite` derives the plan and the rewritten query from the clauses, with one file for each
//!    clause.
//! 4. `features` rejects a plan that the requesting client does not support.
//!
//! All steps are pure functions of the syntax tree and of the container's definition. The crate
//! does not evaluate functions and has no access to documents: the caller supplies the built-in
//! functions as [`BuiltinFunctions`]. The crate performs no I/O and reads no clock.

mod aggregate;
mod bind;
mod error;
mod features;
mod functions;
mod infer;
mod json;
mod limits;
mod plan;
mod ranges;
mod request;
mod rewrite;
mod scope;
mod walk;

pub use aggregate::AggregateKind;
pub use bind::check;
pub use error::{PlanError, Problem, ProblemKind};
pub use features::Features;
pub use functions::{Arity, BuiltinFunctions};
pub use plan::{DistinctType, HybridInfo, QueryInfo, QueryPlan, plan};
pub use ranges::{KeyScope, PlannedRange, ranges};
pub use request::{DistanceFunction, PlanRequest, VectorEmbedding};
