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

        /// Where every region writes: without asking it, because it is lost
        #[arg(long)]
        forced: bool,
    },

    /// Make another region the write region, of everything or of one partition
    Failover(FailoverArguments),

    /// Hold back the records of a link; the regions still exchange heartbeats over the link
    Pause(LinkArguments),

    /// End a pause or a cut of a link
    Resume(LinkArguments),

    /// Lose everything that a link should carry
    Cut(LinkArguments),

    /// Let a link take its time
    Delay {
        #[command(flatten)]
        link: LinkArguments,

        /// Milliseconds, one way, or with a unit (80ms, 2s); 0 ends the delay
        #[arg(value_name = "MS", value_parser = milliseconds)]
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

    /// Take a region down, as if its data centre failed, or take down one partition of the region
    Down(DownArguments),

    /// Bring a region, or one of its partitions, back
    Up(DownArguments),
}

#[derive(Debug, Args)]
pub(super) struct FailoverArguments {
    /// The region that becomes the write region
    #[arg(value_name = "REGION")]
    pub(super) to: String,

    /// Fail over without the present write region, whose records may be lost
    #[arg(long)]
    pub(super) forced: bool,

    /// Even if writes that were acknowledged at strong or bounded staleness may be missing
    #[arg(long, requires = "forced")]
    pub(super) accept_loss: bool,

    /// A region that is down and that leaves the account in the failover; once for each
    #[arg(long, value_name = "REGION", requires = "forced")]
    pub(super) offline: Vec<String>,

    /// Move only the writes of one partition, in an account with per-partition failover
    #[arg(long, value_name = "dbs/D/colls/C/ranges/ID", conflicts_with_all = ["accept_loss", "offline"])]
    pub(super) partition: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct DownArguments {
    #[arg(value_name = "REGION")]
    pub(super) region: String,

    /// Only one partition of the region, in an account with per-partition failover
    #[arg(long, value_name = "dbs/D/colls/C/ranges/ID")]
    pub(super) partition: Option<String>,
}

/// One direction of the link between two regions.
#[derive(Debug, Args)]
pub(super) struct LinkArguments {
    /// The sending region, or '*' for each region
    #[arg(value_name = "FROM")]
    pub(super) from: String,

    /// The receiving region, or '*' for each region
    #[arg(value_name = "TO")]
    pub(super) to: String,
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => text
            .strip_suffix('s')
            .map_or((text, 1), |number| (number, 1_000)),
    };
    let number = number.trim().parse::<u64>().ok();
    let millis = number.and_then(|number| number.checked_mul(factor));
    millis.ok_or_else(|| "write milliseconds, as 80, or 80ms, or seconds, as 2s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_a_unit() {
        for (text, expected) in [
            ("0", Some(0)),
            ("80", Some(80)),
            ("80ms", Some(80)),
            ("2s", Some(2_000)),
            ("2 s", Some(2_000)),
            ("", None),
            ("ms", None),
            ("1.5s", None),
            ("-1", None),
            ("18446744073709551615s", None),
        ] {
            assert_eq!(milliseconds(text).ok(), expected, "{text}");
        }
    }
}
