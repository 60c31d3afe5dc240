//! Physical partitions and the change feed: how fast they are read, what moving them costs others,
//! and whether budgets hold.
//!
//! Where two things are compared they take turns, so that a disturbance of the machine meets both.
//! One container with as many logical partitions as items serves three measurements: its change
//! feed is read, it is split and merged, and then it is compared with a container of a hundred
//! logical partitions.

mod big;
mod budgets;
mod feed;
mod keys;
mod markdown;
mod operators;
mod repartitioning;
mod report;
mod throttle;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_client::Signer;

use crate::driver::{Measurement, MeasurementPlan, Span, drive};
use crate::endpoint::Endpoint;
use crate::item_keys::ItemKeys;
use crate::item_keys::unix_seconds;
use crate::load::{create_container, load};
use crate::machine::{Machine, command_line};
use crate::options::Options;
use crate::plan::plan;
use crate::program::ServerProgram;
use crate::progress::show_stage;
use crate::request::Target;
use crate::server::{ServerProcess, data_directory};
use crate::workload::Mix;

pub(crate) use keys::{checked, compare};
pub use report::{
    BigReport, BudgetReport, KeysReport, LatencyReport, PairReport, PartitionsReport,
    RepartitioningReport, ThrottleReport,
};

/// The largest size of containers whose items are only read and replaced.
const SMALL_ITEMS_MAX: u64 = 100_000;

pub(crate) async fn run(options: &Options, program: &ServerProgram) -> Result<PartitionsReport> {
    let folder = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
    let stage = |title| show_stage(options.progress, title);
    let directory = data_directory(options)?;
    let server = ServerProcess::start(program, directory.path()).await?;
    let bench = PartitionsBench { options, server };

    stage("change feed and splits of a big partition");
    let many_keys = bench
        .filled("many-keys", options.items(), None, None)
        .await?;
    let big = big::measure(&bench, &many_keys).await?;
    stage("many keys and few");
    let few_keys = bench.filled(
        "few-keys",
        options.items(),
        Some(keys::PARTITION_KEYS),
        None,
    );
    let few_keys = few_keys.await?;
    let keys = keys::measure(&bench, &many_keys, &few_keys).await?;
    stage("splits and merges under load");
    let repartitioning = repartitioning::measure(&bench).await?;
    stage("budgets");
    // The first server keeps running, since the budgets are compared with it.
    let metered_directory = data_directory(options)?;
    let server = ServerProcess::start_metered(program, metered_directory.path()).await?;
    let metered = PartitionsBench { options, server };
    let budgets = budgets::measure(&bench, &metered).await?;
    stage("throttling");
    let throttle = throttle::measure(&metered).await?;
    stage("");
    Ok(PartitionsReport {
        command_line: command_line(std::env::args()),
        date: options.date.clone(),
        machine: Machine::detect(&folder),
        settings: program.settings(),
        value_bytes: options.value_bytes,
        rounds: options.rounds,
        targets: report::judge(&big, &repartitioning, &budgets, &keys, &throttle),
        big,
        repartitioning,
        budgets,
        keys,
        throttle,
    })
}

/// A running server, and the options of the measurements on it.
struct PartitionsBench<'a> {
    options: &'a Options,
    server: ServerProcess,
}

impl PartitionsBench<'_> {
    /// Creates a container and loads this many items: each with a partition key of its own, or all
    /// over this number of partition keys.
    async fn filled(
        &self,
        container: &str,
        items: u64,
        partition_keys: Option<u64>,
        throughput: Option<u32>,
    ) -> Result<MeasurementPlan> {
        let options = Options {
            endpoint: Some(self.server.endpoint.clone()),
            ..self.options.clone()
        };
        let mut keys = ItemKeys::new(items, unix_seconds());
        if let Some(partition_keys) = partition_keys {
            keys = keys.over(partition_keys);
        }
        let filled = MeasurementPlan {
            target: self.target(container)?,
            keys: Arc::new(keys),
            ..plan(&options)?
        };
        create_container(&filled.target, throughput).await?;
        let loaded = load(&filled).await.context(container.to_owned())?;
        // Items of an earlier run would have other keys.
        ensure!(
            loaded.created == items,
            "{} of {items} items were loaded",
            loaded.created
        );
        Ok(filled)
    }

    /// A container of this server.
    fn target(&self, container: &str) -> Result<Target> {
        let endpoint = Endpoint::parse(&self.server.endpoint)?;
        let signer = Signer::new(&self.options.key);
        Target::new(endpoint, signer, [&self.options.database, container])
    }

    /// The length of one slice.
    fn slice(&self) -> Duration {
        let all = Duration::from_secs(self.options.duration);
        let slice = self.options.slice_ms.map(Duration::from_millis);
        slice.unwrap_or(all / u32::from(self.options.rounds))
    }

    /// Measures one slice of a comparison. The first slice of a side has the longer warm-up.
    async fn drive(&self, plan: &MeasurementPlan, mix: &Mix, round: u16) -> Result<Measurement> {
        let first = if round == 0 { self.options.warmup } else { 0 };
        let span = Span::Timed {
            warmup: Duration::from_secs(first).max(self.slice() / 10),
            duration: self.slice(),
        };
        let title = plan.target.container.clone();
        drive(&MeasurementPlan {
            title,
            mix: mix.clone(),
            span,
            ..plan.clone()
        })
        .await
    }
}
