//! Multi-write regions: after any sequence of faults all regions have the same, correct contents.

mod cases;
mod expected;
mod fault_simulation;
mod readers;
mod region;
mod repartitioning;
mod splits;

use std::path::Path;

use orrery_engine::check_directory;

use crate::multi_write::fault_simulation::{FaultSimulation, members};
use crate::support::Seed;

async fn run(seed: u64, places: &[Option<&Path>], steps: usize) {
    let _named = Seed(seed);
    let mut turmoil = FaultSimulation::new(seed, places).await;
    for _ in 0..3 {
        for _ in 0..steps / 3 {
            turmoil.step().await;
            if places.iter().any(Option::is_some) && turmoil.random.chance(2) {
                turmoil = restart(turmoil, places).await;
            }
        }
        turmoil.settle().await;
        turmoil.compare_all().await;
        turmoil.agree().await;
        turmoil.check_partitions().await;
    }
    assert!(turmoil.recuts > 0, "no partition was split");
    for region in turmoil.regions {
        region.close().await;
    }
    for directory in places.iter().flatten() {
        let report = check_directory(directory).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

/// Restarts one of the regions on disk.
async fn restart(mut turmoil: FaultSimulation, places: &[Option<&Path>]) -> FaultSimulation {
    let on_disk: Vec<usize> = (0..places.len())
        .filter(|at| places[*at].is_some())
        .collect();
    let at = *turmoil.random.pick(&on_disk);
    let is_killed = turmoil.random.chance(50);
    let members = members(u8::try_from(places.len()).unwrap());
    let region = turmoil.regions.remove(at);
    let region = region.restart(&members, is_killed).await;
    turmoil.regions.insert(at, region);
    turmoil.compare(at).await;
    turmoil
}

/// `ORRERY_SEEDS=n` runs more seeds, `ORRERY_SEED=n` a single one.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match (number("ORRERY_SEED"), number("ORRERY_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count_asked) => 0..count_asked.unwrap_or(count),
    }
}

#[tokio::test]
async fn in_memory() {
    for seed in seeds(12) {
        run(seed, &[None, None, None], 450).await;
    }
}

#[tokio::test]
async fn on_disk() {
    for seed in 100..103 {
        let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let places = directories.each_ref().map(|one| Some(one.path()));
        run(seed, &places, 240).await;
    }
}
