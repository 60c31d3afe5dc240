//! Whole queries over a scope of documents: rows, pages and refusals.

mod aggregates;
mod clauses;
mod computed;
mod differential;
mod distinct;
mod group_by;
mod limits;
mod memory;
mod order_by;
mod ordered_input;
mod paging;
mod planning;
mod recorded;
mod refusals;
mod resume;
mod resume_filter;
mod sargable;
mod sargable_random;
mod subqueries;
mod support;
mod timing;
mod user_functions;
