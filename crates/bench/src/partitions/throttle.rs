//! The admitted throughput when clients request much more than was provisioned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::PartitionsBench;
use super::report::ThrottleReport;
use crate::client_pool::{ClientPool, PoolClient};
use crate::driver::MeasurementPlan;
use crate::random::Random;

const BUDGET: u32 = 1000;
const ITEMS_MAX: u64 = 50;
const TIME: Duration = Duration::from_secs(10);
/// The shortest measurement, for tests with short slices.
const TIME_MIN: Duration = Duration::from_secs(1);
/// The pause after a refusal. It ignores the wait that the server names, because clients that wait
/// as told would request less than they could.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
const THROTTLED: u16 = 429;
/// The offset into a second: late enough for its budget to be used up, early enough before the next
/// second begins.
const QUIET_AFTER: Duration = Duration::from_millis(800);
/// How long one connection may try to use up the budget of a second.
const WAIT_MAX: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Default)]
struct ThrottleCounts {
    charge: f64,
    admitted: u64,
    refused: u64,
}

pub(super) async fn measure(bench: &PartitionsBench<'_>) -> Result<ThrottleReport> {
    let items = bench.options.items().min(ITEMS_MAX);
    let plan = bench.filled("budget", items, None, Some(BUDGET)).await?;
    let slice = bench.options.slice_ms.map(Duration::from_millis);
    let time = slice.map_or(TIME, |slice| slice.max(TIME_MIN));
    let pool = ClientPool {
        target: plan.target.clone(),
        connections: plan.connections,
        threads: plan.threads,
    };
    let plan = Arc::new(plan);
    // The window begins and ends in a quiet part of a second, so that it contains whole budgets.
    let from = quiet_time(&pool, &plan).await?;
    let counts =
        pool.work(move |client| send_continuously(client, Arc::clone(&plan), from, from + time));
    let mut all = ThrottleCounts::default();
    for counts in counts.await? {
        all.charge += counts.charge;
        all.admitted += counts.admitted;
        all.refused += counts.refused;
    }
    let seconds = time.as_secs_f64();
    Ok(ThrottleReport {
        connections: pool.connections,
        budget: BUDGET,
        seconds,
        admitted: all.admitted,
        refused: all.refused,
        charge: all.charge,
        used: all.charge / (seconds * f64::from(BUDGET)),
    })
}

/// A point in time within the part of a second in which the server refuses everything. Each budget
/// is used up soon after its second begins, so a window of whole seconds from such a point contains
/// whole budgets and no part of another.
async fn quiet_time(pool: &ClientPool, plan: &Arc<MeasurementPlan>) -> Result<Instant> {
    let one = ClientPool {
        connections: 1,
        ..pool.clone()
    };
    let plan = Arc::clone(plan);
    let found = one.work(move |mut client| {
        let plan = Arc::clone(&plan);
        async move {
            let (mut random, mut id, mut item) =
                (Random::new(plan.seed, 0), String::new(), Vec::new());
            let deadline = Instant::now() + WAIT_MAX;
            loop {
                if Instant::now() > deadline {
                    // The disk is so slow that one connection cannot use up the budget; any start
                    // is as good then.
                    return Ok(Instant::now());
                }
                plan.keys
                    .write_id(&mut id, random.below(plan.keys.loaded()));
                item.clear();
                plan.shape.write(&mut item, [&id, &id], &mut random);
                client.writer.upsert(&id, &item);
                let exchange = client.connection.exchange(client.writer.bytes()).await;
                let head = exchange.context("using up the budget")?.head;
                if let (THROTTLED, Some(wait)) = (head.status, head.retry_after_ms) {
                    // The server names the wait until the next second, so the quiet part of that
                    // second is known.
                    return Ok(Instant::now() + Duration::from_millis(wait) + QUIET_AFTER);
                }
            }
        }
    });
    let found = found.await?.pop();
    found.context("no connection used the budget up")
}

/// Sends reads and upserts in turns, and counts the answers within the window.
async fn send_continuously(
    mut client: PoolClient,
    plan: Arc<MeasurementPlan>,
    from: Instant,
    until: Instant,
) -> Result<ThrottleCounts> {
    let mut random = Random::new(plan.seed, u64::from(client.number));
    let (mut id, mut item) = (String::new(), Vec::new());
    let mut counts = ThrottleCounts::default();
    for turn in 0_u64.. {
        plan.keys
            .write_id(&mut id, random.below(plan.keys.loaded()));
        if turn.is_multiple_of(2) {
            client.writer.read(&id, &id);
        } else {
            item.clear();
            plan.shape.write(&mut item, [&id, &id], &mut random);
            client.writer.upsert(&id, &item);
        }
        let exchange = client.connection.exchange(client.writer.bytes()).await;
        let head = exchange.context("a request beyond the budget")?.head;
        let now = Instant::now();
        // Judged at the answer, like the begin of the window: both ends cut the same way.
        if now >= until {
            break;
        }
        let is_refused = match head.status {
            200..300 => false,
            THROTTLED => true,
            status => bail!("a request beyond the budget was answered {status}"),
        };
        // Requests before the window only keep the budget used up.
        if now >= from {
            // A refused request used no throughput, whatever charge it states.
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
