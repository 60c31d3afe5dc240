//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "orrery-hostile",
    about = "Attacks a server and says what it did"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Prints the attacks
    List,
    /// Attacks as standard input says; the program starts itself this way
    #[command(hide = true)]
    Attackers,
}

#[derive(Args)]
pub(crate) struct Options {
    /// The program that is attacked
    #[arg(long, default_value = "target/release/orrery")]
    pub(crate) server: PathBuf,

    /// Seconds that all attacks run at once
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,

    /// Seconds that each attack runs alone; 0 leaves these runs out
    #[arg(long, default_value_t = 5)]
    pub(crate) alone_seconds: u64,

    /// Connections that all attacks open together when they run at once
    #[arg(long, default_value_t = 3_000)]
    pub(crate) connections: usize,

    /// Memory account of the server, in MiB
    #[arg(long, default_value_t = 1_024)]
    pub(crate) memory_mib: u64,

    /// Only attacks whose name contains this
    #[arg(long)]
    pub(crate) only: Option<String>,

    /// Directory for the data of the server; a temporary one by default
    #[arg(long)]
    pub(crate) data_dir: Option<PathBuf>,

    /// How many times slower honest reads may become while all attacks run
    #[arg(long, default_value_t = 3.0)]
    pub(crate) slower_max: f64,

    /// Prints latencies, but does not fail because of them
    #[arg(long)]
    pub(crate) without_latency: bool,
}
