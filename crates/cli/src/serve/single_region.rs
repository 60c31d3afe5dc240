//! An account of one region.

use std::path::Path;
use std::sync::{Arc, Weak};

use anyhow::{Context, Result};
use orrery_account::Region;
use orrery_engine::Engine;
use orrery_server::Server;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::listener_context::ListenerContext;
use super::{RUNTIME_END_TIMEOUT, announce, engine_options};
use crate::keys::KeySet;
use crate::regions::check_single_region;
use crate::seed;
use crate::settings::{DataLocation, Settings};
use crate::startup_report::StartupReport;

/// The name of the only region, which is also the region name of Microsoft's emulator.
const REGION: &str = "South Central US";

pub(super) fn serve(
    runtime: Runtime,
    settings: Settings,
    keys: KeySet,
    stop: oneshot::Receiver<()>,
) -> Result<()> {
    let engine = {
        // Opening the engine takes the handle of the present runtime, so this thread enters the
        // runtime.
        let _inside = runtime.enter();
        open(&settings)?
    };
    let served = runtime.block_on(run(Arc::clone(&engine), settings, keys, stop));
    // The runtime ends before the engine closes: a request must not write to a closing store.
    runtime.shutdown_timeout(RUNTIME_END_TIMEOUT);
    let closed = Engine::close(engine).context("cannot close the data directory");
    served.and(closed)
}

fn open(settings: &Settings) -> Result<Arc<Engine>> {
    let directory = settings.data_location.directory();
    // A directory with regions would look empty to a single store, and the server would start
    // without the data.
    directory.map_or(Ok(()), check_single_region)?;
    let options = engine_options(settings, directory.map(Path::to_owned), settings.cache.0);
    let store = match &settings.data_location {
        DataLocation::Memory => "the store in memory".to_owned(),
        DataLocation::Directory(path) => format!("the data directory {}", path.display()),
    };
    Engine::open(options).with_context(|| format!("cannot open {store}"))
}

async fn run(
    engine: Arc<Engine>,
    settings: Settings,
    keys: KeySet,
    mut stop: oneshot::Receiver<()>,
) -> Result<()> {
    let listeners = Arc::new(ListenerContext::load(&settings, keys)?);
    let region = Region::alone(REGION, Arc::clone(&engine));
    // The address is taken before the seed is loaded, so that an address in use fails at once.
    let listener = Server::reserve(settings.listen.0).await?;
    let address = listener.local_addr()?;
    let tls = listeners.certificate().is_some();
    let advertise = settings.advertise.as_ref();
    let advertise = advertise.map(|advertise| advertise.of(tls, address));
    let options = listeners.options(address, advertise, Weak::new());
    let mut server = Server::on(listener, region, options)?;
    let direct = listeners.listen_direct(&mut server, Some(0)).await?;
    if let Some(path) = &settings.seed {
        // A large seed takes minutes; a signal must end the load.
        tokio::select! {
            loaded = seed::load(&engine, path) => loaded?,
            _ = &mut stop => return Ok(()),
        }
    }
    // `Engine::close` needs the last reference; this task must not keep one beside the region's.
    drop(engine);
    listeners.enlist(&server);
    let started = StartupReport {
        address: server.local_address(),
        advertise: settings.advertise.clone(),
        public_key: listeners.public_key(),
        certificate: listeners.certificate(),
        has_own_certificate: listeners.has_own_certificate(),
        data_location: settings.data_location.clone(),
        durability: settings.durability,
        cache: settings.cache,
        direct,
        regions: None,
    };
    announce(&settings, &started);
    let watching = Arc::clone(&listeners);
    tokio::spawn(async move {
        tokio::join!(
            watching.watch_keys(&settings.keys),
            watching.watch_certificate()
        )
    });
    server.run(async { drop(stop.await) }).await;
    Ok(())
}
