//! The command line: serve, certificate, check, explain, region, shell.
//!
//! Arguments, environment and file become one [`settings::Settings`]; the rest of the program reads
//! no other source. Only this crate prints for people and programs; the crates below print nothing.

mod advertise;
mod args;
mod certificate;
mod check;
mod client_limits;
#[cfg(test)]
mod documentation;
mod durability;
mod endpoint;
mod env_vars;
mod environment;
mod error_output;
mod explain;
mod exposure;
mod file;
mod hint;
mod host_names;
mod key_file;
mod keys;
mod layer;
mod listen;
mod logging;
mod memory;
mod on_off;
mod open_files;
mod private_file;
mod region;
mod regions;
mod secret_file;
mod seed;
mod serve;
mod settings;
mod shutdown;
mod size;
mod startup_report;
mod tls;
mod token_secret;
mod trust;

use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use clap::Parser;
use mimalloc::MiMalloc;
use tokio::runtime::{Builder, Runtime};

use crate::args::{Arguments, Command};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run(Arguments::parse()).unwrap_or_else(|error| {
        error_output::print_error(&error);
        ExitCode::FAILURE
    })
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        None => serve::serve(runtime()?, arguments.serve)?,
        Some(Command::Serve(arguments)) => serve::serve(runtime()?, *arguments)?,
        Some(Command::Certificate(arguments)) => trust::certificate(&arguments)?,
        Some(Command::Check(arguments)) => return check::check(&arguments.directory),
        Some(Command::Explain(arguments)) => {
            runtime()?.block_on(explain::explain(*arguments))?;
        }
        Some(Command::Region(arguments)) => runtime()?.block_on(region::region(*arguments))?,
        Some(Command::Shell(arguments)) => return Ok(orrery_shell::shell(*arguments)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn runtime() -> Result<Runtime> {
    let cores = available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
