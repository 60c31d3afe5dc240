//! The process of the attackers.

use std::io::read_to_string;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

use crate::attack::{self, Tally};
use crate::attacks::ATTACKS;
use crate::target::{Orders, Until};

/// Carries out the orders on standard input; prints a tally for each attack, by name, as JSON.
pub(crate) fn run() -> Result<()> {
    give_way();
    let orders = read_to_string(std::io::stdin()).context("reading the orders")?;
    let orders: Orders = serde_json::from_str(&orders).context("the orders")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting a runtime")?;
    let tallies = runtime.block_on(carry_out(orders));
    println!("{}", serde_json::to_string(&tallies)?);
    Ok(())
}

async fn carry_out(orders: Orders) -> Vec<(String, Tally)> {
    let until = Until(Instant::now() + Duration::from_millis(orders.milliseconds));
    let target = Arc::new(orders.target);
    let mut tasks = JoinSet::new();
    for (name, connections) in orders.attacks {
        let Some(attack) = ATTACKS.iter().find(|attack| attack.name == name) else {
            continue;
        };
        let target = Arc::clone(&target);
        tasks.spawn(async move { (name, attack::run(attack, connections, target, until).await) });
    }
    tasks.join_all().await
}

/// Takes the lowest priority and as many files as the system allows.
#[cfg(target_os = "linux")]
fn give_way() {
    use rustix::process::{Resource, getrlimit, setpriority_process, setrlimit};
    let _ = setpriority_process(None, 19);
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}
