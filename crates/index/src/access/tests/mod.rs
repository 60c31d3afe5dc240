//! Plans for small containers whose statistics are counted from real entries.

mod container;
mod named;
mod predicates;
mod properties;
mod rules;
mod usage;
