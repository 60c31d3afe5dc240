//! The server as a process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::Client;

const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
const PROGRAM: &str = env!("CARGO_BIN_EXE_orrery");

pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    pub(crate) time_to_ready: Duration,
    /// Kept open: a server whose standard output is gone may not like it.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a server on a free port and waits until it is ready.
    pub(crate) fn start(data: &Path) -> Server {
        Server::try_start(Command::new(PROGRAM), data).unwrap_or_else(|said| panic!("{said}"))
    }

    /// A server that may do only what a limit of the shell allows, such as `ulimit -f 100`; or what it said
    /// instead of getting ready.
    #[cfg(unix)]
    pub(crate) fn start_within(limit: &str, data: &Path) -> Result<Server, String> {
        let mut shell = Command::new("sh");
        // The trap makes a write beyond the limit of the file size an error; the signal XFSZ would
        // kill the server.
        let script = format!("trap '' XFSZ; {limit}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, PROGRAM]);
        Server::try_start(shell, data)
    }

    fn try_start(mut command: Command, data: &Path) -> Result<Server, String> {
        let begun = Instant::now();
        let log = data.with_extension("log");
        let stderr = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let mut child = command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--tls",
                "off",
                "--throughput=off",
                "--ready-json",
                "--log",
                "warn",
            ])
            .arg("--data")
            .arg(data)
            // A procedure does not run out of time because the machine is busy.
            .env("ORRERY_SCRIPT_TIME", "60000")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Ok(ready) = serde_json::from_str::<serde_json::Value>(&line) else {
            child.wait().unwrap();
            let said = std::fs::read_to_string(&log).unwrap();
            return Err(format!("the server did not get ready: {line}\n{said}"));
        };
        let endpoint = ready["endpoint"].as_str().unwrap();
        let address = endpoint.trim_start_matches("http://").trim_end_matches('/');
        Ok(Server {
            address: address.parse().unwrap(),
            time_to_ready: begun.elapsed(),
            child,
            _stdout: stdout,
        })
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address, ANSWER_TIMEOUT).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn client_with(&self, patience: Duration) -> std::io::Result<Client> {
        Client::connect(self.address, patience)
    }

    /// Whether it still runs.
    #[cfg(unix)]
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Kills the process with SIGKILL, or the equivalent of the system: no code of the process runs
    /// again.
    /// Asks the server to end in order, which writes its state out.
    #[cfg(unix)]
    pub(crate) fn stop(&mut self) {
        let mut kill = Command::new("kill");
        kill.arg("-TERM").arg(self.child.id().to_string());
        assert!(kill.status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already dead unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `orrery check` says: the count of documents and whether they are clean.
pub(crate) fn check(data: &Path) -> String {
    let output = Command::new(PROGRAM)
        .arg("check")
        .arg(data)
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let documents = report
        .lines()
        .find_map(|line| line.trim().strip_prefix("documents"))
        .and_then(|rest| rest.split_whitespace().next());
    match documents {
        Some(documents) if output.status.success() => format!("{documents} documents, clean"),
        _ => format!("{report}{}", String::from_utf8_lossy(&output.stderr)),
    }
}
