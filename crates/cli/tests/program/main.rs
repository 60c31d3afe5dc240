//! The program as a user runs it.

mod explain;
mod many_containers;
mod process;
mod serve;
