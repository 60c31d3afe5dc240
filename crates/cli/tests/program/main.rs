//! The program as a user runs it.

mod explain;
mod fan_out;
mod follow;
mod integrity;
mod many_containers;
mod process;
mod regions;
mod serve;
mod shell;
#[cfg(unix)]
mod shell_terminal;
#[cfg(unix)]
mod terminal;
