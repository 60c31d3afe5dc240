//! How `orrery region` finds the server and its key.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use orrery_client::{Endpoint, ManagementClient, TrustArguments};

use crate::env_vars;
use crate::keys::KeyText;
use crate::regions::{ManagementFile, read_management_key};

const DATA_DEFAULT: &str = "./orrery-data";

// Clap adds global arguments to the parent commands too, where the plain field names are taken; so
// each argument has an id of its own.
#[derive(Debug, Args)]
pub(super) struct ConnectionArguments {
    /// Where the server hears operators, as it says at its start [default: what is in the data directory]
    #[arg(
        id = "region-management",
        long = "management",
        value_name = "URL",
        global = true,
        env = env_vars::MANAGEMENT_URL
    )]
    management: Option<Endpoint>,

    /// File with the key of operators [default: what is in the data directory]
    #[arg(
        id = "region-management-key-file",
        long = "management-key-file",
        value_name = "FILE",
        global = true,
        env = env_vars::MANAGEMENT_KEY_FILE
    )]
    management_key_file: Option<PathBuf>,

    /// The key of operators, of a server in memory
    #[arg(
        id = "region-management-key",
        long = "management-key",
        // A key is random text and may begin with a hyphen.
        allow_hyphen_values = true,
        value_name = "KEY",
        global = true,
        env = env_vars::MANAGEMENT_KEY,
        hide_env_values = true,
        conflicts_with = "region-management-key-file"
    )]
    management_key: Option<KeyText>,

    /// Data directory of the server [default: ./orrery-data]
    #[arg(id = "region-data", long = "data", value_name = "DIR", global = true, env = env_vars::DATA)]
    data: Option<PathBuf>,

    /// The certificate of the server as a PEM file
    #[arg(
        id = "region-certificate",
        long = "certificate",
        value_name = "FILE",
        global = true,
        conflicts_with = "region-insecure"
    )]
    certificate: Option<PathBuf>,

    /// Accept any certificate
    #[arg(id = "region-insecure", long = "insecure", global = true)]
    insecure: bool,
}

impl ConnectionArguments {
    /// The client for the operators' listener. Flags win over the file in the data directory.
    pub(super) fn operator(self) -> Result<ManagementClient> {
        let key = match (self.management_key, &self.management_key_file) {
            (Some(key), _) => Some(key.into_text()),
            (None, Some(path)) => Some(read_management_key(path)?),
            (None, None) => None,
        };
        let (endpoint, key, found) = match (self.management, key) {
            // The file in the data directory is read only where a flag is missing: a server on
            // another machine has no data directory here.
            (Some(endpoint), Some(key)) => (endpoint, key, None),
            (endpoint, key) => {
                let data = self.data.unwrap_or_else(|| DATA_DEFAULT.into());
                let file = ManagementFile::read(&data)?;
                let endpoint = endpoint.map_or_else(|| parsed(&file.endpoint), Ok)?;
                let key = key.map_or_else(|| read_management_key(&file.key_file), Ok)?;
                (endpoint, key, file.certificate)
            }
        };
        // With --insecure a certificate from the data directory must not switch verification on
        // again.
        let certificate = self.certificate.or(found.filter(|_| !self.insecure));
        let trust = TrustArguments::new(certificate, self.insecure);
        Ok(ManagementClient::new(endpoint, key, trust))
    }
}

fn parsed(url: &str) -> Result<Endpoint> {
    url.parse().map_err(|error| anyhow!("{url}: {error}"))
}
