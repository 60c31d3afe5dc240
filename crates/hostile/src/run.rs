//! One run: a quiet server, each attack alone, all of them at once, the time after, a kill.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::arguments::Options;
use crate::attack::{Attack, Tally};
use crate::attacks::ATTACKS;
use crate::honest::HonestClients;
use crate::regions::Regions;
use crate::rest::{Client, Credential, Request};
use crate::server::{MemoryWatch, Server};
use crate::table::{self, Row, latency, megabytes, p99};
use crate::target::{Orders, Target};
use crate::world;

/// The time in which honest latencies are measured without any attack.
const QUIET: Duration = Duration::from_secs(5);
/// Within this time after the last attack the server must behave as before.
const RECOVERY: Duration = Duration::from_secs(10);
/// The time in which honest clients are observed after the recovery.
const AFTER: Duration = Duration::from_secs(5);
/// The memory that the server may use beyond its limit for requests.
const MEMORY_BESIDE_MIB: u64 = 300;
/// A region must join within this time although attackers crowd its port.
const JOINING_MAX: Duration = Duration::from_mins(1);
/// The connections of an attack that runs alone.
const CONNECTIONS_ALONE: usize = 200;

/// Runs the whole program. Returns whether the run found no problem.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting a runtime")?;
    runtime.block_on(attack_server(options))
}

/// Runs the whole program. Prints every problem, and returns whether there was none.
async fn attack_server(options: &Options) -> Result<bool> {
    let attacks: Vec<_> = ATTACKS
        .iter()
        .filter(|attack| {
            options
                .only
                .as_ref()
                .is_none_or(|part| attack.name.contains(part))
        })
        .collect();
    if attacks.is_empty() {
        bail!("no attack has such a name; `orrery-hostile list` prints all of them");
    }
    let directories = RunDirectories::make(options)?;
    let plain = ["--listen=127.0.0.1:0".to_owned(), "--tls=off".to_owned()];
    let mut server = Server::start(options, &directories.data, &plain)?;
    let mut regions = Regions::start(options, &directories.regions)?;
    // The run exists before the first measurement, so that its creation is not measured.
    let target = world::make(server.address, &regions).await?;
    let memory = server.memory();
    let honest = HonestClients::new(server.address);
    let mut clients = JoinSet::new();
    honest.start(&mut clients);
    let mut run = AttackRun {
        target,
        memory,
        honest,
        problems: Vec::new(),
    };

    let quiet_p99 = run.quiet().await;
    table::print_header();
    if options.alone_seconds > 0 {
        for attack in &attacks {
            let connections = attack.connections_max.min(CONNECTIONS_ALONE);
            let time = Duration::from_secs(options.alone_seconds);
            run.attack(attack.name, &[(attack, connections)], time)
                .await?;
            server.check_alive()?;
        }
    }
    let shares = shares(&attacks, options.connections);
    let time = Duration::from_secs(options.seconds);
    let attack = run.attack("all at once", &shares, time);
    let joining = async {
        // By now the attackers have opened their connections to the port for regions.
        tokio::time::sleep(time / 3).await;
        // The start of a region blocks its thread.
        tokio::task::block_in_place(|| regions.join(options))
    };
    let (row, joined) = tokio::join!(attack, joining);
    let row = row?;
    run.judge_joining(joined?);
    server.check_alive()?;
    regions.check_alive()?;
    run.judge_figures(options, quiet_p99, &row);
    run.judge_recovery().await?;

    // The set of acknowledged items must no longer grow when it is verified.
    run.honest.stop();
    while let Some(client) = clients.join_next().await {
        client.context("an honest client panicked")??;
    }
    // Before the kill: an item that is missing here was not lost by the restart.
    let verified = run.honest.verify(server.address).await?;
    server.kill()?;
    let server = Server::start(options, &directories.data, &plain)?;
    let verified_after_kill = run.honest.verify(server.address).await?;
    println!();
    println!(
        "acknowledged creates: {verified}, all there; after a kill and a start: {verified_after_kill}"
    );
    for problem in &run.problems {
        println!("PROBLEM: {problem}");
    }
    let is_well = run.problems.is_empty();
    println!(
        "{}",
        if is_well {
            "test result: ok. 1 passed; 0 failed"
        } else {
            "test result: FAILED. 0 passed; 1 failed"
        }
    );
    Ok(is_well)
}

/// The number of connections of each attack, by its weight.
fn shares(attacks: &[&'static Attack], connections: usize) -> Vec<(&'static Attack, usize)> {
    let weights: usize = attacks.iter().map(|attack| attack.weight).sum();
    let part = |attack: &&'static Attack| {
        let part = (connections * attack.weight).div_ceil(weights);
        (*attack, part.min(attack.connections_max))
    };
    let mut shares: Vec<_> = attacks.iter().map(part).collect();
    let given: usize = shares.iter().map(|(_, part)| part).sum();
    // The first attack receives the connections that other attacks cannot use.
    shares[0].1 =
        (shares[0].1 + connections.saturating_sub(given)).min(shares[0].0.connections_max);
    shares
}

/// The directories of all servers, in one temporary directory that ends with this value.
struct RunDirectories {
    data: PathBuf,
    regions: PathBuf,
    _directory: tempfile::TempDir,
}

impl RunDirectories {
    fn make(options: &Options) -> Result<RunDirectories> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("orrery-hostile-");
        let directory = match &options.data_dir {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        }
        .context("creating a directory for the server")?;
        Ok(RunDirectories {
            data: directory.path().join("data"),
            regions: directory.path().join("regions"),
            _directory: directory,
        })
    }
}

/// The state of one run, and the problems that it has found.
struct AttackRun {
    target: Target,
    memory: MemoryWatch,
    honest: HonestClients,
    problems: Vec<String>,
}

impl AttackRun {
    /// Measures the honest clients on the server without attacks.
    async fn quiet(&mut self) -> Duration {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The first second warms up connections and caches, and does not count.
        self.honest.take_results();
        tokio::time::sleep(QUIET).await;
        let results = self.honest.take_results();
        println!(
            "quiet server: {} reads, p99 {}; {} creates; {} MB\n",
            results.reads.len(),
            latency(p99(&results)),
            results.creates.len(),
            megabytes(self.memory.now())
        );
        p99(&results)
    }

    /// Runs attacks for some time, and prints the row of the table.
    async fn attack(
        &mut self,
        name: &str,
        attacks: &[(&'static Attack, usize)],
        time: Duration,
    ) -> Result<Row> {
        let memory_before = self.memory.now();
        // Both figures begin anew, so that a row shows this attack only.
        self.memory.take_peak();
        self.honest.take_results();
        let tallies = attackers(&self.target, attacks, time).await?;
        let row = Row {
            name: name.to_owned(),
            connections: attacks.iter().map(|(_, connections)| connections).sum(),
            tally: total(&tallies),
            memory_before,
            memory_peak: self.memory.take_peak(),
            memory_after: self.memory.now(),
            honest: self.honest.take_results(),
        };
        table::print_row(&row);
        if row.tally.has_disclosed_a_secret() {
            self.problems.push(format!(
                "{name}: a token of one key was told items of another"
            ));
        }
        Ok(row)
    }

    /// Checks what must hold while all attacks run: the memory of the server and the latency of
    /// honest reads have limits.
    fn judge_figures(&mut self, options: &Options, quiet_p99: Duration, row: &Row) {
        let memory_max = (options.memory_mib + MEMORY_BESIDE_MIB) << 20;
        if row.memory_peak > memory_max {
            let peak = megabytes(row.memory_peak);
            self.problems.push(format!("the server took {peak} MB"));
        }
        let p99 = p99(&row.honest);
        if !options.without_latency && p99 > quiet_p99.mul_f64(options.slower_max) {
            self.problems.push(format!(
                "honest reads had a p99 of {}, on the quiet server {}",
                latency(p99),
                latency(quiet_p99)
            ));
        }
    }

    /// Checks that a region joined in time while attackers crowded the port for regions.
    fn judge_joining(&mut self, duration: Duration) {
        println!("\na region joined in {}", latency(duration));
        if duration > JOINING_MAX {
            self.problems
                .push("silent connections kept a region away".to_owned());
        }
    }

    /// Checks what must hold soon after the attacks: honest requests succeed, and the server is
    /// ready.
    async fn judge_recovery(&mut self) -> Result<()> {
        tokio::time::sleep(RECOVERY).await;
        self.honest.take_results();
        tokio::time::sleep(AFTER).await;
        let results = self.honest.take_results();
        println!(
            "\n{} s after: {} reads, p99 {}; {} failures; {} MB",
            RECOVERY.as_secs(),
            results.reads.len(),
            latency(p99(&results)),
            results.failures,
            megabytes(self.memory.now())
        );
        if results.failures > 0 {
            self.problems.push(format!(
                "{} honest requests failed after the attack",
                results.failures
            ));
        }
        let ready = Request {
            method: "GET",
            path: "/ready",
            ..Request::default()
        };
        let mut client = Client::new(self.target.address, Credential::None);
        let status = client.request(ready).await?.status;
        if status != 200 {
            self.problems
                .push(format!("/ready is {status} after the attack"));
        }
        Ok(())
    }
}

/// Adds up the tallies of all attacks.
fn total(tallies: &[(String, Tally)]) -> Tally {
    let mut total = Tally::default();
    for (_, tally) in tallies {
        total.add(tally);
    }
    total
}

/// Starts this program as attackers and waits for their tallies.
async fn attackers(
    target: &Target,
    attacks: &[(&'static Attack, usize)],
    time: Duration,
) -> Result<Vec<(String, Tally)>> {
    let orders = Orders {
        target: target.clone(),
        milliseconds: u64::try_from(time.as_millis())?,
        attacks: attacks
            .iter()
            .map(|(attack, part)| (attack.name.to_owned(), *part))
            .collect(),
    };
    let mut child = Command::new(std::env::current_exe()?)
        .arg("attackers")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // An error in this process must not leave attackers behind.
        .kill_on_drop(true)
        .spawn()
        .context("starting the attackers")?;
    let mut input = child.stdin.take().context("no standard input")?;
    input
        .write_all(serde_json::to_string(&orders)?.as_bytes())
        .await?;
    // The attackers read to the end of the input before they begin.
    drop(input);
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        bail!("the attackers failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("what the attackers met")
}
