//! An account in three processes on loopback.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::requests::START_WAIT_MAX;

const PROGRAM: &str = env!("CARGO_BIN_EXE_orrery");
pub(crate) const REGIONS: [&str; 3] = ["west", "north", "east"];
const MANAGEMENT_KEY: &str = "operator-of-the-regions-of-the-test";
const ORDER_TIMEOUT: Duration = Duration::from_secs(15);
/// Ports below the range from which systems hand out ports, so that no other program takes a port
/// while its process is down.
const PORTS: std::ops::Range<u64> = 15_000..30_000;

pub(crate) struct Account {
    processes: Vec<Process>,
}

struct Process {
    arguments: Vec<String>,
    clients: SocketAddr,
    management: SocketAddr,
    peers: SocketAddr,
    log: std::path::PathBuf,
    /// None before its first start.
    child: Mutex<Option<Child>>,
}

impl Account {
    /// Founds an account; returns when all processes are ready.
    pub(crate) fn found(directory: &Path, flags: &[&str]) -> Account {
        let account = Account::plan(directory, flags);
        let outputs: Vec<_> = (0..REGIONS.len())
            .map(|region| account.start(region))
            .collect();
        for output in outputs {
            account.wait_for_ready(output);
        }
        account
    }

    /// An account of which no process runs yet. That of the first region founds it.
    pub(crate) fn plan(directory: &Path, flags: &[&str]) -> Account {
        let certificates = directory.join("certificates");
        let mut certify = orrery();
        certify
            .args(["region", "certificates", "--out"])
            .arg(&certificates);
        certify.args(REGIONS.map(|region| format!("--region={region}")));
        assert!(certify.stdout(Stdio::null()).status().unwrap().success());
        let key = directory.join("key");
        fs::write(&key, MANAGEMENT_KEY).unwrap();
        let mut random = Random::new(u64::from(std::process::id()));
        let mut addresses = || free_addresses(&mut random);
        let (peers, clients, management) = (addresses(), addresses(), addresses());
        let mut processes = Vec::new();
        for (own, region) in REGIONS.iter().enumerate() {
            let mut arguments = vec![
                format!("--region={region}"),
                format!("--data={}", directory.join(region).display()),
                format!("--listen={}", clients[own]),
                format!("--management={}", management[own]),
                format!("--management-key-file={}", key.display()),
                format!("--peer-listen={}", peers[own]),
                format!("--peer-identity={}", certificates.join(region).display()),
                format!("--join={}", own != 0),
            ];
            let others = REGIONS
                .iter()
                .zip(&peers)
                .filter(|(other, _)| *other != region);
            arguments.extend(others.map(|(other, address)| format!("--peer={other}={address}")));
            arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
            let log = directory.join(region).with_extension("log");
            processes.push(Process {
                arguments,
                clients: clients[own],
                management: management[own],
                peers: peers[own],
                log,
                child: Mutex::new(None),
            });
        }
        Account { processes }
    }

    /// Starts a process; what it will print.
    pub(crate) fn start(&self, region: usize) -> ChildStdout {
        let process = &self.processes[region];
        let mut child = start(&process.arguments, &process.log);
        let output = child.stdout.take().unwrap();
        *self.child(region) = Some(child);
        output
    }

    /// Waits until the process that prints this says that it is ready.
    pub(crate) fn wait_for_ready(&self, output: ChildStdout) {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert!(line.contains("\"ready\":true"), "{line}\n{}", self.logs());
    }

    /// Waits until the others can reach the process of a region.
    pub(crate) fn wait_for_listener(&self, region: usize) {
        let begun = Instant::now();
        while TcpStream::connect(self.processes[region].peers).is_err() {
            assert!(begun.elapsed() < START_WAIT_MAX, "{}", self.logs());
            sleep(Duration::from_millis(20));
        }
    }

    /// Where clients reach a region.
    pub(crate) fn address(&self, region: usize) -> SocketAddr {
        self.processes[region].clients
    }

    /// Whether the processes sign resource tokens with the same secret, and keep it.
    pub(crate) fn shares_token_secret(&self) -> bool {
        let secrets = self.processes.iter().map(|process| {
            // The directory of the data is beside the log.
            let directory = process.log.with_extension("");
            fs::read(directory.join("token-secret")).ok()
        });
        let secrets: BTreeSet<_> = secrets.collect();
        secrets.len() == 1 && !secrets.contains(&None)
    }

    /// Kills the process, so that no code of the process runs again.
    pub(crate) fn kill(&self, region: usize) {
        let mut child = self.child(region);
        let child = child.as_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn restart(&self, region: usize) {
        let process = &self.processes[region];
        *self.child(region) = Some(start(&process.arguments, &process.log));
    }

    /// `-STOP` or `-CONT`.
    pub(crate) fn signal(&self, region: usize, signal: &str) {
        let pid = self.child(region).as_ref().unwrap().id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status();
        assert!(status.unwrap().success());
    }

    /// Gives an order to the process of a region; the status of the answer.
    pub(crate) fn order(&self, region: usize, path: &str, body: &str) -> io::Result<u16> {
        let (status, _) = self.ask(region, "POST", path, body)?;
        Ok(status)
    }

    /// The report of one process about the account.
    pub(crate) fn report(&self, region: usize) -> io::Result<serde_json::Value> {
        let (_, body) = self.ask(region, "GET", "/account", "")?;
        serde_json::from_str(&body).map_err(io::Error::other)
    }

    fn ask(
        &self,
        region: usize,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<(u16, String)> {
        let address = self.processes[region].management;
        let mut stream = TcpStream::connect_timeout(&address, ORDER_TIMEOUT)?;
        stream.set_read_timeout(Some(ORDER_TIMEOUT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {MANAGEMENT_KEY}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
    }

    /// What the processes have logged, for a test that fails.
    pub(crate) fn logs(&self) -> String {
        let logs = self.processes.iter();
        let logs = logs.map(|process| fs::read_to_string(&process.log).unwrap_or_default());
        logs.collect::<Vec<_>>().join("\n---\n")
    }

    fn child(&self, region: usize) -> std::sync::MutexGuard<'_, Option<Child>> {
        let child = self.processes[region].child.lock();
        child.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let child = process
                .child
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(child) = child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// The program with an environment that no setting of the developer reaches.
fn orrery() -> Command {
    let mut command = Command::new(PROGRAM);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ORRERY_") {
            command.env_remove(name);
        }
    }
    command
}

fn start(arguments: &[String], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log);
    let mut command = orrery();
    command.args([
        "serve",
        "--tls=off",
        "--throughput=off",
        "--ready-json",
        "--log=warn",
    ]);
    command.args(arguments).stdin(Stdio::null());
    command
        .stdout(Stdio::piped())
        .stderr(log.unwrap())
        .spawn()
        .unwrap()
}

fn free_addresses(random: &mut Random) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    while found.len() < REGIONS.len() {
        let port = PORTS.start + random.below(PORTS.end - PORTS.start);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, u16::try_from(port).unwrap()));
        if !found.contains(&address) && TcpListener::bind(address).is_ok() {
            found.push(address);
        }
    }
    found
}
