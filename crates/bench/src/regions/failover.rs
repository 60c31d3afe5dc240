//! How long no region takes writes when the write region changes.
//!
//! One client writes all the time and tries the next region after a refusal, as clients do that
//! read the account document. The measured pause is the time between the last write that the old
//! write region acknowledged and the first write that the new one acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::RegionsBench;
use super::account::{NAMES, RegionsServer};
use super::report::{FailoverReport, PauseReport};
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::driver::MeasurementPlan;
use crate::server::RegionsPlan;

const REGIONS: usize = 3;
const CREATED: u16 = 201;
/// The time before an order, in which the writer starts, and the time of writing after it.
const AROUND: Duration = Duration::from_millis(200);
const BETWEEN_TRIES: Duration = Duration::from_millis(1);
const WAIT_MAX: Duration = Duration::from_secs(30);

pub(super) async fn measure(bench: &RegionsBench<'_>) -> Result<FailoverReport> {
    let (mut planned, mut forced, mut voted) =
        (Trials::default(), Trials::default(), Trials::default());
    for _ in 0..bench.options.rounds {
        let mut trial = Trial::start(bench).await?;
        // The failover moves the write role to another region and returns it, so that both regions
        // have surrendered the role once.
        for to in [1, 0] {
            let order = json!({"to": NAMES[to]});
            planned.add(trial.change(&[("/account/failover", order)]).await?);
        }
        // The old account stops first: its processes would compete with those of the next one.
        drop(trial);
        // Each forced change needs a new account: a removed region cannot be used again.
        let mut trial = Trial::start(bench).await?;
        let order = json!({"to": NAMES[1], "forced": true, "offline": [NAMES[0]]});
        let orders = [
            ("/regions/westus/down", Value::Null),
            ("/account/failover", order),
        ];
        forced.add(trial.change(&orders).await?);
        drop(trial);
        let mut trial = Trial::start(bench).await?;
        voted.add(
            trial
                .change(&[("/regions/westus/down", Value::Null)])
                .await?,
        );
    }
    Ok(FailoverReport {
        regions: REGIONS,
        planned: planned.report()?,
        forced: forced.report()?,
        voted: voted.report()?,
    })
}

#[derive(Default)]
struct Trials {
    pauses: Vec<Duration>,
    orders: Vec<Duration>,
}

impl Trials {
    fn add(&mut self, (pause, order): (Duration, Duration)) {
        self.pauses.push(pause);
        self.orders.push(order);
    }

    fn report(self) -> Result<PauseReport> {
        Ok(PauseReport {
            pause: SpreadReport::of(self.pauses)?,
            order: SpreadReport::of(self.orders)?,
        })
    }
}

struct Trial<'a> {
    account: RegionsServer<'a>,
    plan: MeasurementPlan,
    writes: u64,
}

impl<'a> Trial<'a> {
    async fn start(bench: &RegionsBench<'a>) -> Result<Trial<'a>> {
        let mut account = RegionsServer::start(bench, REGIONS, RegionsPlan::default()).await?;
        let plan = account.filled("failover", 0).await?;
        Ok(Trial {
            account,
            plan,
            writes: 0,
        })
    }

    /// Sends the orders. Returns how long no region took writes, and how long the last order took.
    async fn change(&mut self, orders: &[(&str, Value)]) -> Result<(Duration, Duration)> {
        let mut writers = Vec::new();
        for region in 0..self.account.regions() {
            let target = self.account.target(region, &self.plan.target.container)?;
            writers.push(Writer::connect(target, self.plan.shape).await?);
        }
        let report = self.account.operator.report().await?;
        let is_named = |region: &super::operator::RegionStatus| {
            Some(&region.name) == report.write_region.as_ref()
        };
        let at = report.regions.iter().position(is_named);
        // The writer must begin in the write region, or its first write would count as a change.
        let at = at.context("no region takes writes")?;
        let over = Arc::new(AtomicBool::new(false));
        let client = FailoverClient {
            writers,
            at,
            number: self.writes,
        };
        let (first, has_written) = oneshot::channel();
        let writing = tokio::spawn(client.write(Arc::clone(&over), first));
        let mut duration = Ok(Duration::ZERO);
        // The sender drops without a message if the writer fails before its first write.
        let _ = has_written.await;
        tokio::time::sleep(AROUND).await;
        for (path, body) in orders {
            duration = self.account.operator.order(path, body).await;
        }
        // A failed order will not change the write region, so the writer must not wait for it.
        if duration.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        let (pause, number) = writing.await.context("the writer panicked")??;
        self.writes = number;
        Ok((pause, duration?))
    }
}

struct FailoverClient {
    writers: Vec<Writer>,
    at: usize,
    number: u64,
}

impl FailoverClient {
    /// Writes until another region has taken writes for some time, or until `over` is set. Returns
    /// the time without writes, and the number of the next item.
    async fn write(
        mut self,
        over: Arc<AtomicBool>,
        first: oneshot::Sender<()>,
    ) -> Result<(Duration, u64)> {
        let (began_at, begun) = (self.at, Instant::now());
        let mut first = Some(first);
        let mut last = None;
        let mut changed = None;
        while !over.load(Ordering::Relaxed) {
            self.number += 1;
            let id = format!("f{}", self.number);
            let status = self.writers[self.at].try_create(&id).await?;
            let now = Instant::now();
            if status != CREATED {
                self.at = (self.at + 1) % self.writers.len();
                // Short, since it limits the resolution of the pause.
                tokio::time::sleep(BETWEEN_TRIES).await;
            } else if self.at == began_at {
                last = Some(now);
                first.take().map(|first| first.send(()));
            } else {
                let since = *changed.get_or_insert(now);
                // The new write region has taken writes for some time, so the change is complete.
                if now - since > AROUND {
                    break;
                }
            }
            if begun.elapsed() > WAIT_MAX {
                bail!("no other region took writes");
            }
        }
        let last = last.context("nothing was written before the change")?;
        let changed = changed.context("no other region took writes")?;
        Ok((changed.saturating_duration_since(last), self.number))
    }
}
