//! The connections of an account whose regions run in processes of their own.

use std::path::Path;

use anyhow::{Context, Result};
use orrery_account::{Account, AccountMode, AccountOptions, PeerIdentity, PeerOptions};
use tokio::net::TcpListener;

use crate::regions::PeersSettings;
use crate::secret_file;

/// Opens the region of this process. A region that joins waits for the process that founds the
/// account.
pub(super) async fn start(options: AccountOptions, peers: &PeersSettings) -> Result<Account> {
    let identity = identity(&peers.identity).context(
        "cannot use the certificate of --peer-identity; `orrery region certificates` makes one",
    )?;
    // The listener exists before the account starts, because peers connect during the start.
    let listen = TcpListener::bind(peers.listen.0)
        .await
        .with_context(|| format!("cannot listen on {} for other regions", peers.listen))?;
    tracing::info!(address = %listen.local_addr()?, joins = peers.joins, "other regions are heard here");
    let account = account_name(&options);
    let regions = peers.peers.iter();
    let peers = PeerOptions {
        account,
        listen,
        identity,
        regions: regions
            .map(|peer| (peer.name.clone(), peer.address.clone()))
            .collect(),
        joins: peers.joins,
    };
    let started = Account::start_among(options, peers).await;
    started.context("cannot open the region of this process")
}

fn identity(directory: &Path) -> Result<PeerIdentity> {
    let key = directory.join(PeerIdentity::KEY_FILE);
    let named = || format!("cannot use {}", key.display());
    secret_file::read(&key).with_context(named)?;
    secret_file::warn_of_readers(&key);
    Ok(PeerIdentity::load(directory)?)
}

/// The settings that every process of an account must share and that the certificate authority does
/// not prove. Processes with different settings refuse each other and report the difference.
fn account_name(options: &AccountOptions) -> String {
    let writes = match options.mode {
        AccountMode::EveryRegionWrites => "in every region",
        AccountMode::ByOwner => "in one region for each partition",
        AccountMode::OneRegionWrites => "in one region",
    };
    format!("consistency {}, writes {writes}", options.level.name())
}
