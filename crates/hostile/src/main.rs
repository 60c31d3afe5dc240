//! Hostile clients: attacks on a running server, as code, and what an honest client sees meanwhile.
//!
//! The program starts a server with a small memory limit in a temporary directory, with the flags
//! of an ordinary installation. Honest clients read items and create items, and record every write
//! that the server acknowledged. Each attack of `attacks` runs alone first; then all attacks run at
//! once. At the end the program kills the server and starts it again on the same directory. The
//! server must still have every acknowledged write.
//!
//! Attackers run in a separate process (`orrery-hostile attackers`) with the lowest scheduling
//! priority. Real attackers use their own processors, so the test measures the resources which
//! attackers take from the server, and not the processors which they take from this machine.
//!
//! ```text
//!   orrery-hostile --server target/release/orrery --seconds 60
//!      |-- orrery serve          the server under attack
//!      |-- orrery serve (x 2)    two regions; one is attacked while the other joins it
//!      |-- orrery-hostile attackers    reads its orders from standard input, prints what it met
//!      '-- honest clients        in this process: latencies, acknowledged writes
//! ```
//!
//! The program knows the server only through the protocol, and the memory of the server only
//! through the operating system.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

mod arguments;
mod attack;
mod attackers;
mod attacks;
mod honest;
mod http2;
mod regions;
mod rest;
mod run;
mod server;
mod table;
mod target;
mod world;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(Command::Attackers) => attackers::run().map(|()| true),
        Some(Command::List) => {
            table::print_attacks();
            Ok(true)
        }
        None => run::run(&arguments.options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
