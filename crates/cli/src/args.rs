//! The command line as it was typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use orrery_shell::ShellArguments;

use crate::explain::ExplainArguments;
use crate::layer::Layer;
use crate::region::RegionArguments;
use crate::trust::CertificateArguments;

/// An open document database that speaks the protocol of Azure Cosmos DB for NoSQL.
///
/// Without a command it serves: `orrery` is `orrery serve`.
#[expect(clippy::doc_markdown, reason = "the help text, read on a terminal")]
#[derive(Debug, Parser)]
#[command(
    name = "orrery",
    version,
    args_conflicts_with_subcommands = true,
    after_help = AFTER_HELP
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

const AFTER_HELP: &str = "\
Every option of serve can also be an environment variable (ORRERY_LISTEN for --listen) or a line of the \
file named by --config (listen = \"8081\"). The flag wins, then the environment, then the file.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server
    #[command(after_help = AFTER_HELP)]
    Serve(Box<ServeArguments>),

    /// Make programs accept the certificate of a server
    ///
    /// A server with --tls auto makes its certificate itself. `trust` adds this certificate to the
    /// certificates that programs of this user accept, prints each change that it made, and prints
    /// how to undo the changes.
    Certificate(CertificateArguments),

    /// Verify the data directory of a stopped server
    ///
    /// Reads the log and every stored document, of each region if there are several. Exits with 0
    /// for a sound directory, with 1 for problems, and with 2 for a directory that cannot be
    /// opened.
    Check(CheckArguments),

    /// Run a query and show how its rows were found
    ///
    /// The query runs on the server like the query of any client. The output has the steps of the
    /// query plan, with the rows and charges that the planner expected and those that the run took.
    Explain(Box<ExplainArguments>),

    /// Look at the regions of a running server and give it orders
    ///
    /// The server is found by its data directory, or named with --management and its key.
    Region(Box<RegionArguments>),

    /// Talk to any account in SQL and commands
    ///
    /// On a terminal with completion and history; else the statements are read from standard input, and the exit
    /// status is 1 if one of them failed.
    Shell(Box<ShellArguments>),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArguments {
    /// Read options from a TOML file; its keys are the names of the flags
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Start although the log has lost durable records, and print which records; for this start only
    #[arg(long)]
    pub(crate) accept_loss: bool,

    #[command(flatten)]
    pub(crate) layer: Layer,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The data directory, as given to --data
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serving_needs_no_command() {
        let plain = Arguments::try_parse_from(["orrery", "--memory", "--listen", "0"]).unwrap();
        assert!(plain.command.is_none());
        assert_eq!(plain.serve.layer.memory, Some(true));
        let named = Arguments::try_parse_from(["orrery", "serve", "--memory"]).unwrap();
        let Some(Command::Serve(serve)) = named.command else {
            panic!("not serve")
        };
        assert_eq!(serve.layer.memory, Some(true));
    }

    #[test]
    fn orders_to_regions_name_the_server_anywhere() {
        let server = [
            "--management=http://h:1",
            "--management-key=k",
            "--data=d",
            "--json",
        ];
        for (before, after) in [(&server[..], &[][..]), (&[], &server)] {
            for order in [
                &["list"][..],
                &["add", "East Asia", "--listen=1"],
                &["remove", "a"],
                &["failover", "a", "--forced", "--accept-loss", "--offline=b"],
                &["pause", "a", "*"],
                &["resume", "*", "*"],
                &["cut", "a", "b"],
                &["delay", "a", "b", "50"],
                &["step", "a", "b"],
                &["step", "a", "b", "3"],
                &["down", "a"],
                &["up", "a"],
                &["certificates", "--out=d", "--region=a", "--region=b"],
            ] {
                let line = [&["orrery", "region"], before, order, after].concat();
                let parsed = Arguments::try_parse_from(&line);
                let parsed = parsed.unwrap_or_else(|error| panic!("{line:?}: {error}"));
                assert!(matches!(parsed.command, Some(Command::Region(_))));
            }
        }
        for wrong in [
            &["failover", "a", "--accept-loss"][..],
            &["delay", "a", "b"],
            &["certificates", "--out=d"],
            &["certificates", "--region=a"],
            &[],
        ] {
            let line = [&["orrery", "region"], wrong].concat();
            assert!(Arguments::try_parse_from(&line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_management_key_may_begin_with_a_hyphen() {
        let line = ["orrery", "region", "--management-key", "-o9x", "list"];
        Arguments::try_parse_from(line).unwrap();
    }

    #[test]
    fn a_refused_value_is_explained_and_a_key_is_not_repeated() {
        let error = |arguments: &[&str]| {
            Arguments::try_parse_from(arguments)
                .unwrap_err()
                .to_string()
        };
        assert!(error(&["orrery", "--cache", "x"]).contains("256MB"));
        assert!(error(&["orrery", "--data", "d", "--memory"]).contains("cannot be used with"));
        let parsed = Arguments::try_parse_from(["orrery", "--key", "not base64"]).unwrap();
        assert!(!format!("{parsed:?}").contains("not base64"));
    }
}
