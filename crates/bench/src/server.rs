//! A server that the driver starts: a process of its own, as a user runs it.
//!
//! The command lines are in [`ServerProgram`]. The driver requires that the server prints one line
//! of JSON with its `endpoint` once it serves, and answers `GET /ready`.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::options::Options;
use crate::program::ServerProgram;
use crate::resident::{megabytes, resident_bytes};

const STOP_TIMEOUT: Duration = Duration::from_mins(2);
const STOP_POLL: Duration = Duration::from_millis(5);

/// One of two write regions of an account, in a process of its own.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    pub name: String,
    /// The address on which this region accepts links from the other region.
    pub listen: SocketAddr,
    /// The directory with the certificates of both regions.
    pub certificates: PathBuf,
    pub other: (String, SocketAddr),
    /// Whether the other process founds the account.
    pub joins: bool,
}

/// The regions of an account.
#[derive(Clone, Debug, Default)]
pub struct RegionsPlan {
    /// The names of the regions. The first one is the write region.
    pub names: Vec<String>,
    /// Whether the consistency of the account is strong instead of the default.
    pub is_strong: bool,
    /// Whether every region takes writes.
    pub is_multi_write: bool,
}

/// Settings that decide the speed and the size of a server, as the server announces them. A setting
/// is none if the version of the server does not announce it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct ServerSettings {
    pub cache_bytes: Option<u64>,
    pub durability: Option<String>,
}

/// The server process at the end of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// None where memory cannot be measured.
    pub resident_bytes: Option<u64>,
    #[serde(flatten)]
    pub settings: ServerSettings,
}

impl fmt::Display for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = megabytes(self.cache_bytes);
        let durability = self.durability.as_deref().unwrap_or("not announced");
        write!(f, "cache {cache}, durability {durability}")
    }
}

impl fmt::Display for ServerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resident = megabytes(self.resident_bytes);
        write!(f, "server: resident memory {resident}, {}", self.settings)
    }
}

/// A folder for the data of a server, on the file system that the options name.
pub(crate) fn data_directory(options: &Options) -> Result<TempDir> {
    let mut temporary = tempfile::Builder::new();
    temporary.prefix("orrery-bench-");
    match &options.data_dir {
        Some(parent) => temporary.tempdir_in(parent),
        None => temporary.tempdir(),
    }
    .context("creating a folder for the server")
}

/// A running server. Dropping the value kills the process.
pub(crate) struct ServerProcess {
    child: Child,
    settings: ServerSettings,
    pub(crate) endpoint: String,
    /// The endpoints of the regions in the order of the plan. Empty for an account without regions.
    pub(crate) regions: Vec<String>,
    pub(crate) management: Option<ManagementAddress>,
    /// The time from the start of the process to the answer to its first request.
    pub(crate) start: Duration,
}

#[derive(Deserialize)]
struct Announcement {
    endpoint: String,
    #[serde(flatten)]
    settings: ServerSettings,
    #[serde(default)]
    regions: Vec<AnnouncedRegion>,
    management: Option<ManagementAddress>,
}

#[derive(Deserialize)]
struct AnnouncedRegion {
    endpoint: String,
}

/// The operators' listener of a server, and the file with its key.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManagementAddress {
    pub(crate) endpoint: String,
    pub(crate) key_file: PathBuf,
}

impl ServerProcess {
    pub(crate) async fn start(program: &ServerProgram, directory: &Path) -> Result<Self> {
        Self::run(program, program.command(directory)).await
    }

    /// Starts a server that enforces throughput.
    pub(crate) async fn start_metered(program: &ServerProgram, directory: &Path) -> Result<Self> {
        Self::run(program, program.metered_command(directory)).await
    }

    /// Starts a server with regions.
    pub(crate) async fn start_regions(
        program: &ServerProgram,
        directory: &Path,
        plan: &RegionsPlan,
    ) -> Result<Self> {
        Self::run(program, program.regions_command(directory, plan)).await
    }

    pub(crate) async fn run(program: &ServerProgram, mut command: Command) -> Result<Self> {
        let began = Instant::now();
        // Reading the announcement blocks until the server has started.
        let announced = tokio::task::spawn_blocking(move || {
            let child = command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .with_context(|| format!("starting {}", command.get_program().display()))?;
            // From here on dropping `server` kills the child, also if the announcement fails.
            let mut server = Self {
                child,
                settings: ServerSettings::default(),
                endpoint: String::new(),
                regions: Vec::new(),
                management: None,
                start: Duration::ZERO,
            };
            let announced = server.announcement()?;
            let regions = announced.regions.into_iter();
            server.endpoint = announced.endpoint;
            server.settings = announced.settings;
            server.regions = regions.map(|region| region.endpoint).collect();
            server.management = announced.management;
            Ok::<_, anyhow::Error>(server)
        });
        let mut server = announced.await.context("starting the server panicked")??;
        program.set_settings(server.settings.clone());
        // The announcement comes before the first answer; a start is over with the answer.
        server.ask_ready().await?;
        server.start = began.elapsed();
        Ok(server)
    }

    /// Reads the line that the server prints when it serves.
    fn announcement(&mut self) -> Result<Announcement> {
        let stdout = self.child.stdout.take();
        let stdout = stdout.context("the server has no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .context("reading from the server")?;
        serde_json::from_str(&line).context("the server ended before it was ready")
    }

    /// Sends `GET /ready`, whose answer ends the start.
    async fn ask_ready(&self) -> Result<()> {
        let endpoint = Endpoint::parse(&self.endpoint)?;
        let request = format!(
            "GET /ready HTTP/1.1\r\nhost: {}\r\n\r\n",
            endpoint.authority()
        );
        let mut connection = Connection::open(endpoint)
            .await
            .context("connecting to the server")?;
        let answer = connection
            .exchange(request.as_bytes())
            .await
            .context("asking whether the server is ready")?;
        match answer.head.status {
            200 => Ok(()),
            status => bail!("the server answered {status} when asked whether it is ready"),
        }
    }

    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(self.child.id())
    }

    pub(crate) fn report(&self) -> ServerReport {
        ServerReport {
            resident_bytes: self.resident_bytes(),
            settings: self.settings.clone(),
        }
    }

    /// Sends SIGTERM, as a service manager does, and waits until the process has ended. On other
    /// systems than Unix a process can only be killed.
    pub(crate) async fn stop(mut self) -> Result<()> {
        // The shell has `kill` built in, so this works on systems without a `kill` program too.
        let signal = Command::new("sh")
            .args(["-c", "kill -TERM \"$0\"", &self.child.id().to_string()])
            .status()
            .context("asking the server to stop")?;
        if !signal.success() {
            bail!("asking the server to stop: kill ended with {signal}");
        }
        let status = self.wait().await?;
        if !status.success() {
            bail!("the server ended with {status} when asked to stop");
        }
        Ok(())
    }

    /// Polls for the end of the process, up to a time limit.
    async fn wait(&mut self) -> Result<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.child.try_wait().context("waiting for the server")? {
                return Ok(status);
            }
            tokio::time::sleep(STOP_POLL).await;
        }
        bail!(
            "the server did not stop within {} s",
            STOP_TIMEOUT.as_secs()
        )
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The data directory is deleted with the server, so killing the process loses nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
