//! An account of one region.

use std::path::Path;
use std::sync::{Arc, Weak};

use anyhow::{Context, Result};
use orrery_account::Region;
use orrery_engine::Engine;
use orrery_server::Server;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::front::Front;
use super::{RUNTIME_END_TIMEOUT, announce, engine_options};
use crate::keys::KeySet;
use crate::regions::check_alone;
use crate::seed;
use crate::settings::{Place, Settings};
use crate::started::Started;

/// What the region of such an account is called, as the emulator does.
const REGION: &str = "South Central US";

pub(super) fn serve(
    runtime: Runtime,
    settings: Settings,
    keys: KeySet,
    stop: oneshot::Receiver<()>,
) -> Result<()> {
    let engine = {
        let _inside = runtime.enter();
        open(&settings)?
    };
    let served = runtime.block_on(run(Arc::clone(&engine), settings, keys, stop));
    runtime.shutdown_timeout(RUNTIME_END_TIMEOUT);
    let closed = Engine::close(engine).context("cannot close the data directory");
    served.and(closed)
}

fn open(settings: &Settings) -> Result<Arc<Engine>> {
    let directory = settings.place.directory();
    directory.map_or(Ok(()), check_alone)?;
    let options = engine_options(settings, directory.map(Path::to_owned), settings.cache.0);
    let place = match &settings.place {
        Place::Memory => "the store in memory".to_owned(),
        Place::Directory(path) => format!("the data directory {}", path.display()),
    };
    Engine::open(options).with_context(|| format!("cannot open {place}"))
}

async fn run(
    engine: Arc<Engine>,
    settings: Settings,
    keys: KeySet,
    mut stop: oneshot::Receiver<()>,
) -> Result<()> {
    let front = Arc::new(Front::load(&settings, keys)?);
    let region = Region::alone(REGION, Arc::clone(&engine));
    let advertise = settings.advertise.as_ref();
    let options = front.options(settings.listen.0, advertise, Weak::new());
    let server = Server::bind(region, options).await?;
    if let Some(path) = &settings.seed {
        tokio::select! {
            loaded = seed::load(&engine, path) => loaded?,
            _ = &mut stop => return Ok(()),
        }
    }
    drop(engine);
    front.enlist(&server);
    let started = Started {
        address: server.local_address(),
        advertise: settings.advertise.clone(),
        public_key: front.public_key(),
        certificate: front.certificate(),
        place: settings.place.clone(),
        durability: settings.durability,
        regions: None,
    };
    announce(&settings, &started);
    let watching = Arc::clone(&front);
    tokio::spawn(async move {
        tokio::join!(
            watching.watch_keys(&settings.keys),
            watching.watch_certificate()
        )
    });
    server.run(async { drop(stop.await) }).await;
    Ok(())
}
