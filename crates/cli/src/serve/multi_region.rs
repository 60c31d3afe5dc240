//! An account with regions: one process, one listener for each region, and one listener for
//! operators.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use orrery_account::{Account, AccountOptions, Availability, Region, RegionOptions, RegionState};
use orrery_server::{Addition, Management, ManagementOptions};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::listener_context::ListenerContext;
use super::peer_regions;
use super::region_servers::RegionServers;
use super::{RUNTIME_END_TIMEOUT, announce, engine_options};
use crate::keys::KeySet;
use crate::on_off::OnOff;
use crate::regions::{
    KeyLocation, ManagementFile, ManagementKey, RegionDirectories, RegionSetting, RegionsSettings,
};
use crate::settings::Settings;
use crate::startup_report::{AccountEndpoint, RegionEndpoint, StartupRegions, StartupReport};
use crate::{endpoint, seed};

/// The number of orders to add a region that may wait at the same time.
const ADDITIONS_MAX: usize = 8;
/// How long a start waits for the account to elect a write region.
const WRITE_REGION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a start waits for the peer regions of other processes.
const PEERS_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_PERIOD: Duration = Duration::from_millis(10);

pub(super) fn serve(
    runtime: Runtime,
    settings: Settings,
    keys: KeySet,
    mut stop: oneshot::Receiver<()>,
) -> Result<()> {
    let Some(regions) = settings.regions.clone() else {
        bail!("there are no regions");
    };
    let layout = RegionDirectories::open(settings.data_location.directory())?;
    let region_settings = layout.with_added(regions.regions.clone())?;
    // All regions of the process share the memory that the setting allows.
    let cache_bytes = settings.cache.0 / region_settings.len() as u64;
    let options = options(&settings, &regions, &layout, &region_settings, cache_bytes);
    let account = match &regions.peers {
        None => {
            // The drivers of the regions are spawned as tasks, so the start needs a runtime.
            let _inside = runtime.enter();
            Account::start(options).context("cannot open the regions of the account")?
        }
        Some(peers) => {
            let started = runtime.block_on(async {
                tokio::select! {
                    // A region that joins may wait for its founder for hours; a signal must end the
                    // wait.
                    started = peer_regions::start(options, peers) => started.map(Some),
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
    let running = RunningAccount {
        account: Arc::clone(&account),
        regions,
        region_settings,
        cache_bytes,
    };
    let served = runtime.block_on(running.run(settings, layout, keys, stop));
    // Requests and drivers get time to end by themselves, before the runtime cancels the rest.
    runtime.block_on(end(&account));
    runtime.shutdown_timeout(RUNTIME_END_TIMEOUT);
    // After the end of the runtime a second owner is a request that still uses the engine; closing
    // the store under this request is not safe.
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
    layout: &RegionDirectories,
    region_settings: &[RegionSetting],
    cache_bytes: u64,
) -> AccountOptions {
    let region = |region: &RegionSetting| RegionOptions {
        name: region.name.clone(),
        engine: engine_options(settings, layout.of(&region.name), cache_bytes),
    };
    AccountOptions {
        level: settings.consistency,
        bound: settings.bound,
        regions: region_settings.iter().map(region).collect(),
        mode: regions.mode(),
        service_managed_failover: regions.service_managed_failover == OnOff::On,
        kept_bytes_max: regions.backlog.map(|size| size.0),
    }
}

struct RunningAccount {
    account: Arc<Account>,
    regions: RegionsSettings,
    region_settings: Vec<RegionSetting>,
    cache_bytes: u64,
}

impl RunningAccount {
    async fn run(
        self,
        settings: Settings,
        layout: RegionDirectories,
        keys: KeySet,
        mut stop: oneshot::Receiver<()>,
    ) -> Result<()> {
        let RunningAccount {
            account,
            regions,
            region_settings,
            cache_bytes,
        } = self;
        let listeners = ListenerContext::load(&settings, keys)?;
        let servers = RegionServers::new(account, settings, listeners, layout, cache_bytes);
        let servers = Arc::new(servers);
        forget_removed(&servers)?;
        let (additions, mut wanted) = mpsc::channel(ADDITIONS_MAX);
        let (management, key) = manage(&servers, &regions, additions).await?;
        if servers.settings.listen.0.ip().is_unspecified() && servers.settings.advertise.is_none() {
            tracing::warn!(
                "clients on other machines are told that regions are at the loopback address; --advertise says where \
                 they are"
            );
        }
        let mut bound = Vec::new();
        // Every listener is bound before the first one serves: an address in use stops the start
        // while no client has been told anything.
        for (index, region) in servers.account.regions().into_iter().enumerate() {
            let setting = region_settings
                .iter()
                .find(|setting| setting.name == region.name());
            let listen = setting.and_then(|setting| setting.listen);
            let server = servers.bind(&region, index, listen).await?;
            bound.push((region.name().to_owned(), server));
        }
        let account_server = servers.bind_account(&regions).await?;
        // Clients connect as soon as the start is announced, so the write region and the seed come
        // first.
        tokio::select! {
            prepared = prepare(&servers) => prepared?,
            _ = &mut stop => return Ok(()),
        }
        let endpoints = bound.iter().enumerate().map(|(index, (name, server))| {
            let endpoint = servers.endpoint(server, index == 0);
            RegionEndpoint {
                name: name.clone(),
                endpoint,
            }
        });
        let started = StartupReport {
            address: bound
                .first()
                .map_or(servers.settings.listen.0, |(_, server)| {
                    server.local_address()
                }),
            advertise: servers.settings.advertise.clone(),
            public_key: servers.listeners.public_key(),
            certificate: servers.listeners.certificate(),
            has_own_certificate: servers.listeners.has_own_certificate(),
            data_location: servers.settings.data_location.clone(),
            durability: servers.settings.durability,
            cache: servers.settings.cache,
            direct: servers.first_direct(),
            regions: Some(StartupRegions {
                account: account_server.as_ref().map(|server| AccountEndpoint {
                    endpoint: servers.endpoint_of(server.local_address(), false),
                    is_chosen: regions.account_listen.is_some(),
                }),
                regions: endpoints.collect(),
                management: management.1,
                key,
            }),
        };
        for (_, server) in bound {
            servers.run(server);
        }
        if let Some(server) = account_server {
            servers.spawn(|shutdown| server.run(shutdown));
        }
        servers.spawn(|shutdown| management.0.run(shutdown));
        announce(&servers.settings, &started);
        let watching = Arc::clone(&servers);
        servers.spawn(|shutdown| async move {
            let listeners = &watching.listeners;
            let watch = async {
                tokio::join!(
                    listeners.watch_keys(&watching.settings.keys),
                    listeners.watch_certificate()
                )
            };
            tokio::select! {
                ((), ()) = watch => {}
                () = shutdown => {}
            }
        });
        let sharing = Arc::clone(&servers);
        servers.spawn(|shutdown| async move {
            let directory = sharing.layout.directory();
            tokio::select! {
                () = sharing.listeners.share_token_secret(&sharing.account, directory) => {}
                () = shutdown => {}
            }
        });
        loop {
            let addition = tokio::select! {
                addition = wanted.recv() => addition,
                _ = &mut stop => break,
            };
            let Some(addition) = addition else { break };
            let adding = Arc::clone(&servers);
            // Copying a region can take long; the loop must keep receiving orders and the stop
            // signal.
            tokio::spawn(async move { adding.add(addition).await });
        }
        servers.end().await;
        // Every listener has ended, so `orrery region` must no longer find this server.
        if let Some(directory) = servers.layout.directory() {
            ManagementFile::remove(directory);
        }
        Ok(())
    }
}

/// Stops the regions and waits until no driver uses them.
async fn end(account: &Account) {
    account.stop();
    let alone = async {
        while !account.is_alone() {
            sleep(POLL_PERIOD).await;
        }
    };
    if timeout(RUNTIME_END_TIMEOUT, alone).await.is_err() {
        tracing::warn!("some regions were still busy and were cut off");
    }
}

/// The listener of operators and its URL, and where its key is.
async fn manage(
    servers: &RegionServers,
    regions: &RegionsSettings,
    additions: mpsc::Sender<Addition>,
) -> Result<((Management, String), KeyLocation)> {
    let directory = servers.layout.directory();
    let key = ManagementKey::load(regions.management_key_file.as_deref(), directory)?;
    let management = Management::bind(ManagementOptions {
        listen: regions.management.0,
        tls: servers.listeners.tls(),
        key: key.secret,
        account: Arc::clone(&servers.account),
        additions,
        governor: servers.listeners.governor(),
    })
    .await?;
    let certificate = servers.listeners.certificate();
    // The management key opens the whole account, so its transport deserves a warning.
    if certificate.is_none() && !management.local_address().ip().is_loopback() {
        tracing::warn!(
            address = %management.local_address(),
            "operators send their key over the network in the clear; use TLS, or --management on a loopback address"
        );
    }
    let url = endpoint::of(certificate.is_some(), management.local_address());
    if let (Some(directory), KeyLocation::File(key_file)) = (directory, &key.location) {
        // `orrery region` may run in another working directory, so both paths are absolute.
        let absolute = |path: &std::path::Path| std::path::absolute(path);
        ManagementFile {
            endpoint: url.clone(),
            key_file: absolute(key_file)?,
            certificate: certificate.as_deref().map(absolute).transpose()?,
        }
        .write(directory)?;
    }
    Ok(((management, url), key.location))
}

/// Forgets an added region that has left the account since, so that the next start does not open
/// it.
fn forget_removed(servers: &RegionServers) -> Result<()> {
    let report = servers.account.report();
    servers.layout.forget(|name| {
        let mut regions = report.regions.iter();
        regions.any(|region| region.name == name && region.state == RegionState::Removed)
    })
}

/// Waits until a region takes writes and loads the seed there, so that clients that connect right
/// after the announcement find both.
async fn prepare(servers: &RegionServers) -> Result<()> {
    let regions = servers.account.regions();
    let is_settled = || {
        let mut regions = regions.iter();
        regions.all(|region| region.availability() != Availability::Returning)
    };
    while !is_settled() {
        // Every region leaves the state `Returning` within seconds, also a region without contact
        // to another.
        sleep(POLL_PERIOD).await;
    }
    if servers.account.has_peers() && servers.settings.seed.is_none() {
        // Operators start machines one after the other, so the processes that form a majority may
        // not run yet. A start that waited for them would block the first process.
        if timeout(PEERS_TIMEOUT, wait_until_begun(&regions))
            .await
            .is_err()
        {
            tracing::warn!(
                "too few other regions are heard of for this one to take its part; it goes on when they are there"
            );
        }
        return Ok(());
    }
    let found = timeout(WRITE_REGION_TIMEOUT, write_region(&regions)).await;
    match (&servers.settings.seed, found) {
        (Some(path), Ok(region)) => seed::load(&region.engine(), path).await?,
        (Some(_), Err(_)) => bail!("no region takes writes, so the seed cannot be loaded"),
        (None, Ok(_)) => {}
        (None, Err(_)) => {
            tracing::warn!("no region takes writes yet; `orrery region list` shows why");
            return Ok(());
        }
    }
    // A region receives the members and the URLs of the account from the write region. Until then
    // its account document lists no region, and a client that read it would know none.
    if !servers.account.has_peers()
        && timeout(WRITE_REGION_TIMEOUT, wait_until_begun(&regions))
            .await
            .is_err()
    {
        tracing::warn!("some regions do not know the others yet; `orrery region list` shows which");
    }
    Ok(())
}

/// Returns when every region of this process is ready for requests.
async fn wait_until_begun(regions: &[Arc<Region>]) {
    while !regions.iter().all(|region| region.is_ready()) {
        sleep(POLL_PERIOD).await;
    }
}

/// Waits for a region that takes writes, and returns this region.
async fn write_region(regions: &[Arc<Region>]) -> Arc<Region> {
    let writes = |region: &&Arc<Region>| {
        // In a multi-write account only the hub creates databases and containers.
        region.check_catalogue_write().is_ok()
    };
    loop {
        if let Some(region) = regions.iter().find(writes) {
            return Arc::clone(region);
        }
        sleep(POLL_PERIOD).await;
    }
}
