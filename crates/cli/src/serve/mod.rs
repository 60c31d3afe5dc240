//! `orrery serve`: from settings to a running server, and back down in order.
//!
//! Engines come first because they lock their directories; certificate and secrets are files beside
//! them. On the way down the runtime ends before the engines close: a request that did not finish in
//! time must not write to a store that is closing.

mod alone;
mod among;
mod fleet;
mod front;
mod together;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use orrery_engine::{EngineOptions, Seen, SystemClock};
use tokio::runtime::Runtime;

use crate::args::ServeArguments;
use crate::settings::{KeySource, Settings};
use crate::started::Started;
use crate::{exposure, key_file, logging, open_files, private_file, secret_file, shutdown};

/// For tasks that were cut off to notice it.
const RUNTIME_END_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn serve(runtime: Runtime, arguments: ServeArguments) -> Result<()> {
    // Raise the limit before the settings are made, because a default depends on it.
    open_files::raise();
    let settings = Settings::load(arguments, &|name| std::env::var_os(name))?;
    logging::install(&settings.log)?;
    let keys = match &settings.keys {
        KeySource::Given(keys) => keys.clone(),
        KeySource::File(path) => {
            // A region among other processes must have the same keys as they have, so it makes none
            // alone.
            if !settings.has_peers() {
                key_file::make_if_missing(path)?;
            }
            let keys = key_file::read(path)?;
            secret_file::warn_of_readers(path);
            keys
        }
    };
    for address in settings.addresses() {
        exposure::check(&keys, address, settings.allow_well_known_key)?;
    }
    let stop = shutdown::listen()?;
    private_file::keep_files_private();
    match &settings.regions {
        None => alone::serve(runtime, settings, keys, stop)?,
        Some(_) => together::serve(runtime, settings, keys, stop)?,
    }
    tracing::info!("stopped");
    Ok(())
}

fn engine_options(
    settings: &Settings,
    directory: Option<PathBuf>,
    cache_bytes: u64,
) -> EngineOptions {
    EngineOptions {
        directory,
        durability: settings.durability.0,
        cache_bytes,
        seen: Seen::Durable,
        multi_write: None,
        upkeep: settings.upkeep,
        consistency: settings.consistency,
        scripts: settings.scripts.options(),
        partitions: settings.partitions,
        throughput: settings.throughput,
        clock: Arc::new(SystemClock),
    }
}

fn announce(settings: &Settings, started: &Started) {
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
