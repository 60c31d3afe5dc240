//! Injects faults in an order that a seed decides, one fault at a time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::account::{Account, REGIONS};
use crate::random::Random;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FaultCounts {
    pub(crate) kills: usize,
    pub(crate) stops: usize,
    pub(crate) cuts: usize,
    pub(crate) delays: usize,
    pub(crate) failovers: usize,
}

/// For so long; everything is well again afterwards.
pub(crate) fn inject_faults(account: &Account, random: &mut Random, time: Duration) -> FaultCounts {
    let begun = Instant::now();
    let mut counts = FaultCounts::default();
    while begun.elapsed() < time {
        let region = usize::try_from(random.below(3)).unwrap();
        match random.below(6) {
            0 | 1 => {
                account.kill(region);
                wait(random, 100, 1_500);
                account.restart(region);
                counts.kills += 1;
            }
            2 => {
                account.signal(region, "-STOP");
                wait(random, 100, 4_000);
                account.signal(region, "-CONT");
                counts.stops += 1;
            }
            3 => {
                isolate(account, region, r#"{"order":"cut"}"#);
                wait(random, 200, 4_000);
                isolate(account, region, r#"{"order":"resume"}"#);
                counts.cuts += 1;
            }
            4 => {
                let millis = random.below(200);
                isolate(
                    account,
                    region,
                    &format!(r#"{{"order":"delay","millis":{millis}}}"#),
                );
                wait(random, 200, 1_000);
                isolate(account, region, r#"{"order":"delay","millis":0}"#);
                counts.delays += 1;
            }
            _ => counts.failovers += usize::from(fail_over(account, region)),
        }
        wait(random, 100, 700);
    }
    counts
}

/// Orders both directions of every link between a region and the others. A process that has just
/// started may not listen yet; the links of such a process are new anyway.
pub(crate) fn isolate(account: &Account, region: usize, order: &str) {
    let name = REGIONS[region];
    for (process, from) in REGIONS.iter().enumerate() {
        let to = if process == region { "*" } else { name };
        let path = format!("/links/{from}/{to}");
        let _ = account.order(process, &path, order);
    }
}

/// Orders a failover. Only the process of the write region accepts the order; the others refuse it.
fn fail_over(account: &Account, to: usize) -> bool {
    let order = format!(r#"{{"to":"{}"}}"#, REGIONS[to]);
    let mut processes = 0..REGIONS.len();
    processes.any(|process| {
        let status = account.order(process, "/account/failover", &order);
        status.is_ok_and(|status| status == 200)
    })
}

pub(crate) fn wait(random: &mut Random, least: u64, most: u64) {
    sleep(Duration::from_millis(least + random.below(most - least)));
}
