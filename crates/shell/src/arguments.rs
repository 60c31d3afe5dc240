//! The command line of the shell.

use std::path::PathBuf;

use clap::Args;
use orrery_client::TrustArguments;

use crate::connection::ConnectionString;
use crate::output::Format;

#[derive(Debug, Args)]
pub struct ShellArguments {
    /// Connection string, or only the address of an account [default: the local server]
    ///
    /// AccountEndpoint=https://host:port/;AccountKey=...; as the portal shows it. The environment variable
    /// ORRERY_CONNECTION does the same and does not show in the list of processes. An address without a key is
    /// used with ORRERY_KEY or the public key of the emulator.
    #[expect(clippy::doc_markdown, reason = "the help text, read on a terminal")]
    #[arg(long, short, value_name = "TEXT", conflicts_with = "profile")]
    pub(crate) connection: Option<ConnectionString>,

    /// Use a named account of the file of profiles
    #[arg(long, short, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// File of profiles [default: orrery/shell.toml in the user's configuration]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) trust: TrustArguments,

    /// Database to begin with
    #[arg(long, short, value_name = "NAME")]
    pub(crate) database: Option<String>,

    /// Container to begin with
    #[arg(long, short = 'n', value_name = "NAME", requires = "database")]
    pub(crate) container: Option<String>,

    /// How rows are shown [default: table]
    #[arg(long, short = 'o', value_enum)]
    pub(crate) format: Option<Format>,

    /// Run these statements and leave; once for each
    #[arg(long, short, value_name = "STATEMENTS", conflicts_with = "file")]
    pub(crate) execute: Vec<String>,

    /// Run a script and leave; without a file or a terminal it is read from standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Continue a script after an error; the exit status still reports the error
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Keep no history of this shell
    #[arg(long)]
    pub(crate) no_history: bool,
}
