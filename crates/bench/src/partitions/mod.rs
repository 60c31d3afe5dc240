//! Physical partitions and the change feed: how fast they are read, what moving them costs others,
//! and whether budgets hold.
//!
//! Where two things are compared they take turns, so that whatever else the machine does meets
//! both. One container with as many logical partitions as items serves three measurements: its feed
//! is streamed, it is split and merged, and then it is compared with one of a hundred keys.

mod big;
mod budgets;
mod feed;
mod keys;
mod living;
mod markdown;
mod operators;
mod report;
mod throttle;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::date::unix_seconds;
use crate::driver::{Drive, Measurement, Span, drive};
use crate::endpoint::Endpoint;
use crate::keyspace::KeySpace;
use crate::load::{create_container, load};
use crate::machine::{Machine, command_line};
use crate::options::Options;
use crate::plan::plan;
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, ServerProgram, data_directory};
use crate::signature::Signer;
use crate::workload::Mix;

pub(crate) use keys::{checked, compare};
pub use report::{
    BigReport, BudgetReport, KeysReport, LatencyReport, LivingReport, PairReport, PartitionsReport,
    ThrottleReport,
};

/// Of containers that are only read and changed in place.
const SMALL_ITEMS_MAX: u64 = 100_000;

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<PartitionsReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let stage = |title| show_stage(options.progress, title);
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let bench = Bench { options, server };

    stage("change feed and splits of a big partition");
    let many = bench.filled("many", options.items(), None, None).await?;
    let big = big::measure(&bench, &many).await?;
    stage("many keys and few");
    let few = bench.filled("few", options.items(), Some(keys::FEW), None);
    let few = few.await?;
    let keys = keys::measure(&bench, &many, &few).await?;
    stage("splits and merges under load");
    let living = living::measure(&bench).await?;
    stage("budgets");
    let metered_directory = data_directory(options)?;
    let server = ServerProcess::start_metered(program, metered_directory.path()).await?;
    let metered = Bench { options, server };
    let budgets = budgets::measure(&bench, &metered).await?;
    stage("throttling");
    let throttle = throttle::measure(&metered).await?;
    stage("");
    Ok(PartitionsReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine: Machine::look(&folder),
        settings: program.settings.clone(),
        value_bytes: options.value_bytes,
        rounds: options.rounds,
        targets: report::judge(&big, &living, &budgets, &keys, &throttle),
        big,
        living,
        budgets,
        keys,
        throttle,
    })
}

/// A server, and how to measure it.
struct Bench<'a> {
    options: &'a Options,
    server: ServerProcess,
}

impl Bench<'_> {
    /// A new container with so many items: each with a key of its own, or all over a few.
    async fn filled(
        &self,
        container: &str,
        items: u64,
        few: Option<u64>,
        throughput: Option<u32>,
    ) -> Result<Drive> {
        let options = Options {
            endpoint: Some(self.server.endpoint.clone()),
            ..self.options.clone()
        };
        let mut keys = KeySpace::new(items, unix_seconds());
        if let Some(few) = few {
            keys = keys.over(few);
        }
        let filled = Drive {
            target: self.target(container)?,
            keys: Arc::new(keys),
            ..plan(&options)?
        };
        create_container(&filled.target, throughput).await?;
        let loaded = load(&filled).await.context(container.to_owned())?;
        ensure!(
            loaded.created == items,
            "{} of {items} items were loaded",
            loaded.created
        );
        Ok(filled)
    }

    fn target(&self, container: &str) -> Result<Target> {
        let endpoint = Endpoint::parse(&self.server.endpoint)?;
        let signer = Signer::new(&self.options.key)?;
        Target::new(endpoint, signer, [&self.options.database, container])
    }

    fn slice(&self) -> Duration {
        let all = Duration::from_secs(self.options.duration);
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(all / u32::from(self.options.rounds))
    }

    /// One slice of a comparison; the first of a side warms up for longer.
    async fn drive(&self, plan: &Drive, mix: &Mix, round: u16) -> Result<Measurement> {
        let first = if round == 0 { self.options.warmup } else { 0 };
        let span = Span::Timed {
            warmup: Duration::from_secs(first).max(self.slice() / 10),
            duration: self.slice(),
        };
        let title = plan.target.container.clone();
        drive(&Drive {
            title,
            mix: mix.clone(),
            span,
            ..plan.clone()
        })
        .await
    }
}
