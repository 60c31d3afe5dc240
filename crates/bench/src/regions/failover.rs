//! How long nobody takes writes when another region begins to.
//!
//! One client writes without end and tries the next region when one refuses, as clients do that read
//! the account document. What counts is the time between the last write that one region acknowledged
//! and the first of another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Bench;
use super::account::{Account, NAMES};
use super::report::{FailoverReport, PauseReport};
use super::spread::SpreadReport;
use super::writer::Writer;
use crate::driver::Drive;
use crate::server::RegionsPlan;

const REGIONS: usize = 3;
const CREATED: u16 = 201;
/// Before an order, so that the writer is under way, and after it.
const AROUND: Duration = Duration::from_millis(200);
const BETWEEN_TRIES: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn measure(bench: &Bench<'_>) -> Result<FailoverReport> {
    let (mut planned, mut forced, mut voted) =
        (Trials::default(), Trials::default(), Trials::default());
    for _ in 0..bench.options.rounds {
        let mut trial = Trial::start(bench).await?;
        // There and back: both ends of a hand-over have been the other one.
        for to in [1, 0] {
            let order = json!({"to": NAMES[to]});
            planned.add(trial.change(&[("/account/failover", order)]).await?);
        }
        drop(trial);
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
    account: Account<'a>,
    plan: Drive,
    writes: u64,
}

impl<'a> Trial<'a> {
    async fn start(bench: &Bench<'a>) -> Result<Trial<'a>> {
        let mut account = Account::start(bench, REGIONS, RegionsPlan::default()).await?;
        let plan = account.filled("failover", 0).await?;
        Ok(Trial {
            account,
            plan,
            writes: 0,
        })
    }

    /// Gives orders; how long no region took writes, and how long the last order took.
    async fn change(&mut self, orders: &[(&str, Value)]) -> Result<(Duration, Duration)> {
        let mut writers = Vec::new();
        for region in 0..self.account.regions() {
            let target = self.account.target(region, &self.plan.target.container)?;
            writers.push(Writer::connect(target, self.plan.shape).await?);
        }
        let said = self.account.operator.ask().await?;
        let is_named =
            |region: &super::operator::SaidRegion| Some(&region.name) == said.write_region.as_ref();
        let at = said.regions.iter().position(is_named);
        let at = at.context("no region takes writes")?;
        let over = Arc::new(AtomicBool::new(false));
        let client = Client {
            writers,
            at,
            number: self.writes,
        };
        let (first, has_written) = oneshot::channel();
        let writing = tokio::spawn(client.write(Arc::clone(&over), first));
        let mut took = Ok(Duration::ZERO);
        // It fails if it writes nothing at all.
        let _ = has_written.await;
        tokio::time::sleep(AROUND).await;
        for (path, body) in orders {
            took = self.account.operator.order(path, body).await;
        }
        if took.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        let (pause, number) = writing.await.context("the writer panicked")??;
        self.writes = number;
        Ok((pause, took?))
    }
}

struct Client {
    writers: Vec<Writer>,
    at: usize,
    number: u64,
}

impl Client {
    /// Until another region has taken writes for a while, or it is over: how long nobody did, and the number
    /// of the next item.
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
                tokio::time::sleep(BETWEEN_TRIES).await;
            } else if self.at == began_at {
                last = Some(now);
                first.take().map(|first| first.send(()));
            } else {
                let since = *changed.get_or_insert(now);
                if now - since > AROUND {
                    break;
                }
            }
            if begun.elapsed() > PATIENCE {
                bail!("no other region took writes");
            }
        }
        let last = last.context("nothing was written before the change")?;
        let changed = changed.context("no other region took writes")?;
        Ok((changed.saturating_duration_since(last), self.number))
    }
}
