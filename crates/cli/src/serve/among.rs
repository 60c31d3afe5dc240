//! An account whose regions are in processes of their own: the part of it that connects them.

use anyhow::{Context, Result};
use orrery_account::{Account, AccountOptions, PeerIdentity, Peers};
use tokio::net::TcpListener;

use crate::regions::PeersSettings;

/// Waits, in a region that joins, for the process that founds the account.
pub(super) async fn start(options: AccountOptions, peers: &PeersSettings) -> Result<Account> {
    let identity = PeerIdentity::load(&peers.identity).context(
        "cannot use the certificate of --peer-identity; `orrery region certificates` makes one",
    )?;
    let listen = TcpListener::bind(peers.listen.0)
        .await
        .with_context(|| format!("cannot listen on {} for other regions", peers.listen))?;
    tracing::info!(address = %listen.local_addr()?, joins = peers.joins, "other regions are heard here");
    let account = account_name(&options);
    let regions = peers.peers.iter();
    let peers = Peers {
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

/// What the authority of the certificates does not tell apart, and must be the same in all processes:
/// those that differ in it refuse each other and say why.
fn account_name(options: &AccountOptions) -> String {
    let writes = if options.multi_write {
        "in every region"
    } else if options.per_partition_failover {
        "in one region for each partition"
    } else {
        "in one region"
    };
    format!("consistency {}, writes {writes}", options.level.name())
}
