//! Stores from seeds: every crash leaves what was acknowledged, and every planted bug is found.
//!
//! `ORRERY_SEED=n` replays one seed, `ORRERY_SEEDS=n` runs more of them, `ORRERY_FIRST=n` sets the
//! first.

use orrery_sim::{PlantedBug, Report, Violation, World};

const TURNS: usize = 400;
const SEEDS: u64 = 300;

fn run(seed: u64, planted: Option<PlantedBug>) -> Result<Report, Violation> {
    World::new(seed, planted)?.run(TURNS)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_crash_leaves_what_was_acknowledged() {
    let first = number("ORRERY_SEED").or_else(|| number("ORRERY_FIRST"));
    let first = first.unwrap_or(1);
    let count = match number("ORRERY_SEED") {
        Some(_) => 1,
        None => number("ORRERY_SEEDS").unwrap_or(SEEDS),
    };
    let mut all = Report::default();
    for seed in first..first + count {
        let report = run(seed, None)
            .unwrap_or_else(|violation| panic!("ORRERY_SEED={seed}: {}", violation.0));
        all.transactions += report.transactions;
        all.committed += report.committed;
        all.impossible += report.impossible;
        all.refused += report.refused;
        all.crashes += report.crashes;
        all.checkpoints += report.checkpoints;
    }
    // A run that commits, refuses, saves or crashes nothing would prove nothing.
    assert!(
        all.committed > 0 && all.refused > 0 && all.crashes > 0 && all.checkpoints > 0,
        "{all:?}"
    );
    println!("{count} seeds: {all:?}");
}

#[test]
fn a_seed_repeats_its_run() {
    for seed in 1..20 {
        assert_eq!(run(seed, None).unwrap(), run(seed, None).unwrap());
    }
}

#[test]
fn planted_bugs_are_found() {
    for bug in [
        PlantedBug::LyingSync,
        PlantedBug::LostSegment,
        PlantedBug::TornBatch,
    ] {
        let found = (1..=SEEDS).any(|seed| run(seed, Some(bug)).is_err());
        assert!(found, "no seed finds {bug:?}");
    }
}
