//! The time of a server start, and the memory of a server.
//!
//! A start lasts from the creation of the process until `GET /ready` is answered over TCP. A read
//! of an item follows each start on data, so that a server that lost its data fails the run. The
//! files are in the page cache of the system, as they are after an upgrade or a crash of the
//! process; after a restart of the machine a server reads them from disk.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::bare::RecordedResponse;
use crate::driver::drive;
use crate::load::{create_container, load};
use crate::median::median;
use crate::options::Options;
use crate::plan::plan;
use crate::program::ServerProgram;
use crate::report::LoadReport;
use crate::resident::megabytes;
use crate::server::{ServerProcess, ServerSettings, data_directory};

const EMPTY_STARTS: usize = 10;
const LOADED_STARTS: usize = 5;
const IDLE_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Serialize)]
pub struct StartReport {
    pub empty: StartTimes,
    /// None where memory cannot be measured.
    pub idle_resident_bytes: Option<u64>,
    pub load: LoadReport,
    pub loaded_resident_bytes: Option<u64>,
    /// None on systems where a parent process can only kill its child.
    pub after_stop: Option<StartTimes>,
    /// The start after `kill -9` of a server that was writing.
    pub after_kill: StartTimes,
    pub settings: ServerSettings,
}

#[derive(Clone, Debug, Serialize)]
pub struct StartTimes {
    pub count: usize,
    pub median_ms: f64,
    pub max_ms: f64,
}

impl StartTimes {
    fn new(starts: &[Duration]) -> Self {
        let times: Vec<_> = starts.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        Self {
            count: times.len(),
            median_ms: median(&times),
            max_ms: times.iter().copied().fold(0.0, f64::max),
        }
    }
}

pub(crate) async fn measure(options: &Options, program: &ServerProgram) -> Result<StartReport> {
    let empty = empty_starts(options, program).await?;
    // On an empty directory, before anything is loaded.
    let idle_resident_bytes = idle_memory(options, program).await?;

    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let plan = plan(&against(&server, options))?;
    create_container(&plan.target, options.throughput).await?;
    let load = load(&plan).await?;
    let loaded_resident_bytes = server.resident_bytes();
    let after_stop = if cfg!(unix) {
        server.stop().await.context("after the load")?;
        Some(starts_after_stop(options, program, directory.path()).await?)
    } else {
        drop(server);
        None
    };
    let after_kill = start_after_kill(options, program, directory.path()).await?;
    Ok(StartReport {
        empty,
        idle_resident_bytes,
        load,
        loaded_resident_bytes,
        after_stop,
        after_kill,
        settings: program.settings(),
    })
}

async fn empty_starts(options: &Options, program: &ServerProgram) -> Result<StartTimes> {
    let mut starts = Vec::new();
    for _ in 0..EMPTY_STARTS {
        let directory = data_directory(options)?;
        let server = ServerProcess::start(program, directory.path()).await?;
        starts.push(server.start);
    }
    Ok(StartTimes::new(&starts))
}

async fn idle_memory(options: &Options, program: &ServerProgram) -> Result<Option<u64>> {
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    // Memory of the start is given back first.
    tokio::time::sleep(IDLE_PAUSE).await;
    Ok(server.resident_bytes())
}

async fn starts_after_stop(
    options: &Options,
    program: &ServerProgram,
    directory: &Path,
) -> Result<StartTimes> {
    let mut starts = Vec::new();
    for _ in 0..LOADED_STARTS {
        let server = start_on_data(options, program, directory).await?;
        starts.push(server.start);
        server.stop().await?;
    }
    Ok(StartTimes::new(&starts))
}

/// Kills a server during writes and starts it again. Only a server that was writing has records to
/// recover.
async fn start_after_kill(
    options: &Options,
    program: &ServerProgram,
    directory: &Path,
) -> Result<StartTimes> {
    let server = ServerProcess::start(program, directory).await?;
    drive(&plan(&against(&server, options))?).await?;
    // Dropping the server kills it without warning.
    drop(server);
    let server = start_on_data(options, program, directory).await?;
    Ok(StartTimes::new(&[server.start]))
}

/// Starts a server on loaded data, and reads the last item.
async fn start_on_data(
    options: &Options,
    program: &ServerProgram,
    directory: &Path,
) -> Result<ServerProcess> {
    let server = ServerProcess::start(program, directory).await?;
    let plan = plan(&against(&server, options))?;
    let mut last = String::new();
    // The last loaded item is the one that a lost suffix of the log would lack.
    plan.keys.write_id(&mut last, plan.keys.loaded() - 1);
    RecordedResponse::point_read(&plan.target, &last)
        .await
        .context("reading an item after a restart")?;
    Ok(server)
}

fn against(server: &ServerProcess, options: &Options) -> Options {
    Options {
        endpoint: Some(server.endpoint.clone()),
        ..options.clone()
    }
}

impl fmt::Display for StartTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            median_ms,
            max_ms,
        } = self;
        write!(
            f,
            "median {median_ms:.1} ms, max {max_ms:.1} ms (n={count})"
        )
    }
}

impl fmt::Display for StartReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.load.items();
        writeln!(f, "start, empty directory: {}", self.empty)?;
        match &self.after_stop {
            Some(times) => writeln!(f, "start, {items} items, after a clean stop: {times}")?,
            None => writeln!(
                f,
                "start, {items} items, after a clean stop: skipped, a process can only be killed here"
            )?,
        }
        writeln!(
            f,
            "start, {items} items, after kill -9: {}",
            self.after_kill
        )?;
        let (idle, loaded) = (
            megabytes(self.idle_resident_bytes),
            megabytes(self.loaded_resident_bytes),
        );
        writeln!(f, "resident memory, empty directory, idle: {idle}")?;
        writeln!(f, "resident memory, after loading {items} items: {loaded}")?;
        writeln!(f, "server: {}", self.settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_some_starts() {
        let starts = [30, 10, 20].map(Duration::from_millis);
        assert_eq!(
            StartTimes::new(&starts).to_string(),
            "median 20.0 ms, max 30.0 ms (n=3)"
        );
    }
}
