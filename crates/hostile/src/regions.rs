//! An account of two regions, each a process: the first is attacked at its port for clients, which has TLS,
//! and at its port for the other region, which joins while that goes on.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::arguments::Options;
use crate::server::Server;

const WEST: &str = "west";
const EAST: &str = "east";

/// The first region, and what the second region needs to join it later.
pub(crate) struct Regions {
    west: Server,
    directory: PathBuf,
    peers: [SocketAddr; 2],
}

impl Regions {
    /// Makes certificates and starts the first region.
    pub(crate) fn start(options: &Options, directory: &Path) -> Result<Regions> {
        std::fs::create_dir(directory).context("creating a directory for regions")?;
        let made = Command::new(&options.server)
            .args(["region", "certificates", "--region", WEST, "--region", EAST])
            .arg("--out")
            .arg(directory.join("certificates"))
            .stdout(Stdio::null())
            .status()
            .context("making certificates")?;
        if !made.success() {
            bail!("the server made no certificates: {made}");
        }
        // Both ports are chosen now: the first region must know the port of the second one.
        let peers = [free_address()?, free_address()?];
        let flags = flags(directory, (WEST, peers[0]), (EAST, peers[1]));
        let west = Server::start(options, &directory.join(WEST), &flags)?;
        Ok(Regions {
            west,
            directory: directory.to_owned(),
            peers,
        })
    }

    /// The address on which the first region accepts clients.
    pub(crate) fn tls_address(&self) -> SocketAddr {
        self.west.address
    }

    /// The address on which the first region accepts connections of the other region.
    pub(crate) fn peer_address(&self) -> SocketAddr {
        self.peers[0]
    }

    /// Starts the other region, waits until it has joined, and says how long that took.
    pub(crate) fn join(&self, options: &Options) -> Result<Duration> {
        let mut flags = flags(
            &self.directory,
            (EAST, self.peers[1]),
            (WEST, self.peers[0]),
        );
        flags.push("--join".to_owned());
        let begun = Instant::now();
        // `Server::start` returns when the region serves, which means that it has joined.
        let mut east = Server::start(options, &self.directory.join(EAST), &flags)?;
        let duration = begun.elapsed();
        east.check_alive()?;
        Ok(duration)
    }

    pub(crate) fn check_alive(&mut self) -> Result<()> {
        self.west.check_alive()
    }
}

/// The flags of one region, which names the other region as its peer.
fn flags(
    directory: &Path,
    (own, own_address): (&str, SocketAddr),
    (other, other_address): (&str, SocketAddr),
) -> Vec<String> {
    let identity = directory.join("certificates").join(own);
    vec![
        "--listen=127.0.0.1:0".to_owned(),
        "--management=127.0.0.1:0".to_owned(),
        format!("--region={own}"),
        format!("--peer-listen={own_address}"),
        format!("--peer-identity={}", identity.display()),
        format!("--peer={other}={other_address}"),
    ]
}

/// A port that is free now. Regions must know each other's ports before they start.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a port")?;
    listener.local_addr().context("finding a port")
}
