//! Starts the server under test and says where it listens.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

use serde::Deserialize;

/// What the ready line says.
#[derive(Deserialize)]
pub struct Server {
    pub endpoint: String,
    pub key: String,
}

pub static SERVER: LazyLock<Server> = LazyLock::new(|| start("off"));

/// Starts a server, which enforces throughput or does not.
pub fn start(throughput: &'static str) -> Server {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || keep(throughput, &sender));
    receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("the server becomes ready")
}

/// Runs the server for as long as this process lives. The test harness has no hook for its own end,
/// so the kernel is asked to end the server together with this thread, which waits for it.
fn keep(throughput: &str, ready: &mpsc::Sender<Server>) {
    let binary = std::env::var("ORRERY_BIN").expect("ORRERY_BIN is the path of the orrery binary");
    let mut command = Command::new(binary);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--tls", "off"])
        .args(["--memory", "--throughput", throughput, "--ready-json"])
        .stdout(Stdio::piped());
    // SAFETY: prctl is safe to call between fork and exec, and touches nothing of ours.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    let mut process = command.spawn().expect("the server starts");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("stdout is a pipe"))
        .read_line(&mut line)
        .expect("the server writes a ready line");
    let server = serde_json::from_str(&line).unwrap_or_else(|e| panic!("ready line {line:?}: {e}"));
    ready.send(server).expect("the first test waits");
    let _ = process.wait();
}
