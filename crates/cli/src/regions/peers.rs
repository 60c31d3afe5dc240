//! The settings of a process whose peer regions run in other processes.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::{PeerSetting, RegionSetting};
use crate::listen::Listen;
use crate::settings::{DataLocation, NamedLayer, Settings, first};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeersSettings {
    pub(crate) peers: Vec<PeerSetting>,
    /// Where this region listens for its peers.
    pub(crate) listen: Listen,
    /// The directory with the certificate of this region.
    pub(crate) identity: PathBuf,
    /// Whether another process founds the account.
    pub(crate) joins: bool,
}

/// Resolves the settings of peers. None where no source names a peer.
pub(super) fn resolve(sources: &[NamedLayer]) -> Result<Option<PeersSettings>> {
    let peers = first(sources, |layer| layer.peer.as_ref()).unwrap_or_default();
    let listen = first(sources, |layer| layer.peer_listen.as_ref());
    let identity = first(sources, |layer| layer.peer_identity.as_ref());
    let joins = first(sources, |layer| layer.join.as_ref()).unwrap_or(false);
    if peers.is_empty() {
        // A peer setting without peers would be ignored silently, and the region would found an
        // account alone.
        if listen.is_some() || identity.is_some() || joins {
            bail!(
                "--peer-listen, --peer-identity and --join are for a region whose others are in processes of their \
                 own; name these with --peer NAME=HOST:PORT"
            );
        }
        return Ok(None);
    }
    let Some(listen) = listen else {
        bail!("--peer needs --peer-listen ADDRESS:PORT, where the other regions reach this one");
    };
    let Some(identity) = identity else {
        bail!(
            "--peer needs --peer-identity DIR, the certificate of this region; `orrery region certificates` makes one \
             for each region"
        );
    };
    // Slugs are compared, because two spellings of one name share a data directory.
    for (index, peer) in peers.iter().enumerate() {
        if peers[..index]
            .iter()
            .any(|other| other.slug() == peer.slug())
        {
            bail!("the peer '{}' is named twice", peer.name);
        }
    }
    Ok(Some(PeersSettings {
        peers,
        listen,
        identity,
        joins,
    }))
}

impl PeersSettings {
    /// Refuses settings that peers cannot have: more than one region in the process, and a store in
    /// memory. A region that forgets its log after a restart would break the acknowledgements that
    /// its peers rely on.
    pub(super) fn check(&self, settings: &Settings, regions: &[RegionSetting]) -> Result<()> {
        let [region] = regions else {
            bail!(
                "with --peer a process has exactly one --region, and there are {}; start a process for each region",
                regions.len()
            );
        };
        if self.peers.iter().any(|peer| peer.slug() == region.slug()) {
            bail!("'{}' is both this region and a peer", region.name);
        }
        if settings.data_location == DataLocation::Memory {
            bail!(
                "a region among other processes needs a data directory: it must not forget what it told them"
            );
        }
        Ok(())
    }
}
