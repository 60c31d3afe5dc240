//! Query plans that SDKs ask for: what a client must merge, sort and count, and which ranges it asks.
//!
//! A client that fans a query out over partitions cannot send the user's text to each of them:
//! averages of averages are wrong, and sorted pages merge only if every row brings its sort key.
//! So it asks for a plan first, and gets three things: what to do with the rows (`QueryInfo`), a
//! text to send in place of the user's, whose rows carry what the merge needs, and the ranges of
//! partition keys where matching documents can be. One query goes through these steps:
//!
//! 1. `bind` refuses what has no meaning: unknown names and functions, misplaced clauses.
//! 2. `ranges` reads the filter for what it says about the partition key.
//! 3. `rewrite` turns the clauses into the plan and the new text, one file for each clause.
//! 4. `features` refuses a plan that the asking client could not carry out.
//!
//! Everything here is a pure function of the syntax tree and of the container's definition. The
//! crate does not evaluate functions and knows no documents: what it needs of the built-in
//! functions is given to it as [`Functions`]. It does no I/O and holds no clock.

mod aggregate;
mod bind;
mod error;
mod features;
mod functions;
mod json;
mod limits;
mod plan;
mod ranges;
mod request;
mod rewrite;
mod scope;
mod walk;

pub use aggregate::Aggregate;
pub use bind::check;
pub use error::{PlanError, Problem, ProblemKind};
pub use features::Features;
pub use functions::{Arity, Functions};
pub use plan::{Distinct, HybridInfo, QueryInfo, QueryPlan, plan};
pub use ranges::{PlannedRange, RangeKey, ranges};
pub use request::{DistanceFunction, PlanRequest, VectorEmbedding};
