//! Hostile clients: attacks on a running server, as code, and what an honest client sees meanwhile.
//!
//! The program starts a server in a directory of its own, as a user would start it, with a small
//! memory account. Honest clients read items and create items, and note every write that the server
//! acknowledged. Then the attacks of `attacks` run one after the other, and at last all at once. After
//! that the server is killed and started again, and every acknowledged write must be there.
//!
//! Attackers live in a process of their own (`orrery-hostile attackers`) with the lowest priority, because
//! real ones bring their own processors: what is measured is what they take from the server, not what
//! they take from the machine.
//!
//! ```text
//!   orrery-hostile --server target/release/orrery --seconds 60
//!      |-- orrery serve          the server under attack
//!      |-- orrery serve (x 2)    two regions; one is attacked while the other joins it
//!      |-- orrery-hostile attackers    reads its orders from standard input, prints what it met
//!      '-- honest clients        in this process: latencies, acknowledged writes
//! ```
//!
//! Nothing here knows the server but through the protocol and its memory as the system tells it.

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
