//! Planned changes and injected faults of an account whose partitions fail over. No planned change may lead to
//! two owners of a partition; a fault may.

use std::thread::sleep;
use std::time::Duration;

use super::clients::{CONTAINER, Eras};
use crate::account::{Account, REGIONS};
use crate::operator::{isolate, wait};
use crate::pick;
use crate::random::Random;

/// A silence that makes regions take over the partitions of a region that counts as dead.
const SILENCE: (u64, u64) = (3_100, 3_300);
/// A silence long enough that two regions own a partition for some time.
const TWO_OWNERS_SILENCE: (u64, u64) = (3_600, 4_000);
const WEST: usize = 0;
/// The delay of every message, so that an owner that begins too early lacks records.
const DELAY_MS: u64 = 25;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FaultCounts {
    pub(super) moves: usize,
    pub(super) downs: usize,
    pub(super) kills: usize,
    pub(super) cuts: usize,
    pub(super) stops: usize,
}

/// Partitions move as planned, and one is down for a while where it is written. Nothing is silent.
pub(super) fn planned_changes(
    account: &Account,
    random: &mut Random,
    ranges: &[String],
) -> FaultCounts {
    let mut counts = FaultCounts::default();
    let first = pick(random, ranges.len());
    let (down, moved) = (&ranges[first], &ranges[(first + 1) % ranges.len()]);
    delay(account, DELAY_MS);
    let mut planned = 0;
    let mut moves = |random: &mut Random, range: &str, to: &[usize]| {
        for to in to {
            planned += usize::from(give(account, range, *to));
            wait(random, 100, 200);
        }
    };
    moves(random, moved, &[2, 1]);
    counts.downs += usize::from(set(account, WEST, down, "down"));
    moves(random, moved, &[2, 0, 1]);
    wait(random, 400, 600);
    set(account, WEST, down, "up");
    moves(random, down, &[2, 0]);
    counts.moves = planned;
    delay(account, 0);
    counts
}

/// Kills, stops and cuts off regions, one at a time and owners above all, and repairs each fault.
/// Items written during a fault are mostly not written again before the region is back.
pub(super) fn inject_faults(
    account: &Account,
    random: &mut Random,
    ranges: &[String],
    eras: &Eras,
    count: usize,
) -> FaultCounts {
    let mut counts = FaultCounts::default();
    let first = pick(random, 3);
    for turn in 0..count {
        let range = &ranges[pick(random, ranges.len())];
        counts.moves += usize::from(give(account, range, pick(random, REGIONS.len())));
        let victim = owner(account, range).unwrap_or_else(|| pick(random, REGIONS.len()));
        wait(random, 100, 300);
        match (first + turn) % 3 {
            0 => {
                account.kill(victim);
                wait(random, 300, 1_200);
                eras.next();
                account.restart(victim);
                counts.kills += 1;
            }
            1 => {
                isolate(account, victim, r#"{"order":"cut"}"#);
                wait(random, TWO_OWNERS_SILENCE.0, TWO_OWNERS_SILENCE.1);
                eras.next();
                isolate(account, victim, r#"{"order":"resume"}"#);
                counts.cuts += 1;
            }
            _ => {
                account.signal(victim, "-STOP");
                wait(random, SILENCE.0, SILENCE.1);
                eras.next();
                account.signal(victim, "-CONT");
                counts.stops += 1;
            }
        }
        sleep(Duration::from_millis(400));
    }
    counts
}

/// Of all links.
fn delay(account: &Account, millis: u64) {
    let order = format!(r#"{{"order":"delay","millis":{millis}}}"#);
    for (process, from) in REGIONS.iter().enumerate() {
        let _ = account.order(process, &format!("/links/{from}/*"), &order);
    }
}

fn address(range: &str) -> String {
    format!("{CONTAINER}/ranges/{range}")
}

/// A planned failover of a partition. The process of the write region takes the order.
fn give(account: &Account, range: &str, to: usize) -> bool {
    let (to, partition) = (REGIONS[to], address(range));
    let order = format!(r#"{{"to":"{to}","partition":"{partition}"}}"#);
    (0..REGIONS.len()).any(|process| {
        let status = account.order(process, "/account/failover", &order);
        status.is_ok_and(|status| status == 200)
    })
}

/// Takes a partition `down` in a region, or brings it `up`.
fn set(account: &Account, region: usize, range: &str, order: &str) -> bool {
    let path = format!("/regions/{}/{order}", REGIONS[region]);
    let body = format!(r#"{{"partition":"{}"}}"#, address(range));
    let status = account.order(region, &path, &body);
    status.is_ok_and(|status| status == 200)
}

/// Who takes the writes of a partition, as the first process that answers sees it.
fn owner(account: &Account, range: &str) -> Option<usize> {
    let report = (0..REGIONS.len()).find_map(|process| account.report(process).ok())?;
    let partitions = report["partitions"].as_array()?;
    let moved = partitions
        .iter()
        .find(|partition| partition["partition"].as_str() == Some(&address(range)));
    let owner = moved.and_then(|moved| moved["owner"].as_str());
    let owner = owner.or(report["writeRegion"].as_str())?;
    REGIONS.iter().position(|region| *region == owner)
}
