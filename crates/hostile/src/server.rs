//! The server under attack: a process of its own, as a user runs it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::arguments::Options;

/// Short, because a peak lasts only as long as one request.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// A server process, which is killed when this value is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// The line that a server prints when it serves requests.
#[derive(Deserialize)]
struct Announcement {
    endpoint: String,
}

impl Server {
    /// Starts a server with these flags beside the ones that every server here has; `directory` is for its data.
    pub(crate) fn start(options: &Options, directory: &Path, flags: &[String]) -> Result<Server> {
        // The log is a sibling of the data directory, whose files belong to the server.
        let log = std::fs::File::create(directory.with_extension("log"))?;
        let mut child = Command::new(&options.server)
            .args(["serve", "--ready-json", "--cache", "64MiB", "--data"])
            .arg(directory)
            .args(flags)
            .env(
                "ORRERY_MEMORY_FOR_REQUESTS",
                format!("{}MiB", options.memory_mib),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", options.server.display()))?;
        let out = child.stdout.take().context("no standard output")?;
        let mut line = String::new();
        // This read blocks until the server serves requests, or has ended.
        BufReader::new(out).read_line(&mut line)?;
        let announcement: Announcement = serde_json::from_str(&line)
            .with_context(|| format!("the server said {line:?}; its log is beside its data"))?;
        // A `SocketAddr` has an IP address; the announcement may have a host name.
        let address = announcement
            .endpoint
            .split("//")
            .nth(1)
            .map(|rest| rest.trim_end_matches('/').replace("localhost", "127.0.0.1"));
        let address = address.context("no address")?.parse().context("address")?;
        Ok(Server { child, address })
    }

    /// Fails if the process has ended, for instance because memory ran out.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the server died: {status}"),
        }
    }

    /// Kills the process without warning.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts to sample the memory of the process.
    pub(crate) fn memory(&self) -> MemoryWatch {
        MemoryWatch::start(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Samples the memory of a process many times a second, and stores the peak.
pub(crate) struct MemoryWatch {
    state: Arc<WatchState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct WatchState {
    now: AtomicU64,
    peak: AtomicU64,
    is_over: AtomicBool,
}

impl MemoryWatch {
    fn start(process: u32) -> MemoryWatch {
        let state = Arc::new(WatchState::default());
        let shared = Arc::clone(&state);
        // A thread and not a task, because reading the process table blocks.
        let thread = std::thread::spawn(move || {
            let process = Pid::from_u32(process);
            let mut system = System::new();
            while !shared.is_over.load(Ordering::Relaxed) {
                system.refresh_processes_specifics(
                    ProcessesToUpdate::Some(&[process]),
                    true,
                    ProcessRefreshKind::nothing().with_memory(),
                );
                if let Some(found) = system.process(process) {
                    shared.now.store(found.memory(), Ordering::Relaxed);
                    shared.peak.fetch_max(found.memory(), Ordering::Relaxed);
                }
                std::thread::sleep(SAMPLE_EVERY);
            }
        });
        MemoryWatch {
            state,
            thread: Some(thread),
        }
    }

    /// The latest sample in bytes.
    pub(crate) fn now(&self) -> u64 {
        self.state.now.load(Ordering::Relaxed)
    }

    /// The peak since the last call.
    pub(crate) fn take_peak(&self) -> u64 {
        self.state.peak.swap(self.now(), Ordering::Relaxed)
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread ends within one sample period.
            let _ = thread.join();
        }
    }
}
