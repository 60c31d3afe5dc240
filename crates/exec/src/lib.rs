//! Evaluates queries: scalar expressions, built-in functions, filters and projections.
//!
//! A query is compiled once, against its parameters, and then applied to documents. What is not
//! implemented is refused when compiling, by name; it never gives a wrong answer. This crate
//! knows nothing of partitions, pages or the protocol; it does no I/O and holds no clock.

mod compile;
mod condition;
mod constant;
mod error;
mod filter;
mod functions;
mod projection;
mod required;
mod scalar;

pub use condition::{Condition, compile_condition};
pub use constant::ConstantQuery;
pub use error::CompileError;
pub use filter::FilterQuery;
