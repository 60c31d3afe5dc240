//! The process of the attackers.

use std::io::read_to_string;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

use crate::attack::{self, Tally};
use crate::attacks::ATTACKS;
use crate::target::{Deadline, Orders};

/// Carries out the orders on standard input. Prints a tally for each attack, by name, as JSON.
pub(crate) fn run() -> Result<()> {
    give_way();
    let orders = read_to_string(std::io::stdin()).context("reading the orders")?;
    let orders: Orders = serde_json::from_str(&orders).context("the orders")?;
    // One thread suffices. More threads would take more processors from the server.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting a runtime")?;
    let tallies = runtime.block_on(carry_out(orders));
    println!("{}", serde_json::to_string(&tallies)?);
    Ok(())
}

/// Runs all ordered attacks at the same time, until one common deadline.
async fn carry_out(orders: Orders) -> Vec<(String, Tally)> {
    let until = Deadline(Instant::now() + Duration::from_millis(orders.milliseconds));
    let target = Arc::new(orders.target);
    let mut tasks = JoinSet::new();
    for (name, connections) in orders.attacks {
        // Both processes run the same program, so an unknown name cannot occur.
        let Some(attack) = ATTACKS.iter().find(|attack| attack.name == name) else {
            continue;
        };
        let target = Arc::clone(&target);
        tasks.spawn(async move { (name, attack::run(attack, connections, target, until).await) });
    }
    tasks.join_all().await
}

/// Moves the process to the lowest scheduling class, and raises its limit of open files to the
/// maximum. Linux lets even a thread of the lowest niceness finish its slice of a millisecond or more
/// while other threads wait; a thread of the class `SCHED_IDLE` leaves its processor at once.
#[cfg(target_os = "linux")]
fn give_way() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    // A refused priority makes the measurement less exact, and is no reason to stop.
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    let mut limit = getrlimit(Resource::Nofile);
    // Each connection is an open file, and the usual soft limit of 1,024 is too low.
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}
