//! The words of `orrery certificate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct CertificateArguments {
    #[command(subcommand)]
    pub(super) order: TrustCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(super) enum TrustCommand {
    /// Make programs of this user accept the certificate of a server
    Trust(TrustOptions),

    /// Take back what `trust` did
    Untrust(TrustOptions),
}

#[derive(Debug, Clone, Args)]
pub(super) struct TrustOptions {
    /// The certificate as a PEM file; `orrery serve` says at its start where it is [default: certificate.pem in DIR]
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub(super) certificate: Option<PathBuf>,

    /// The data directory of the server
    #[arg(long, value_name = "DIR", default_value = "orrery-data")]
    pub(super) data: PathBuf,

    /// Change the store of the whole system too, which every user trusts; the system asks for its administrator
    #[arg(long)]
    pub(super) system: bool,
}
