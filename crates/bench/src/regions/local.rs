//! What a client of one region notices of an account in which all regions write.
//!
//! The other region applies every write on the same processors and disk, which is not what a region on
//! a machine of its own meets. So creates are also measured while no records go to the other region,
//! which gets them afterwards; and at a rate that leaves both regions what they need, by how long the
//! median of them takes.

use std::time::Instant;

use anyhow::Result;

use super::Bench;
use super::account::{Account, filled, target};
use super::operator::Operator;
use super::pace::Pace;
use super::report::LocalReport;
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::crew::Crew;
use crate::driver::{Drive, Span, drive};
use crate::partitions::{checked, compare};
use crate::server::{RegionsPlan, ServerProcess, data_directory};
use crate::workload::Mix;

pub(super) const ITEMS_MAX: u64 = 20_000;
const CONTAINER: &str = "local";
/// Creates of all connections together, where they are not as many as can be.
const STEADY_PER_SECOND: u32 = 1_000;

pub(super) enum Load {
    /// As much as the connections can.
    Full(Mix),
    /// The same, and no records go to the other region meanwhile.
    HeldBack(Mix),
    /// Creates at a steady rate.
    Steady,
}

pub(super) async fn measure(bench: &Bench<'_>) -> Result<Vec<LocalReport>> {
    let multi_write = RegionsPlan {
        is_multi_write: true,
        ..RegionsPlan::default()
    };
    let items = bench.options.items().min(ITEMS_MAX);
    let mut account = Account::start(bench, 2, multi_write).await?;
    let regional = account.filled(CONTAINER, items).await?;
    let directory = data_directory(bench.options)?;
    let server = ServerProcess::start(bench.program, directory.path()).await?;
    let base = target(bench.options, &server.endpoint, CONTAINER)?;
    let base = filled(bench.options, base, items).await?;
    let mut both = Both {
        bench,
        operator: &mut account.operator,
        regional,
        base,
    };
    // What the other region does of creates it does on the same processors.
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

/// A region of an account in which all write, and a server without regions.
pub(super) struct Both<'a> {
    pub(super) bench: &'a Bench<'a>,
    pub(super) operator: &'a mut Operator,
    pub(super) regional: Drive,
    pub(super) base: Drive,
}

impl Both<'_> {
    /// What is done, with its name and whether it is judged.
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

    /// Operations a second with regions and without, each first by turns.
    async fn round(&mut self, load: &Load, connections: u16, round: u16) -> Result<[f64; 2]> {
        let mut rates = [0.0; 2];
        let sides = if round.is_multiple_of(2) {
            [0, 1]
        } else {
            [1, 0]
        };
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
            self.operator.settle().await?;
        }
        Ok(rates)
    }
}

async fn rate(bench: &Bench<'_>, plan: &Drive, mix: &Mix, connections: u16) -> Result<f64> {
    let measured = drive(&Drive {
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

/// How many creates a connection could do one after the other if each took as long as the median does at a
/// steady rate.
async fn steady(bench: &Bench<'_>, plan: &Drive, connections: u16, round: u16) -> Result<f64> {
    let (shape, duration) = (plan.shape, bench.slice());
    let crew = Crew {
        target: plan.target.clone(),
        connections,
        threads: 1,
    };
    let times = crew.work(move |member| async move {
        let number = member.number;
        let mut pace = Pace::new(STEADY_PER_SECOND, connections, number);
        let mut writer = Writer::of(member, shape);
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
    Ok(1_000.0 / times.p50_ms)
}
