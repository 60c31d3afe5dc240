//! The load driver alone, with a bare server that is this program started a second time.

use std::io::Write as _;

use clap::{Parser, Subcommand};
use orrery_bench::{BareOptions, Options, run, serve_bare};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(Box<Options>),
    #[command(hide = true)]
    BenchBare(BareOptions),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::BenchBare(options) => serve_bare(options).await,
        Command::Bench(options) => {
            let json = options.json;
            let report = run(*options, None).await?;
            let mut stdout = std::io::stdout();
            if json {
                serde_json::to_writer_pretty(&mut stdout, &report)?;
                writeln!(stdout)?;
            } else {
                write!(stdout, "{report}")?;
            }
            Ok(())
        }
    }
}
