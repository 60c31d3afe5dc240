//! The command line of `orrery region`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::connection::ConnectionArguments;
use crate::listen::Listen;

#[derive(Debug, Args)]
pub(crate) struct RegionArguments {
    #[command(flatten)]
    pub(super) connection: ConnectionArguments,

    /// Print what the server answers, for programs
    #[arg(id = "region-json", long = "json", global = true)]
    pub(super) json: bool,

    #[command(subcommand)]
    pub(super) command: RegionCommand,
}

/// Regions may be written as northeurope or north-europe.
#[derive(Debug, Subcommand)]
pub(super) enum RegionCommand {
    /// Show the regions, what each is and how far behind, and the links between them
    List,

    /// Add a region to the server; it is copied first and listed then
    Add {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,

        /// Address and port to listen on [default: any free port where the first region is]
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: Option<Listen>,
    },

    /// Let a region leave the account
    Remove {
        #[arg(value_name = "REGION")]
        region: String,
    },

    /// Make another region the write region
    Failover(FailoverArguments),

    /// Hold the records of a link back; regions still hear of each other
    Pause(LinkArguments),

    /// End a pause or a cut of a link
    Resume(LinkArguments),

    /// Lose everything that a link should carry
    Cut(LinkArguments),

    /// Let a link take its time
    Delay {
        #[command(flatten)]
        link: LinkArguments,

        /// Milliseconds, one way; 0 ends the delay
        #[arg(value_name = "MS")]
        millis: u64,
    },

    /// Let some records through a paused link
    Step {
        #[command(flatten)]
        link: LinkArguments,

        /// How many
        #[arg(value_name = "RECORDS", default_value_t = 1)]
        records: u64,
    },

    /// Make the certificates by which regions of different processes know each other
    ///
    /// Writes an authority and a directory for each region, for its --peer-identity. With the same directory
    /// certificates for further regions can be made later.
    Certificates {
        /// Directory to write them to
        #[arg(id = "certificates-out", long = "out", value_name = "DIR")]
        out: PathBuf,

        /// A region; once for each
        #[arg(
            id = "certificates-region",
            long = "region",
            value_name = "NAME",
            required = true
        )]
        regions: Vec<String>,
    },

    /// Take a region down, as if its data centre were gone
    Down {
        #[arg(value_name = "REGION")]
        region: String,
    },

    /// Bring a region back
    Up {
        #[arg(value_name = "REGION")]
        region: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct FailoverArguments {
    /// The region that is to take the writes
    #[arg(value_name = "REGION")]
    pub(super) to: String,

    /// Without the region that takes them now, which may be lost
    #[arg(long)]
    pub(super) forced: bool,

    /// Even if writes that were acknowledged at strong or bounded staleness may be missing
    #[arg(long, requires = "forced")]
    pub(super) accept_loss: bool,

    /// A region that is down and leaves the account with it; once for each
    #[arg(long, value_name = "REGION", requires = "forced")]
    pub(super) offline: Vec<String>,
}

/// One direction between two regions.
#[derive(Debug, Args)]
pub(super) struct LinkArguments {
    /// The region that sends, or '*' for each
    #[arg(value_name = "FROM")]
    pub(super) from: String,

    /// The region that receives, or '*' for each
    #[arg(value_name = "TO")]
    pub(super) to: String,
}
