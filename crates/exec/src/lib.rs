//! Evaluates queries: scalar expressions, built-in functions, joins, groups, orders and pages.
//!
//! A query is compiled once: to a [`PreparedQuery`] that receives parameter values later, or with
//! its values to a [`Program`]. Each [`Page`] of a program takes the documents of a scope and
//! returns rows, together with a [`Continuation`] for the next page. The compiler refuses features
//! that are not implemented by name; they never give a wrong answer. This crate knows no
//! partitions, indexes or protocol; it does no I/O and reads no clock.

mod aggregate;
mod compile;
mod compile_options;
mod computed;
mod condition;
mod constant;
mod context;
mod continuation;
mod distinct_hash;
mod error;
mod exec_error;
mod filter;
mod frame;
mod functions;
mod grouping;
mod groups;
mod ledger;
mod order;
mod order_bound;
mod page;
mod parameters;
mod planner_info;
mod position;
mod predicate;
mod program;
mod projection;
mod query_block;
mod reads;
mod resume_filter;
mod sargable;
mod scalar;
mod scope;
mod top_rows;

mod operator;
mod prepared_query;
mod row_source;
mod skip_take;
mod sort_key;
mod text_bytes;
mod user_functions;
mod walk;

pub use compile_options::CompileOptions;
pub use computed::ComputedProperties;
pub use condition::{Condition, compile_condition};
pub use constant::ConstantQuery;
pub use context::PAGE_MEMORY_BYTES_MAX;
pub use continuation::Continuation;
pub use distinct_hash::DistinctHash;
pub use error::CompileError;
pub use exec_error::ExecError;
pub use filter::FilterQuery;
pub use functions::{evaluate_function, function_arity};
pub use order_bound::{OrderBound, OrderKeyHint};
pub use page::{Flow, InputDocument, Page, PageLease, PageLimits, PageResult, PageWork, ResultRow};
pub use planner_info::{OrderTerm, ResultShape};
pub use position::PositionKey;
pub use predicate::{
    DocumentPath, PathStep, Predicate, SargableFilter, SpatialRelation, ValueRange, ValueType,
};
pub use prepared_query::PreparedQuery;
pub use program::Program;
pub use user_functions::{UserFunctionError, UserFunctions};
