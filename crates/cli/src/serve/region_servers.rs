//! The listeners of an account with regions: one listener for each region, also for regions that an
//! operator adds while the process runs.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use orrery_account::{Account, ControlError, Region, RegionOptions, RegionState};
use orrery_server::{AccountServer, AccountServerHandle, Addition, Server};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::engine_options;
use super::listener_context::ListenerContext;
use crate::endpoint;
use crate::listen::Listen;
use crate::regions::{RegionDirectories, RegionSetting, RegionsSettings, check_name, slug};
use crate::settings::Settings;
use crate::startup_report::DirectEndpoint;

/// Becomes ready when the process shuts down.
pub(super) type ShutdownSignal = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct RegionServers {
    pub(super) account: Arc<Account>,
    pub(super) settings: Settings,
    pub(super) listeners: ListenerContext,
    pub(super) layout: RegionDirectories,
    /// Bytes of the cache of each region.
    cache_bytes: u64,
    /// The server that answers for the whole account, with every region of this process.
    account_server: OnceLock<AccountServerHandle>,
    /// Where the first region has its listener for direct mode.
    first_direct: OnceLock<Option<DirectEndpoint>>,
    /// Slugs of the regions that an order is adding now. One order at a time may add a region.
    adding: Mutex<BTreeSet<String>>,
    tasks: Mutex<JoinSet<()>>,
    end: watch::Sender<bool>,
}

impl RegionServers {
    pub(super) fn new(
        account: Arc<Account>,
        settings: Settings,
        listeners: ListenerContext,
        layout: RegionDirectories,
        cache_bytes: u64,
    ) -> RegionServers {
        RegionServers {
            account,
            settings,
            listeners,
            layout,
            cache_bytes,
            account_server: OnceLock::new(),
            first_direct: OnceLock::new(),
            adding: Mutex::default(),
            tasks: Mutex::default(),
            end: watch::Sender::new(false),
        }
    }

    /// Binds the server of a region of the settings. The server does not accept connections before
    /// `run`.
    pub(super) async fn bind(
        &self,
        region: &Arc<Region>,
        index: usize,
        listen: Option<Listen>,
    ) -> Result<Server> {
        let address = if index == 0 {
            self.settings.listen.0
        } else {
            self.address(listen.map(|listen| listen.0))
        };
        let name = region.name().to_owned();
        let listener = self.reserve(address).await;
        let listener = listener.with_context(|| format!("in region '{name}'"))?;
        let mut server = self.server(listener, region, index == 0)?;
        let place = u16::try_from(index).ok();
        let direct = self.listeners.listen_direct(&mut server, place).await;
        let direct = direct.with_context(|| format!("in region '{name}'"))?;
        if index == 0 {
            // This function runs once for each region, so the cell is empty.
            let _ = self.first_direct.set(direct);
        }
        Ok(server)
    }

    /// Where clients in direct mode connect to the first region.
    pub(super) fn first_direct(&self) -> Option<DirectEndpoint> {
        self.first_direct.get().cloned().flatten()
    }

    /// Binds the server of the account as a whole, which does not accept connections before `run`.
    /// A process with one of several regions already has the address of its region, so it has an
    /// account address only if the settings name one.
    pub(super) async fn bind_account(
        &self,
        regions: &RegionsSettings,
    ) -> Result<Option<AccountServer>> {
        let given = regions.account_listen;
        if given.is_none() && regions.peers.is_some() {
            return Ok(None);
        }
        let address = self.address(given.map(|listen| listen.0));
        let listener = self.reserve(address).await;
        let listener = listener.context("for the account as a whole")?;
        let server = AccountServer::on(
            listener,
            self.listeners.tls().as_ref(),
            self.listeners.governor(),
        )?;
        // Recorded before the first connection, so that new keys are checked against this address
        // too.
        self.listeners.listens_on(server.local_address());
        // This function runs once, so the cell is empty.
        let _ = self.account_server.set(server.handle());
        Ok(Some(server))
    }

    /// Serves a region until the process shuts down.
    pub(super) fn run(&self, server: Server) {
        // The server receives changed keys from here on, so this call precedes the first
        // connection.
        self.listeners.enlist(&server);
        if let Some(account) = self.account_server.get() {
            account.add(&server);
        }
        self.spawn(|shutdown| server.run(shutdown));
    }

    /// Runs a task that ends when the process shuts down.
    pub(super) fn spawn<F>(&self, task: impl FnOnce(ShutdownSignal) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(shutdown_signal(self.end.subscribe()));
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spawn(task);
    }

    /// Tells every task to end, and waits until all open requests have finished.
    pub(super) async fn end(&self) {
        self.end.send_replace(true);
        // The lock is not held across the wait: `spawn` takes the same lock.
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    /// Answers an operator who adds a region.
    pub(super) async fn add(&self, addition: Addition) {
        let Addition {
            name,
            listen,
            reply,
        } = addition;
        let added = match AdditionGuard::begin(&self.adding, &name) {
            Some(_adding) => self.try_add(&name, listen).await,
            None => Err(ControlError::Refused(format!(
                "region '{name}' is being added already; it is listed when it was copied"
            ))),
        };
        if let Ok(endpoint) = &added {
            tracing::info!(region = name, endpoint, "a region was added");
        }
        // The operator may have disconnected; the region is in the list of regions all the same.
        let _ = reply.send(added);
    }

    async fn try_add(
        &self,
        name: &str,
        listen: Option<SocketAddr>,
    ) -> Result<String, ControlError> {
        check_name(name).map_err(ControlError::Refused)?;
        let setting = RegionSetting {
            name: name.to_owned(),
            listen: listen.map(Listen),
        };
        let known = self.account.report().regions;
        let mut known = known
            .iter()
            // A region whose copy did not finish (`Joining`) may be added again.
            .filter(|known| !matches!(known.state, RegionState::Removed | RegionState::Joining));
        if known.any(|known| slug(&known.name) == setting.slug()) {
            return Err(ControlError::Refused(format!(
                "the account has a region '{name}' already"
            )));
        }
        if self.account.has_peers() {
            return self.add_peer(name, listen).await;
        }
        // The address is taken first: copying the data is long, and an address in use must not
        // waste it.
        let reserved = self.reserve(self.address(listen)).await;
        let listener = reserved.map_err(|error| ControlError::Refused(error.to_string()))?;
        let options = RegionOptions {
            name: name.to_owned(),
            engine: engine_options(&self.settings, self.layout.of(name), self.cache_bytes),
        };
        let region = self.account.add(options).await?;
        let server = self.server(listener, &region, false);
        let mut server = server.map_err(|error| failed(&error))?;
        let direct = self.listeners.listen_direct(&mut server, None).await;
        direct.map_err(|error| failed(&error))?;
        let endpoint = self.endpoint(&server, false);
        self.run(server);
        // The region is remembered last, so that a restart opens no region that was not copied
        // whole.
        self.layout.add(&setting).map_err(|error| failed(&error))?;
        Ok(endpoint)
    }

    /// Adds a region that runs in a process of its own. The settings of this process must name that
    /// process as a peer, and that process must have started with --join.
    async fn add_peer(
        &self,
        name: &str,
        listen: Option<SocketAddr>,
    ) -> Result<String, ControlError> {
        let regions = self.settings.regions.as_ref();
        let peers = regions.and_then(|regions| regions.peers.as_ref());
        let mut peers = peers.iter().flat_map(|peers| &peers.peers);
        if listen.is_some() || !peers.any(|peer| peer.name == name) {
            return Err(ControlError::Refused(format!(
                "a region has a process of its own here: start all processes with --peer {name}=HOST:PORT, that of \
                 '{name}' with --join, and add it then without --listen"
            )));
        }
        self.account.add_peer(name).await?;
        let endpoint = self.account.report().regions.into_iter();
        let mut endpoint = endpoint.filter(|region| region.name == name);
        let endpoint = endpoint.find_map(|region| region.endpoint);
        Ok(endpoint.unwrap_or_else(|| "an address that it has not told yet".to_owned()))
    }

    fn server(
        &self,
        listener: TcpListener,
        region: &Arc<Region>,
        is_first: bool,
    ) -> Result<Server> {
        let address = listener.local_addr()?;
        let options = self
            .listeners
            .options(address, None, Arc::downgrade(&self.account));
        let server = Server::on(listener, Arc::clone(region), options)?;
        // The region must know its endpoint before it is listed, because clients follow the list.
        region.set_endpoint(&self.endpoint(&server, is_first));
        Ok(server)
    }

    pub(super) fn endpoint(&self, server: &Server, is_first: bool) -> String {
        self.endpoint_of(server.local_address(), is_first)
    }

    pub(super) fn endpoint_of(&self, address: SocketAddr, is_first: bool) -> String {
        let advertise = self.settings.advertise.as_ref();
        let tls = self.listeners.certificate().is_some();
        endpoint::of_region(is_first, advertise, tls, address)
    }

    /// Binds `address` after a check that the server may listen there with its account keys.
    async fn reserve(&self, address: SocketAddr) -> Result<TcpListener> {
        self.listeners.check_exposure(address)?;
        Ok(Server::reserve(address).await?)
    }

    /// The address of a region: `listen`, or a free port on the host of the first region.
    fn address(&self, listen: Option<SocketAddr>) -> SocketAddr {
        let host: IpAddr = self.settings.listen.0.ip();
        listen.unwrap_or_else(|| SocketAddr::from((host, 0)))
    }
}

/// Marks one region as being added; dropping the guard ends the mark, also after a failure.
struct AdditionGuard<'f>(&'f Mutex<BTreeSet<String>>, String);

impl AdditionGuard<'_> {
    /// None if another order is adding the same region.
    fn begin<'f>(names: &'f Mutex<BTreeSet<String>>, name: &str) -> Option<AdditionGuard<'f>> {
        let name = slug(name);
        let mut known = names.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .insert(name.clone())
            .then(|| AdditionGuard(names, name))
    }
}

impl Drop for AdditionGuard<'_> {
    fn drop(&mut self) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&self.1);
    }
}

fn shutdown_signal(mut end: watch::Receiver<bool>) -> ShutdownSignal {
    Box::pin(async move {
        let _ = end.wait_for(|end| *end).await;
    })
}

fn failed(error: &anyhow::Error) -> ControlError {
    ControlError::Failed(format!("{error:#}"))
}
