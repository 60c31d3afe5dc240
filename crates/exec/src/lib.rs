//! Evaluates queries: scalar expressions, built-in functions, joins, groups, orders and pages.
//!
//! A query is compiled once, to a [`Template`] that is given the values of its parameters or with
//! them, to a [`Program`]. Each [`Page`] of it is fed
//! with the documents of a scope and gives rows, and a [`Resume`] for the page after it. What is
//! not implemented is refused when compiling, by name; it never gives a wrong answer. This crate
//! knows nothing of partitions, indexes or the protocol; it does no I/O and holds no clock.

mod aggregate;
mod block;
mod compile;
mod compile_options;
mod computed;
mod condition;
mod constant;
mod context;
mod distinct_hash;
mod error;
mod exec_error;
mod filter;
mod frame;
mod functions;
mod grouping;
mod groups;
mod ledger;
mod narrow;
mod order;
mod order_bound;
mod page;
mod parameters;
mod position;
mod predicate;
mod prefix;
mod program;
mod projection;
mod reads;
mod resume;
mod resume_filter;
mod scalar;
mod scope;
mod shape;

mod sort_key;
mod source;
mod stage;
mod template;
mod text_bytes;
mod user_functions;
mod walk;
mod window;

pub use compile_options::CompileOptions;
pub use computed::ComputedProperties;
pub use condition::{Condition, compile_condition};
pub use constant::ConstantQuery;
pub use context::PAGE_MEMORY_BYTES_MAX;
pub use distinct_hash::DistinctHash;
pub use error::CompileError;
pub use exec_error::ExecError;
pub use filter::FilterQuery;
pub use functions::{evaluate_function, function_arity};
pub use order_bound::{OrderBound, OrderKeyHint};
pub use page::{Document, Finished, Flow, HeldMemory, Page, PageLimits, Row, Work};
pub use predicate::{
    DocumentPath, Narrowing, PathStep, Predicate, SpatialRelation, ValueRange, ValueType,
};
pub use program::Program;
pub use resume::Resume;
pub use shape::{OrderTerm, Shape};
pub use template::Template;
pub use user_functions::{FunctionError, Functions};
