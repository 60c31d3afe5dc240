//! What a client of one region notices of an account in which all regions write.
//!
//! The other region applies every write on the same processors and disk, which is not what a region on
//! a machine of its own meets. So creates are also measured while no records go to the other region,
//! which gets them afterwards.

use anyhow::Result;

use super::Bench;
use super::account::{Account, filled, target};
use super::report::LocalReport;
use crate::driver::{Drive, Span, drive};
use crate::partitions::{checked, compare};
use crate::server::{RegionsPlan, ServerProcess, data_directory};
use crate::workload::Mix;

const ITEMS_MAX: u64 = 20_000;
const CONTAINER: &str = "local";

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
        account,
        regional,
        base,
    };
    let mut reports = Vec::new();
    for connections in [bench.options.connections, 1] {
        for (operation, mix, is_paused) in [
            ("point reads", Mix::ReadUniform, false),
            ("creates", Mix::Create, false),
            ("creates, records held back", Mix::Create, true),
        ] {
            let mut pairs = Vec::new();
            for round in 0..bench.options.rounds {
                pairs.push(both.round(&mix, connections, is_paused, round).await?);
            }
            reports.push(LocalReport {
                operation,
                connections,
                rates: compare(&pairs),
            });
        }
    }
    Ok(reports)
}

struct Both<'a> {
    bench: &'a Bench<'a>,
    account: Account<'a>,
    regional: Drive,
    base: Drive,
}

impl Both<'_> {
    /// Operations a second with regions and without, each first by turns.
    async fn round(
        &mut self,
        mix: &Mix,
        connections: u16,
        is_paused: bool,
        round: u16,
    ) -> Result<[f64; 2]> {
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
            if is_paused && side == 0 {
                self.account.operator.pause().await?;
            }
            rates[side] = rate(self.bench, plan, mix, connections).await?;
            if is_paused && side == 0 {
                self.account.operator.resume().await?;
            }
            self.account.operator.settle().await?;
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
