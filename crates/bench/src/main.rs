//! `orrery-bench`: the load driver as a program. Without `--endpoint` it starts a server on a
//! temporary directory and stops this server afterwards.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use orrery_bench::{BareOptions, Options, ServerProgram, run, serve_bare};

/// Measure a server that speaks the protocol of Azure Cosmos DB for NoSQL.
///
/// Without --endpoint a server is started on a temporary directory and stopped afterwards.
#[expect(clippy::doc_markdown, reason = "the help text, read on a terminal")]
#[derive(Parser)]
#[command(name = "orrery-bench", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    #[command(name = orrery_bench::BARE_SUBCOMMAND, hide = true)]
    Bare(BareOptions),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(Command::Bare(options)) => serve_bare(options).await,
        None => measure(arguments.options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(options: Options) -> Result<()> {
    let program = match options.endpoint {
        Some(_) => None,
        None => Some(ServerProgram::find(&options)?),
    };
    let json = options.json;
    let report = run(options, program.as_ref()).await?;
    let text = if json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.to_string()
    };
    let written = io::stdout().write_all(text.as_bytes());
    written.context("cannot write the report")
}
