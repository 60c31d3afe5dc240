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
use crate::honest::Honest;
use crate::regions::Regions;
use crate::rest::{Client, Credential, Request};
use crate::server::{MemoryWatch, Server};
use crate::table::{self, Row, latency, megabytes, p99};
use crate::target::{Orders, Target};
use crate::world;

const QUIET: Duration = Duration::from_secs(5);
/// Within this time after the last attack everything must be as before.
const RECOVERY: Duration = Duration::from_secs(10);
const AFTER: Duration = Duration::from_secs(5);
/// What the server may take beyond its memory account.
const MEMORY_BESIDE_MIB: u64 = 300;
/// A region joins within this time although others crowd its port.
const JOINING_MAX: Duration = Duration::from_mins(1);
const CONNECTIONS_ALONE: usize = 200;

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
    let place = Place::make(options)?;
    let plain = ["--listen=127.0.0.1:0".to_owned(), "--tls=off".to_owned()];
    let mut server = Server::start(options, &place.data, &plain)?;
    let mut regions = Regions::start(options, &place.regions)?;
    let target = world::make(server.address, &regions).await?;
    let memory = server.memory();
    let honest = Honest::new(server.address);
    let mut clients = JoinSet::new();
    honest.start(&mut clients);
    let mut scene = Scene {
        target,
        memory,
        honest,
        problems: Vec::new(),
    };

    let quiet_p99 = scene.quiet().await;
    table::print_header();
    if options.alone_seconds > 0 {
        for attack in &attacks {
            let connections = attack.connections_max.min(CONNECTIONS_ALONE);
            let time = Duration::from_secs(options.alone_seconds);
            scene
                .attack(attack.name, &[(attack, connections)], time)
                .await?;
            server.check_alive()?;
        }
    }
    let shares = shares(&attacks, options.connections);
    let time = Duration::from_secs(options.seconds);
    let attack = scene.attack("all at once", &shares, time);
    let joining = async {
        tokio::time::sleep(time / 3).await;
        tokio::task::block_in_place(|| regions.join(options))
    };
    let (row, joined) = tokio::join!(attack, joining);
    let row = row?;
    scene.judge_joining(joined?);
    server.check_alive()?;
    regions.check_alive()?;
    scene.judge_figures(options, quiet_p99, &row);
    scene.judge_recovery().await?;

    scene.honest.stop();
    while let Some(client) = clients.join_next().await {
        client.context("an honest client panicked")??;
    }
    let kept = scene.honest.verify(server.address).await?;
    server.kill()?;
    let server = Server::start(options, &place.data, &plain)?;
    let kept_after_kill = scene.honest.verify(server.address).await?;
    println!();
    println!(
        "acknowledged creates: {kept}, all there; after a kill and a start: {kept_after_kill}"
    );
    for problem in &scene.problems {
        println!("PROBLEM: {problem}");
    }
    let is_well = scene.problems.is_empty();
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

/// How many connections each attack gets, by its weight.
fn shares(attacks: &[&'static Attack], connections: usize) -> Vec<(&'static Attack, usize)> {
    let weights: usize = attacks.iter().map(|attack| attack.weight).sum();
    let part = |attack: &&'static Attack| {
        let part = (connections * attack.weight).div_ceil(weights);
        (*attack, part.min(attack.connections_max))
    };
    let mut shares: Vec<_> = attacks.iter().map(part).collect();
    let given: usize = shares.iter().map(|(_, part)| part).sum();
    // Attacks that cannot use their part leave it to the first one.
    shares[0].1 =
        (shares[0].1 + connections.saturating_sub(given)).min(shares[0].0.connections_max);
    shares
}

struct Place {
    data: PathBuf,
    regions: PathBuf,
    _directory: tempfile::TempDir,
}

impl Place {
    fn make(options: &Options) -> Result<Place> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("orrery-hostile-");
        let directory = match &options.data_dir {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        }
        .context("creating a directory for the server")?;
        Ok(Place {
            data: directory.path().join("data"),
            regions: directory.path().join("regions"),
            _directory: directory,
        })
    }
}

struct Scene {
    target: Target,
    memory: MemoryWatch,
    honest: Honest,
    problems: Vec<String>,
}

impl Scene {
    async fn quiet(&mut self) -> Duration {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.honest.take_seen();
        tokio::time::sleep(QUIET).await;
        let seen = self.honest.take_seen();
        println!(
            "quiet server: {} reads, p99 {}; {} creates; {} MB\n",
            seen.reads.len(),
            latency(p99(&seen)),
            seen.creates.len(),
            megabytes(self.memory.now())
        );
        p99(&seen)
    }

    async fn attack(
        &mut self,
        name: &str,
        attacks: &[(&'static Attack, usize)],
        time: Duration,
    ) -> Result<Row> {
        let memory_before = self.memory.now();
        self.memory.take_peak();
        self.honest.take_seen();
        let tallies = attackers(&self.target, attacks, time).await?;
        let row = Row {
            name: name.to_owned(),
            connections: attacks.iter().map(|(_, connections)| connections).sum(),
            tally: total(&tallies),
            memory_before,
            memory_peak: self.memory.take_peak(),
            memory_after: self.memory.now(),
            seen: self.honest.take_seen(),
        };
        table::print_row(&row);
        if row.tally.has_told_a_secret() {
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
        let p99 = p99(&row.seen);
        if !options.without_latency && p99 > quiet_p99.mul_f64(options.slower_max) {
            self.problems.push(format!(
                "honest reads had a p99 of {}, on the quiet server {}",
                latency(p99),
                latency(quiet_p99)
            ));
        }
    }

    /// Checks that a region joined in time while attackers crowded the port for regions.
    fn judge_joining(&mut self, took: Duration) {
        println!("\na region joined in {}", latency(took));
        if took > JOINING_MAX {
            self.problems
                .push("silent connections kept a region away".to_owned());
        }
    }

    /// Checks what must hold soon after the attacks: honest requests succeed, and the server is
    /// ready.
    async fn judge_recovery(&mut self) -> Result<()> {
        tokio::time::sleep(RECOVERY).await;
        self.honest.take_seen();
        tokio::time::sleep(AFTER).await;
        let seen = self.honest.take_seen();
        println!(
            "\n{} s after: {} reads, p99 {}; {} failures; {} MB",
            RECOVERY.as_secs(),
            seen.reads.len(),
            latency(p99(&seen)),
            seen.failures,
            megabytes(self.memory.now())
        );
        if seen.failures > 0 {
            self.problems.push(format!(
                "{} honest requests failed after the attack",
                seen.failures
            ));
        }
        let ready = Request {
            method: "GET",
            path: "/ready",
            ..Request::default()
        };
        let mut client = Client::new(self.target.address, Credential::None);
        let status = client.ask(ready).await?.status;
        if status != 200 {
            self.problems
                .push(format!("/ready is {status} after the attack"));
        }
        Ok(())
    }
}

fn total(tallies: &[(String, Tally)]) -> Tally {
    let mut total = Tally::default();
    for (_, tally) in tallies {
        total.add(tally);
    }
    total
}

/// Starts this program as attackers and waits for what they met.
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
        .kill_on_drop(true)
        .spawn()
        .context("starting the attackers")?;
    let mut input = child.stdin.take().context("no standard input")?;
    input
        .write_all(serde_json::to_string(&orders)?.as_bytes())
        .await?;
    drop(input);
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        bail!("the attackers failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("what the attackers met")
}
