//! The program as a user runs it.

#[cfg(unix)]
mod certificate;
#[path = "../crash/client.rs"]
#[expect(clippy::unwrap_used, reason = "what fails here fails the test")]
mod client;
mod explain;
mod fan_out;
mod follow;
mod formats;
#[cfg(target_os = "linux")]
mod greedy;
mod integrity;
mod many_containers;
mod process;
mod regions;
mod safety;
mod serve;
mod shell;
#[cfg(unix)]
mod shell_terminal;
#[cfg(unix)]
mod terminal;
