//! Random lives of a log on a disk that loses, tears and reorders unsynced writes.
//!
//! Each seed is several lives. Each life opens the log after the last crash, writes at random, and
//! stops at a random change of the disk, possibly during recovery. `ORRERY_LOG_SEED=<seed> cargo
//! test -p orrery-log --test crash` replays one seed.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a panic is how a test fails"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orrery_fault_disk::{FaultDisk, Random};
use orrery_log::{Durability, Error, Log, LogOptions, Position, verify_on};

const SEEDS: u64 = 2000;
const LIVES: usize = 6;

/// The records that were appended, and the number of them that must survive a crash.
#[derive(Default)]
struct Model {
    /// Indexed by position less one, committed or not.
    payloads: Vec<Vec<u8>>,
    durable: usize,
    trimmed: usize,
}

#[test]
fn no_synced_record_is_lost_and_none_invented() {
    let chosen = std::env::var("ORRERY_LOG_SEED")
        .ok()
        .map(|seed| seed.parse::<u64>().unwrap());
    let seeds = chosen.map_or(0..SEEDS, |seed| seed..seed + 1);
    for seed in seeds {
        assert!(
            std::panic::catch_unwind(|| run(seed)).is_ok(),
            "failed: ORRERY_LOG_SEED={seed} cargo test -p orrery-log --test crash"
        );
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut disk = FaultDisk::default();
    let mut model = Model::default();
    let durability = match random.below(4) {
        0 => Durability::Interval(Duration::ZERO),
        1 => Durability::None,
        _ => Durability::Sync,
    };
    let segment_bytes = [8 << 10, 12 << 10, 32 << 10][random.below(3)];
    let options = LogOptions {
        segment_bytes,
        durability,
        known_durable: Position::ZERO,
    };
    for _ in 0..LIVES {
        let life_changes = random.below(120);
        disk.stop_after(life_changes);
        live(&disk, &options, &mut model, &mut random);
        disk = disk.crash(&mut random);
    }
    let report = verify_on(Arc::new(disk.clone()), Path::new("log")).unwrap();
    assert!(!report.is_damaged(), "{report:?}");
    check_recovered(&open(&disk, &options).unwrap(), &mut model);
}

fn open(disk: &FaultDisk, options: &LogOptions) -> Result<Log, Error> {
    let disk = Arc::new(disk.clone());
    Log::open_on(disk, Path::new("log"), options.clone()).map(|(log, _)| log)
}

/// Runs until the simulated machine stops.
fn live(disk: &FaultDisk, options: &LogOptions, model: &mut Model, random: &mut Random) {
    let mut log = match open(disk, options) {
        Ok(log) => log,
        Err(Error::Io { .. }) => return,
        Err(error) => panic!("{error:?}"),
    };
    check_recovered(&log, model);
    loop {
        for _ in 0..random.below(5) {
            let payload = make_payload(model.payloads.len(), random);
            let position = log.append(&payload);
            model.payloads.push(payload);
            assert_eq!(position.0 as usize, model.payloads.len());
        }
        let step = match random.below(10) {
            0 => log.sync(),
            1 => {
                let upto = random.below(model.durable + 1);
                model.trimmed = model.trimmed.max(upto);
                log.trim(Position(upto as u64))
            }
            _ => log.commit().map(|_| ()),
        };
        model.durable = model.durable.max(log.durable().0 as usize);
        match step {
            Ok(()) => {}
            Err(Error::Io { .. } | Error::NotWritten { .. } | Error::Poisoned { .. }) => return,
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Half of the payloads depend only on their position: a client that retries writes the same bytes
/// at the same position, and this must not revive their successors from an earlier life.
fn make_payload(index: usize, random: &mut Random) -> Vec<u8> {
    if random.chance(50) {
        return [index as u8].repeat(index * 37 % 900);
    }
    let bytes = if random.chance(3) { 40_000 } else { 1500 };
    [random.number() as u8].repeat(random.below(bytes))
}

fn check_recovered(log: &Log, model: &mut Model) {
    let (first, last) = (log.first().0 as usize, log.last().0 as usize);
    assert!(
        last >= model.durable,
        "{} were durable, {last} are left",
        model.durable
    );
    assert!(
        last <= model.payloads.len(),
        "record {last} was never appended"
    );
    assert!(
        first <= model.trimmed + 1,
        "first {first}, trimmed {}",
        model.trimmed
    );
    let mut next = first;
    log.replay(Position(first as u64 - 1), &mut |position, payload| {
        assert_eq!(position.0 as usize, next);
        assert!(
            payload == model.payloads[next - 1],
            "record {next} has other bytes"
        );
        next += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(next, last + 1);
    model.payloads.truncate(last);
    model.durable = last;
}
