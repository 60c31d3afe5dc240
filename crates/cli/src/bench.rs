//! `orrery bench`: the load driver, and a server for it when none is named.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use orrery_bench::{Options, Workload};
use serde::Deserialize;
use tempfile::TempDir;

use crate::env_vars;

/// Settings of a server that is not this one; how fast it is may still be set from outside.
const NOT_INHERITED: [&str; 4] = [
    env_vars::CONFIG,
    env_vars::KEY_FILE,
    env_vars::SEED,
    env_vars::ADVERTISE,
];

pub(crate) async fn bench(mut options: Options) -> Result<()> {
    // Held until the end of the run: dropping it stops the server.
    let _server = if options.endpoint.is_none() && options.workload != Workload::Postgres {
        let server = Server::start(&options)?;
        options.endpoint = Some(server.endpoint.clone());
        Some(server)
    } else {
        None
    };
    let json = options.json;
    let report = orrery_bench::run(options).await?;
    let text = if json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.to_string()
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write the report")
}

/// A server in a process of its own, as a user runs it, on a directory of its own.
struct Server {
    process: Child,
    endpoint: String,
    _directory: TempDir,
}

#[derive(Deserialize)]
struct Ready {
    endpoint: String,
}

impl Server {
    fn start(options: &Options) -> Result<Server> {
        let mut temporary = tempfile::Builder::new();
        temporary.prefix("orrery-bench-");
        let directory = match &options.data_dir {
            Some(parent) => temporary.tempdir_in(parent),
            None => temporary.tempdir(),
        };
        let directory = directory.context("cannot make a directory for the server")?;
        let program = match &options.server {
            Some(program) => program.clone(),
            None => std::env::current_exe().context("cannot find the running program")?,
        };
        let mut command = Command::new(&program);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        let mut process = command
            .env(env_vars::KEY, &options.key)
            .args([
                "serve",
                "--listen=127.0.0.1:0",
                "--tls=off",
                "--ready-json",
                "--log=warn",
            ])
            .arg("--data")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = process
            .stdout
            .take()
            .context("the server has no standard output")?;
        let mut server = Server {
            process,
            endpoint: String::new(),
            _directory: directory,
        };
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .context("cannot read from the server")?;
        let ready: Ready =
            serde_json::from_str(&line).context("the server ended before it was ready")?;
        server.endpoint = ready.endpoint;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data is thrown away with it, so nothing is lost by not asking politely.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
