//! Plans for small containers, with statistics that count real entries.

mod container;
mod id_lookup;
mod predicates;
mod properties;
mod rules;
mod usage;
