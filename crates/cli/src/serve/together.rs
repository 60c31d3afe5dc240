//! An account with regions: one process, a listener for each of them and one for operators.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use orrery_account::{Account, AccountOptions, Availability, Region, RegionOptions, RegionState};
use orrery_server::{Addition, Management, ManagementOptions};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::among;
use super::fleet::Fleet;
use super::front::Front;
use super::{RUNTIME_END_TIMEOUT, announce, engine_options};
use crate::keys::KeySet;
use crate::on_off::OnOff;
use crate::regions::{
    KeyPlace, Layout, ManagementFile, ManagementKey, RegionSetting, RegionsSettings,
};
use crate::settings::Settings;
use crate::started::{AccountEndpoint, RegionEndpoint, Started, StartedRegions};
use crate::{endpoint, seed};

/// Operators who may wait at once for regions to be added.
const ADDITIONS_MAX: usize = 8;
/// For an account to find out who takes its writes.
const WRITE_REGION_TIMEOUT: Duration = Duration::from_secs(10);
/// For a region whose others are in processes of their own to hear of them.
const PEERS_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub(super) fn serve(
    runtime: Runtime,
    settings: Settings,
    keys: KeySet,
    mut stop: oneshot::Receiver<()>,
) -> Result<()> {
    let Some(regions) = settings.regions.clone() else {
        bail!("there are no regions");
    };
    let layout = Layout::open(settings.place.directory())?;
    let named = layout.with_added(regions.regions.clone())?;
    let cache_bytes = settings.cache.0 / named.len() as u64;
    let options = options(&settings, &regions, &layout, &named, cache_bytes);
    let account = match &regions.peers {
        None => {
            let _inside = runtime.enter();
            Account::start(options).context("cannot open the regions of the account")?
        }
        Some(peers) => {
            let started = runtime.block_on(async {
                tokio::select! {
                    started = among::start(options, peers) => started.map(Some),
                    _ = &mut stop => Ok(None),
                }
            });
            match started? {
                Some(account) => account,
                None => return Ok(()),
            }
        }
    };
    let account = Arc::new(account);
    let running = Running {
        account: Arc::clone(&account),
        regions,
        named,
        cache_bytes,
    };
    let served = runtime.block_on(running.run(settings, layout, keys, stop));
    runtime.block_on(end(&account));
    runtime.shutdown_timeout(RUNTIME_END_TIMEOUT);
    let closed = match Arc::into_inner(account) {
        Some(account) => account.close().context("cannot close the regions"),
        None => Err(anyhow::anyhow!(
            "the regions could not be closed: a request still uses them"
        )),
    };
    served.and(closed)
}

fn options(
    settings: &Settings,
    regions: &RegionsSettings,
    layout: &Layout,
    named: &[RegionSetting],
    cache_bytes: u64,
) -> AccountOptions {
    let region = |region: &RegionSetting| RegionOptions {
        name: region.name.clone(),
        engine: engine_options(settings, layout.of(&region.name), cache_bytes),
    };
    AccountOptions {
        level: settings.consistency,
        bound: settings.bound,
        regions: named.iter().map(region).collect(),
        multi_write: regions.multi_write,
        per_partition_failover: regions.per_partition_failover,
        service_managed_failover: regions.service_managed_failover == OnOff::On,
        kept_bytes_max: regions.backlog.map(|size| size.0),
    }
}

struct Running {
    account: Arc<Account>,
    regions: RegionsSettings,
    named: Vec<RegionSetting>,
    cache_bytes: u64,
}

impl Running {
    async fn run(
        self,
        settings: Settings,
        layout: Layout,
        keys: KeySet,
        mut stop: oneshot::Receiver<()>,
    ) -> Result<()> {
        let Running {
            account,
            regions,
            named,
            cache_bytes,
        } = self;
        let front = Front::load(&settings, keys)?;
        let fleet = Fleet::new(account, settings, front, layout, cache_bytes);
        let fleet = Arc::new(fleet);
        forget_removed(&fleet)?;
        let (additions, mut wanted) = mpsc::channel(ADDITIONS_MAX);
        let (management, key) = manage(&fleet, &regions, additions).await?;
        if fleet.settings.listen.0.ip().is_unspecified() && fleet.settings.advertise.is_none() {
            tracing::warn!(
                "clients on other machines are told that regions are at the loopback address; --advertise says where \
                 they are"
            );
        }
        let mut servers = Vec::new();
        for (place, region) in fleet.account.regions().into_iter().enumerate() {
            let setting = named.iter().find(|setting| setting.name == region.name());
            let listen = setting.and_then(|setting| setting.listen);
            let server = fleet.bind(&region, place, listen).await?;
            servers.push((region.name().to_owned(), server));
        }
        let account_server = fleet.bind_account(&regions).await?;
        tokio::select! {
            prepared = prepare(&fleet) => prepared?,
            _ = &mut stop => return Ok(()),
        }
        let endpoints = servers.iter().enumerate().map(|(place, (name, server))| {
            let endpoint = fleet.endpoint(server, place == 0);
            RegionEndpoint {
                name: name.clone(),
                endpoint,
            }
        });
        let started = Started {
            address: servers
                .first()
                .map_or(fleet.settings.listen.0, |(_, server)| {
                    server.local_address()
                }),
            advertise: fleet.settings.advertise.clone(),
            public_key: fleet.front.public_key(),
            certificate: fleet.front.certificate(),
            place: fleet.settings.place.clone(),
            durability: fleet.settings.durability,
            regions: Some(StartedRegions {
                account: account_server.as_ref().map(|server| AccountEndpoint {
                    endpoint: fleet.endpoint_of(server.local_address(), false),
                    is_chosen: regions.account_listen.is_some(),
                }),
                regions: endpoints.collect(),
                management: management.1,
                key,
            }),
        };
        for (_, server) in servers {
            fleet.run(server);
        }
        if let Some(server) = account_server {
            fleet.spawn(|ended| server.run(ended));
        }
        fleet.spawn(|ended| management.0.run(ended));
        announce(&fleet.settings, &started);
        let watching = Arc::clone(&fleet);
        fleet.spawn(|ended| async move {
            let front = &watching.front;
            let watch = async {
                tokio::join!(
                    front.watch_keys(&watching.settings.keys),
                    front.watch_certificate()
                )
            };
            tokio::select! {
                ((), ()) = watch => {}
                () = ended => {}
            }
        });
        let sharing = Arc::clone(&fleet);
        fleet.spawn(|ended| async move {
            let directory = sharing.layout.directory();
            tokio::select! {
                () = sharing.front.share_token_secret(&sharing.account, directory) => {}
                () = ended => {}
            }
        });
        loop {
            let addition = tokio::select! {
                addition = wanted.recv() => addition,
                _ = &mut stop => break,
            };
            let Some(addition) = addition else { break };
            let adding = Arc::clone(&fleet);
            tokio::spawn(async move { adding.add(addition).await });
        }
        fleet.end().await;
        if let Some(directory) = fleet.layout.directory() {
            ManagementFile::remove(directory);
        }
        Ok(())
    }
}

/// Lets the regions finish what they are doing.
async fn end(account: &Account) {
    account.stop();
    let alone = async {
        while !account.is_alone() {
            sleep(LOOK_AGAIN).await;
        }
    };
    if timeout(RUNTIME_END_TIMEOUT, alone).await.is_err() {
        tracing::warn!("some regions were still busy and were cut off");
    }
}

/// The listener of operators and its URL, and where its key is.
async fn manage(
    fleet: &Fleet,
    regions: &RegionsSettings,
    additions: mpsc::Sender<Addition>,
) -> Result<((Management, String), KeyPlace)> {
    let directory = fleet.layout.directory();
    let key = ManagementKey::load(regions.management_key_file.as_deref(), directory)?;
    let management = Management::bind(ManagementOptions {
        listen: regions.management.0,
        tls: fleet.front.tls(),
        key: key.secret,
        account: Arc::clone(&fleet.account),
        additions,
        governor: fleet.front.governor(),
    })
    .await?;
    let certificate = fleet.front.certificate();
    if certificate.is_none() && !management.local_address().ip().is_loopback() {
        tracing::warn!(
            address = %management.local_address(),
            "operators send their key over the network in the clear; use TLS, or --management on a loopback address"
        );
    }
    let url = endpoint::of(certificate.is_some(), management.local_address());
    if let (Some(directory), KeyPlace::File(key_file)) = (directory, &key.place) {
        let absolute = |path: &std::path::Path| std::path::absolute(path);
        ManagementFile {
            endpoint: url.clone(),
            key_file: absolute(key_file)?,
            certificate: certificate.as_deref().map(absolute).transpose()?,
        }
        .write(directory)?;
    }
    Ok(((management, url), key.place))
}

/// A region that was added and has left again is not opened at the next start.
fn forget_removed(fleet: &Fleet) -> Result<()> {
    let report = fleet.account.report();
    fleet.layout.forget(|name| {
        let mut regions = report.regions.iter();
        regions.any(|region| region.name == name && region.state == RegionState::Removed)
    })
}

/// Clients that come as soon as they are told find a region for their writes, and the seed in it.
async fn prepare(fleet: &Fleet) -> Result<()> {
    let regions = fleet.account.regions();
    let is_settled = || {
        let mut regions = regions.iter();
        regions.all(|region| region.availability() != Availability::Returning)
    };
    while !is_settled() {
        // It ends in seconds, also for a region that hears of no other.
        sleep(LOOK_AGAIN).await;
    }
    if fleet.account.has_peers() && fleet.settings.seed.is_none() {
        // Machines are started one after the other: those that are needed may not run yet.
        if timeout(PEERS_TIMEOUT, begun(&regions)).await.is_err() {
            tracing::warn!(
                "too few other regions are heard of for this one to take its part; it goes on when they are there"
            );
        }
        return Ok(());
    }
    let found = timeout(WRITE_REGION_TIMEOUT, write_region(&regions)).await;
    match (&fleet.settings.seed, found) {
        (Some(path), Ok(region)) => seed::load(&region.engine(), path).await,
        (Some(_), Err(_)) => bail!("no region takes writes, so the seed cannot be loaded"),
        (None, Ok(_)) => Ok(()),
        (None, Err(_)) => {
            tracing::warn!("no region takes writes yet; `orrery region list` shows why");
            Ok(())
        }
    }
}

/// Returns when the regions do what clients will send to them.
async fn begun(regions: &[Arc<Region>]) {
    while !regions.iter().all(|region| region.has_begun()) {
        sleep(LOOK_AGAIN).await;
    }
}

/// The region that takes writes, as soon as there is one.
async fn write_region(regions: &[Arc<Region>]) -> Arc<Region> {
    let writes = |region: &&Arc<Region>| {
        // Where every region writes, one of them makes databases and containers.
        region.check_catalogue_write().is_ok()
    };
    loop {
        if let Some(region) = regions.iter().find(writes) {
            return Arc::clone(region);
        }
        sleep(LOOK_AGAIN).await;
    }
}
