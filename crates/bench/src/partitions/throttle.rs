//! How much gets through when much more is asked for than was provisioned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Bench;
use super::report::ThrottleReport;
use crate::crew::{Crew, Member};
use crate::driver::Drive;
use crate::random::Random;

const BUDGET: u32 = 1000;
const ITEMS_MAX: u64 = 50;
const TIME: Duration = Duration::from_secs(10);
/// For tests, whose slices are short.
const TIME_MIN: Duration = Duration::from_secs(1);
/// Not what the server asks for: clients that do wait would ask for less than they could.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
const THROTTLED: u16 = 429;
/// Into a second: late enough for its budget to be used up, early enough before the next.
const QUIET_AFTER: Duration = Duration::from_millis(800);
/// How long one connection may try to use the budget up.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Default)]
struct Counts {
    charge: f64,
    admitted: u64,
    refused: u64,
}

pub(super) async fn measure(bench: &Bench<'_>) -> Result<ThrottleReport> {
    let items = bench.options.items().min(ITEMS_MAX);
    let plan = bench.filled("budget", items, None, Some(BUDGET)).await?;
    let slice = bench.options.slice_ms.map(Duration::from_millis);
    let time = slice.map_or(TIME, |slice| slice.max(TIME_MIN));
    let crew = Crew {
        target: plan.target.clone(),
        connections: plan.connections,
        threads: plan.threads,
    };
    let plan = Arc::new(plan);
    let from = quiet_moment(&crew, &plan).await?;
    let counts = crew.work(move |member| hammer(member, Arc::clone(&plan), from, from + time));
    let mut all = Counts::default();
    for counts in counts.await? {
        all.charge += counts.charge;
        all.admitted += counts.admitted;
        all.refused += counts.refused;
    }
    let seconds = time.as_secs_f64();
    Ok(ThrottleReport {
        connections: crew.connections,
        budget: BUDGET,
        seconds,
        admitted: all.admitted,
        refused: all.refused,
        charge: all.charge,
        used: all.charge / (seconds * f64::from(BUDGET)),
    })
}

/// A moment in the part of a second in which everything is refused. All that is let in within whole
/// seconds from there is counted, and nothing else: a budget is used up soon after a second begins.
async fn quiet_moment(crew: &Crew, plan: &Arc<Drive>) -> Result<Instant> {
    let one = Crew {
        connections: 1,
        ..crew.clone()
    };
    let plan = Arc::clone(plan);
    let found = one.work(move |mut member| {
        let plan = Arc::clone(&plan);
        async move {
            let (mut random, mut id, mut item) =
                (Random::new(plan.seed, 0), String::new(), Vec::new());
            let patience = Instant::now() + PATIENCE;
            loop {
                if Instant::now() > patience {
                    // A disk so slow that one connection cannot use it up.
                    return Ok(Instant::now());
                }
                plan.keys
                    .write_id(&mut id, random.below(plan.keys.loaded()));
                item.clear();
                plan.shape.write(&mut item, [&id, &id], &mut random);
                member.writer.upsert(&id, &item);
                let exchange = member.connection.exchange(member.writer.bytes()).await;
                let head = exchange.context("using up the budget")?.head;
                if let (THROTTLED, Some(wait)) = (head.status, head.retry_after_ms) {
                    return Ok(Instant::now() + Duration::from_millis(wait) + QUIET_AFTER);
                }
            }
        }
    });
    let found = found.await?.pop();
    found.context("no connection used the budget up")
}

/// Reads and upserts in turns; counts what is answered within the time.
async fn hammer(
    mut member: Member,
    plan: Arc<Drive>,
    from: Instant,
    until: Instant,
) -> Result<Counts> {
    let mut random = Random::new(plan.seed, u64::from(member.number));
    let (mut id, mut item) = (String::new(), Vec::new());
    let mut counts = Counts::default();
    for turn in 0_u64.. {
        plan.keys
            .write_id(&mut id, random.below(plan.keys.loaded()));
        if turn.is_multiple_of(2) {
            member.writer.read(&id, &id);
        } else {
            item.clear();
            plan.shape.write(&mut item, [&id, &id], &mut random);
            member.writer.upsert(&id, &item);
        }
        let exchange = member.connection.exchange(member.writer.bytes()).await;
        let head = exchange.context("a request beyond the budget")?.head;
        let now = Instant::now();
        if now >= until {
            break;
        }
        let is_refused = match head.status {
            200..300 => false,
            THROTTLED => true,
            status => bail!("a request beyond the budget was answered {status}"),
        };
        if now >= from {
            counts.charge += if is_refused { 0.0 } else { head.charge };
            counts.admitted += u64::from(!is_refused);
            counts.refused += u64::from(is_refused);
        }
        if is_refused {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
    Ok(counts)
}
