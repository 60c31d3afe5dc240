//! Plans for small containers whose statistics are counted from real entries.

mod container;
mod predicates;
mod properties;
mod rules;
mod usage;
