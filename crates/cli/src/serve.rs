//! `orrery serve`: from settings to a running server, and back down in order.
//!
//! The engine comes first because it locks the data directory; certificate and secrets are files in
//! it. On the way down the runtime ends before the engine closes: a request that did not finish in
//! time must not write to a store that is closing.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use orrery_engine::{Engine, EngineOptions, SystemClock};
use orrery_server::{Server, ServerOptions};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::advertise::Advertise;
use crate::args::ServeArguments;
use crate::certificate::{self, Certificate};
use crate::host_names::host_names;
use crate::keys::KeySet;
use crate::settings::{KeySource, Place, Settings};
use crate::started::Started;
use crate::{key_file, logging, seed, shutdown, token_secret};

/// For tasks that were cut off to notice it.
const RUNTIME_END_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn serve(runtime: Runtime, arguments: ServeArguments) -> Result<()> {
    let settings = Settings::load(arguments, &|name| std::env::var_os(name))?;
    logging::install(&settings.log)?;
    let keys = match &settings.keys {
        KeySource::Given(keys) => keys.clone(),
        KeySource::File(path) => key_file::read(path)?,
    };
    let stop = shutdown::listen()?;
    let engine = {
        let _inside = runtime.enter();
        open(&settings)?
    };
    let served = runtime.block_on(run(Arc::clone(&engine), settings, keys, stop));
    runtime.shutdown_timeout(RUNTIME_END_TIMEOUT);
    let closed = Engine::close(engine).context("cannot close the data directory");
    served.and(closed)?;
    tracing::info!("stopped");
    Ok(())
}

fn open(settings: &Settings) -> Result<Arc<Engine>> {
    let options = EngineOptions {
        multi_write: None,
        directory: settings.place.directory().map(Path::to_owned),
        durability: settings.durability.0,
        cache_bytes: settings.cache.0,
        consistency: settings.consistency,
        scripts: settings.scripts.options(),
        partitions: settings.partitions,
        throughput: settings.throughput,
        clock: Arc::new(SystemClock),
    };
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
    let directory = settings.place.directory();
    let names = host_names(settings.advertise.as_ref().map(Advertise::host));
    let certificate = certificate::load(&settings.tls, directory, &names)?;
    let options = ServerOptions {
        listen: settings.listen.0,
        advertise: settings.advertise.as_ref().map(ToString::to_string),
        tls: certificate
            .as_ref()
            .map(|certificate| certificate.material.clone()),
        keys: keys.account_keys(),
        token_secret: token_secret::load(directory)?,
    };
    let server = Server::bind(Arc::clone(&engine), options).await?;
    if let Some(path) = &settings.seed {
        tokio::select! {
            loaded = seed::load(&engine, path) => loaded?,
            _ = &mut stop => return Ok(()),
        }
    }
    drop(engine);
    if keys.public_primary().is_some() && !server.local_address().ip().is_loopback() {
        tracing::warn!(
            address = %server.local_address(),
            "OPEN TO THE NETWORK WITH THE WELL-KNOWN KEY: whoever reaches this address may read and change \
             everything; set a key of your own with --key-file or ORRERY_KEY"
        );
    }
    announce(&settings, &keys, &server, certificate.as_ref());
    if let KeySource::File(path) = settings.keys {
        let handle = server.handle();
        let changed = move |keys: &KeySet| handle.set_keys(&keys.account_keys());
        tokio::spawn(key_file::watch(path, keys, changed));
    }
    server.run(async { drop(stop.await) }).await;
    Ok(())
}

fn announce(
    settings: &Settings,
    keys: &KeySet,
    server: &Server,
    certificate: Option<&Certificate>,
) {
    let started = Started {
        address: server.local_address(),
        advertise: settings.advertise.clone(),
        public_key: keys.public_primary(),
        certificate: certificate.map(|certificate| certificate.path.clone()),
        place: settings.place.clone(),
        durability: settings.durability,
    };
    let text = if settings.ready_json {
        started.json()
    } else {
        started.message()
    };
    let mut stdout = io::stdout().lock();
    if let Err(error) = writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        tracing::warn!(%error, "nobody reads standard output");
    }
}
