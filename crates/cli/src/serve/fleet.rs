//! The listeners of an account with regions: one for each region, also for those that come later.

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
use super::front::Front;
use crate::endpoint;
use crate::listen::Listen;
use crate::regions::{Layout, RegionSetting, RegionsSettings, check_name, slug};
use crate::settings::Settings;

/// Ready when the fleet ends.
pub(super) type Ended = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Fleet {
    pub(super) account: Arc<Account>,
    pub(super) settings: Settings,
    pub(super) front: Front,
    pub(super) layout: Layout,
    /// Bytes of the cache of each region.
    cache_bytes: u64,
    /// Where all regions of this process answer.
    account_server: OnceLock<AccountServerHandle>,
    /// Regions that are being added, each by one order.
    adding: Mutex<BTreeSet<String>>,
    tasks: Mutex<JoinSet<()>>,
    end: watch::Sender<bool>,
}

impl Fleet {
    pub(super) fn new(
        account: Arc<Account>,
        settings: Settings,
        front: Front,
        layout: Layout,
        cache_bytes: u64,
    ) -> Fleet {
        Fleet {
            account,
            settings,
            front,
            layout,
            cache_bytes,
            account_server: OnceLock::new(),
            adding: Mutex::default(),
            tasks: Mutex::default(),
            end: watch::Sender::new(false),
        }
    }

    /// A server for a region of the settings, which is not running yet.
    pub(super) async fn bind(
        &self,
        region: &Arc<Region>,
        place: usize,
        listen: Option<Listen>,
    ) -> Result<Server> {
        let address = if place == 0 {
            self.settings.listen.0
        } else {
            self.address(listen.map(|listen| listen.0))
        };
        let name = region.name().to_owned();
        let listener = self.reserve(address).await;
        let listener = listener.with_context(|| format!("in region '{name}'"))?;
        self.server(listener, region, place == 0)
    }

    /// The server of the account as a whole, which is not running yet. A process with one of several
    /// regions is at one address already, and has another only if it is told to.
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
        let server = AccountServer::on(listener, self.front.tls().as_ref(), self.front.governor())?;
        self.front.listens_on(server.local_address());
        // Bound once.
        let _ = self.account_server.set(server.handle());
        Ok(Some(server))
    }

    /// Serves until the fleet ends.
    pub(super) fn run(&self, server: Server) {
        self.front.enlist(&server);
        if let Some(account) = self.account_server.get() {
            account.add(&server);
        }
        self.spawn(|ended| server.run(ended));
    }

    /// Runs something that ends with the fleet.
    pub(super) fn spawn<F>(&self, task: impl FnOnce(Ended) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(ended(self.end.subscribe()));
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spawn(task);
    }

    /// Lets open requests finish.
    pub(super) async fn end(&self) {
        self.end.send_replace(true);
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    /// Answers an operator who wants another region.
    pub(super) async fn add(&self, addition: Addition) {
        let Addition {
            name,
            listen,
            reply,
        } = addition;
        let added = match Adding::begin(&self.adding, &name) {
            Some(_adding) => self.try_add(&name, listen).await,
            None => Err(ControlError::Refused(format!(
                "region '{name}' is being added already; it is listed when it was copied"
            ))),
        };
        if let Ok(endpoint) = &added {
            tracing::info!(region = name, endpoint, "a region was added");
        }
        // An operator who has gone finds the region in the list.
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
            // One whose copy came to no end is added again.
            .filter(|known| !matches!(known.state, RegionState::Removed | RegionState::Joining));
        if known.any(|known| slug(&known.name) == setting.slug()) {
            return Err(ControlError::Refused(format!(
                "the account has a region '{name}' already"
            )));
        }
        if self.account.has_peers() {
            return self.add_peer(name, listen).await;
        }
        let reserved = self.reserve(self.address(listen)).await;
        let listener = reserved.map_err(|error| ControlError::Refused(error.to_string()))?;
        let options = RegionOptions {
            name: name.to_owned(),
            engine: engine_options(&self.settings, self.layout.of(name), self.cache_bytes),
        };
        let region = self.account.add(options).await?;
        let server = self.server(listener, &region, false);
        let server = server.map_err(|error| failed(&error))?;
        let endpoint = self.endpoint(&server, false);
        self.run(server);
        self.layout.add(&setting).map_err(|error| failed(&error))?;
        Ok(endpoint)
    }

    /// The region is in a process of its own, which is one of the settings and joins.
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
            .front
            .options(address, None, Arc::downgrade(&self.account));
        let server = Server::on(listener, Arc::clone(region), options)?;
        region.set_endpoint(&self.endpoint(&server, is_first));
        Ok(server)
    }

    pub(super) fn endpoint(&self, server: &Server, is_first: bool) -> String {
        self.endpoint_of(server.local_address(), is_first)
    }

    pub(super) fn endpoint_of(&self, address: SocketAddr, is_first: bool) -> String {
        let advertise = self.settings.advertise.as_ref();
        let tls = self.front.certificate().is_some();
        endpoint::of_region(is_first, advertise, tls, address)
    }

    /// Binds `address` after a check that the server may listen there with its account keys.
    async fn reserve(&self, address: SocketAddr) -> Result<TcpListener> {
        self.front.check_exposure(address)?;
        Ok(Server::reserve(address).await?)
    }

    /// A region without an address takes a free port where the first one is.
    fn address(&self, listen: Option<SocketAddr>) -> SocketAddr {
        let host: IpAddr = self.settings.listen.0.ip();
        listen.unwrap_or_else(|| SocketAddr::from((host, 0)))
    }
}

/// An addition that is under way.
struct Adding<'f>(&'f Mutex<BTreeSet<String>>, String);

impl Adding<'_> {
    /// None if another one of the same region is.
    fn begin<'f>(names: &'f Mutex<BTreeSet<String>>, name: &str) -> Option<Adding<'f>> {
        let name = slug(name);
        let mut known = names.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone()).then(|| Adding(names, name))
    }
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&self.1);
    }
}

fn ended(mut end: watch::Receiver<bool>) -> Ended {
    Box::pin(async move {
        let _ = end.wait_for(|end| *end).await;
    })
}

fn failed(error: &anyhow::Error) -> ControlError {
    ControlError::Failed(format!("{error:#}"))
}
