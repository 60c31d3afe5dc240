//! The chores of the workspace, as ordinary Rust: `cargo xtask test` sets up and runs every test.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod bench;
mod console;
mod counts;
mod fuzz;
mod hostile;
mod outcome;
mod steps;
mod summary;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        println!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    match arguments.split_first() {
        Some((command, names)) if command == "test" => test(names),
        Some((command, options)) if command == "bench" => bench::run(options),
        Some((command, options)) if command == "fuzz" => fuzz::run(options),
        Some((command, options)) if command == "hostile" => hostile::run(options),
        Some((command, _)) if command != "help" && command != "--help" => {
            bail!("unknown command `{command}`; try `cargo xtask help`")
        }
        _ => {
            help();
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn test(names: &[String]) -> Result<ExitCode> {
    let chosen = steps::select(names)?;
    let workspace = Workspace::find()?;
    let reports = steps::run(&chosen, &workspace);
    summary::print(&reports);
    Ok(
        if reports.iter().any(|report| report.outcome.is_failure()) {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        },
    )
}

fn help() {
    println!("cargo xtask test [NAME...]    run every test, or only those named:\n");
    for step in steps::STEPS {
        println!("    {:<8} {}", step.name, step.title);
    }
    println!(
        "\ncargo xtask bench [OPTION...]                 measure the release build; --help lists options"
    );
    println!("cargo xtask fuzz [--minutes N] [--seed S]    give mangled input to every parser");
    println!(
        "cargo xtask hostile [--minutes N]           attack the server, and say what that did"
    );
}
