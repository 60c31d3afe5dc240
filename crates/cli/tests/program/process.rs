//! Runs the built program, and asks a running one over a plain socket.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde::Deserialize;

const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The line of `--ready-json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Announcement {
    pub(crate) ready: bool,
    pub(crate) endpoint: String,
    pub(crate) key: Option<String>,
    pub(crate) certificate: Option<String>,
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) durability: String,
    pub(crate) cache_bytes: u64,
    /// Where clients in direct mode connect.
    pub(crate) direct: Option<String>,
    /// Of an account with regions.
    pub(crate) account: Option<String>,
    pub(crate) regions: Option<Vec<Region>>,
    pub(crate) management: Option<Management>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Region {
    pub(crate) name: String,
    pub(crate) endpoint: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Management {
    pub(crate) endpoint: String,
    pub(crate) key: Option<String>,
    pub(crate) key_file: Option<String>,
}

/// A running server; it is killed with this value.
pub(crate) struct Server {
    process: Child,
    stdout: BufReader<std::process::ChildStdout>,
    pub(crate) ready: Announcement,
}

/// The program with an environment that no setting of the developer reaches.
pub(crate) fn orrery<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ORRERY_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn check(directory: &Path) -> Output {
    orrery(["check"]).arg(directory).output().unwrap()
}

impl Server {
    /// Without TLS, on any free port.
    pub(crate) fn start(mut command: Command) -> Server {
        command.args(["--listen", "127.0.0.1:0", "--tls", "off"]);
        command.args(["--throughput", "off", "--ready-json"]);
        Server::start_as_is(command)
    }

    pub(crate) fn start_as_is(mut command: Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Server {
            process,
            stdout,
            ready,
        }
    }

    /// The status line and the body of an answer.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.get_at(&self.ready.endpoint, path)
    }

    #[expect(clippy::unused_self, reason = "only while it runs")]
    pub(crate) fn get_at(&self, endpoint: &str, path: &str) -> (String, String) {
        let address = endpoint
            .strip_prefix("http://")
            .unwrap()
            .trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// Asks politely; gives the exit code and what else was printed on standard output.
    #[cfg(unix)]
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
