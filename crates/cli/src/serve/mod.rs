//! `orrery serve`: from settings to a running server, and back down in order.
//!
//! Engines come first because they lock their directories; certificate and secrets are files beside
//! them. On the way down the runtime ends before the engines close: a request that did not finish in
//! time must not write to a store that is closing.

mod listener_context;
mod multi_region;
mod peer_regions;
mod region_servers;
mod single_region;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use orrery_engine::{ApplyAfter, EngineOptions, SystemClock};
use tokio::runtime::Runtime;

use crate::args::ServeArguments;
use crate::settings::{KeySource, Settings};
use crate::startup_report::StartupReport;
use crate::{exposure, key_file, logging, open_files, private_file, secret_file, shutdown};

/// Time for requests that the shutdown cuts off to notice the cancellation.
const RUNTIME_END_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn serve(runtime: Runtime, arguments: ServeArguments) -> Result<()> {
    // Raise the limit before the settings are made, because a default depends on it.
    open_files::raise();
    let settings = Settings::load(arguments, &|name| std::env::var_os(name))?;
    logging::install(&settings.log)?;
    let keys = match &settings.keys {
        KeySource::Given(keys) => keys.clone(),
        KeySource::File(path) => {
            // Peer regions share one set of keys, so a process with peers does not generate keys.
            if !settings.has_peers() {
                key_file::make_if_missing(path)?;
            }
            let keys = key_file::read(path)?;
            secret_file::warn_of_readers(path);
            keys
        }
    };
    // The exposure check runs first, so that a refused start opens no data directory.
    for address in settings.addresses() {
        exposure::check(&keys, address, settings.allow_well_known_key)?;
    }
    // Signals are caught before the store opens, so that a second signal can end the process during
    // a long replay.
    let stop = shutdown::listen()?;
    // The storage engine creates files without a mode, so the umask must be set before the open.
    private_file::keep_files_private();
    match &settings.regions {
        None => single_region::serve(runtime, settings, keys, stop)?,
        Some(_) => multi_region::serve(runtime, settings, keys, stop)?,
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
        apply_after: ApplyAfter::Durable,
        multi_write: None,
        sweeps: true,
        maintenance: settings.maintenance,
        consistency: settings.consistency,
        scripts: settings.scripts.options(),
        partitions: settings.partitions,
        throughput: settings.throughput,
        clock: Arc::new(SystemClock),
    }
}

fn announce(settings: &Settings, started: &StartupReport) {
    let text = if settings.ready_json {
        started.json()
    } else {
        started.message()
    };
    // Standard output is locked and flushed once: a program reads the line as soon as it is there.
    let mut stdout = io::stdout().lock();
    if let Err(error) = writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        tracing::warn!(%error, "nobody reads standard output");
    }
}
