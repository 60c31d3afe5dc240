//! Whole queries over a scope of documents: rows, pages and refusals.

mod aggregates;
mod clauses;
mod computed;
mod differential;
mod distinct;
mod group_by;
mod limits;
mod order_by;
mod paging;
mod recorded;
mod refusals;
mod resume;
mod resume_filter;
mod subqueries;
mod support;
