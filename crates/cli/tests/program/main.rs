//! The program as a user runs it.

mod explain;
mod process;
mod serve;
