//! Whoever makes things go wrong, in an order that a seed decides, one at a time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::account::{Account, REGIONS};
use crate::random::Random;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Deeds {
    pub(crate) kills: usize,
    pub(crate) stops: usize,
    pub(crate) cuts: usize,
    pub(crate) delays: usize,
    pub(crate) failovers: usize,
}

/// For so long; everything is well again afterwards.
pub(crate) fn work(account: &Account, random: &mut Random, time: Duration) -> Deeds {
    let begun = Instant::now();
    let mut deeds = Deeds::default();
    while begun.elapsed() < time {
        let region = usize::try_from(random.below(3)).unwrap();
        match random.below(6) {
            0 | 1 => {
                account.kill(region);
                wait(random, 100, 1_500);
                account.restart(region);
                deeds.kills += 1;
            }
            2 => {
                account.signal(region, "-STOP");
                wait(random, 100, 4_000);
                account.signal(region, "-CONT");
                deeds.stops += 1;
            }
            3 => {
                isolate(account, region, r#"{"order":"cut"}"#);
                wait(random, 200, 4_000);
                isolate(account, region, r#"{"order":"resume"}"#);
                deeds.cuts += 1;
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
                deeds.delays += 1;
            }
            _ => deeds.failovers += usize::from(fail_over(account, region)),
        }
        wait(random, 100, 700);
    }
    deeds
}

/// Both directions between a region and the others. A process that has just come up may not hear yet;
/// its links are as new then.
pub(crate) fn isolate(account: &Account, region: usize, order: &str) {
    let name = REGIONS[region];
    for (process, from) in REGIONS.iter().enumerate() {
        let to = if process == region { "*" } else { name };
        let path = format!("/links/{from}/{to}");
        let _ = account.order(process, &path, order);
    }
}

/// The process of the write region takes the order; others say that they do not.
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
