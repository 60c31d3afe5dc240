//! The effect on a client of one region in an account where all regions write.  The other region
//! applies every write on the same processors and disk, unlike a region on a separate machine.
//! Therefore creates are also measured while the links are paused, so that the other region
//! receives the records afterwards; and at a fixed rate that leaves both regions enough processor
//! time, by the median time of a create.

use std::time::Instant;

use anyhow::Result;

use super::RegionsBench;
use super::account::{RegionsServer, filled, target};
use super::operator::RegionsOperator;
use super::report::LocalReport;
use super::schedule::SendSchedule;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::client_pool::ClientPool;
use crate::driver::{MeasurementPlan, Span, drive};
use crate::partitions::{checked, compare};
use crate::server::{RegionsPlan, ServerProcess, data_directory};
use crate::workload::Mix;

pub(super) const ITEMS_MAX: u64 = 20_000;
const CONTAINER: &str = "local";
/// The rate of creates of all connections together, for the measurement at a fixed rate.
const STEADY_PER_SECOND: u32 = 1_000;

pub(super) enum Load {
    /// Unlimited operations, as fast as the connections send.
    Full(Mix),
    /// Unlimited operations, while the links to the other region are paused.
    HeldBack(Mix),
    /// Creates at a steady rate.
    Steady,
}

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<Vec<LocalReport>> {
    let multi_write = RegionsPlan {
        is_multi_write: true,
        ..RegionsPlan::default()
    };
    let items = bench.options.items().min(ITEMS_MAX);
    let mut account = RegionsServer::start(bench, 2, multi_write).await?;
    let regional = account.filled(CONTAINER, items).await?;
    let directory = data_directory(bench.options)?;
    let server = ServerProcess::start(bench.program, directory.path()).await?;
    let base = target(bench.options, &server.endpoint, CONTAINER)?;
    let base = filled(bench.options, base, items).await?;
    let mut both = LocalComparison {
        bench,
        operator: &mut account.operator,
        regional,
        base,
    };
    // Creates have no target here: the other region applies each create on the same processors.
    both.compare(&[
        ("point reads", Load::Full(Mix::ReadUniform), true),
        ("creates", Load::Full(Mix::Create), false),
        (
            "creates, records held back",
            Load::HeldBack(Mix::Create),
            false,
        ),
        (
            "creates, 1,000 a second, each in its time",
            Load::Steady,
            false,
        ),
    ])
    .await
}

/// A region of an account where all regions write, and a server without regions.
pub(super) struct LocalComparison<'a> {
    pub(super) bench: &'a RegionsBench<'a>,
    pub(super) operator: &'a mut RegionsOperator,
    pub(super) regional: MeasurementPlan,
    pub(super) base: MeasurementPlan,
}

impl LocalComparison<'_> {
    /// Compares operations. Each operation has a name and a flag. The flag says whether its ratio
    /// has a target.
    pub(super) async fn compare(
        &mut self,
        operations: &[(&'static str, Load, bool)],
    ) -> Result<Vec<LocalReport>> {
        let mut reports = Vec::new();
        for connections in [self.bench.options.connections, 1] {
            for (operation, load, is_judged) in operations {
                let mut pairs = Vec::new();
                for round in 0..self.bench.options.rounds {
                    pairs.push(self.round(load, connections, round).await?);
                }
                reports.push(LocalReport {
                    operation,
                    connections,
                    is_judged: *is_judged,
                    rates: compare(&pairs),
                });
            }
        }
        Ok(reports)
    }

    /// The rates with and without regions. Each side is first in every second round.
    async fn round(&mut self, load: &Load, connections: u16, round: u16) -> Result<[f64; 2]> {
        let mut rates = [0.0; 2];
        let sides = if round.is_multiple_of(2) {
            [0, 1]
        } else {
            [1, 0]
        };
        // Each side runs alone, because two servers under load at once would share the processors.
        for side in sides {
            let plan = if side == 0 {
                &self.regional
            } else {
                &self.base
            };
            rates[side] = match load {
                Load::Full(mix) => rate(self.bench, plan, mix, connections).await?,
                Load::HeldBack(mix) => {
                    if side == 0 {
                        self.operator.pause().await?;
                    }
                    let rate = rate(self.bench, plan, mix, connections).await?;
                    if side == 0 {
                        self.operator.resume().await?;
                    }
                    rate
                }
                Load::Steady => steady(self.bench, plan, connections, round).await?,
            };
            // The records of this slice must not be applied during the next one.
            self.operator.settle().await?;
        }
        Ok(rates)
    }
}

/// The rate of a mix on one side.
async fn rate(
    bench: &RegionsBench<'_>,
    plan: &MeasurementPlan,
    mix: &Mix,
    connections: u16,
) -> Result<f64> {
    let measured = drive(&MeasurementPlan {
        title: CONTAINER.to_owned(),
        mix: mix.clone(),
        connections,
        span: Span::Timed {
            warmup: bench.slice() / 5,
            duration: bench.slice(),
        },
        ..plan.clone()
    })
    .await?;
    checked(&measured)
}

/// The creates that one connection could do one after the other in a second, if each took the
/// median time at the fixed rate.
async fn steady(
    bench: &RegionsBench<'_>,
    plan: &MeasurementPlan,
    connections: u16,
    round: u16,
) -> Result<f64> {
    let (shape, duration) = (plan.shape, bench.slice());
    let pool = ClientPool {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let times = pool.work(move |client| async move {
        let number = client.number;
        let mut pace = SendSchedule::new(STEADY_PER_SECOND, connections, number);
        let mut writer = Writer::of(client, shape);
        let mut times = Vec::new();
        let begun = Instant::now();
        while times.is_empty() || begun.elapsed() < duration {
            pace.turn().await;
            let id = format!("s{connections}-{round}-{number}-{}", times.len());
            times.push(writer.create(&id).await?);
        }
        Ok(times)
    });
    let times: Vec<Vec<_>> = times.await?;
    let times = SpreadReport::of(times.into_iter().flatten().collect())?;
    // The reciprocal of the median time, so that the figure compares like a rate.
    Ok(1_000.0 / times.p50_ms)
}
