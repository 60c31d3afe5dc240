//! Accounts with failover per partition in a simulated world: regions with their real
//! [`PartitionFailover`], [`Replica`] and [`MultiWriteReplica`], simulated time, links, crashes and
//! operators.
//!
//! `ORRERY_SEED=n cargo test -p orrery-account --lib partitions::simulation` runs that seed alone,
//! `ORRERY_SEEDS=n` more of them, from `ORRERY_FIRST=n` on.
//!
//! [`PartitionFailover`]: super::PartitionFailover
//! [`Replica`]: orrery_regions::Replica
//! [`MultiWriteReplica`]: orrery_regions::MultiWriteReplica

mod check;
mod history;
mod node;
mod plan;
#[path = "../../../../regions/tests/simulation/random.rs"]
mod random;
#[path = "../../../../regions/tests/simulation/seeds.rs"]
mod seeds;
mod task;
mod trouble;
mod world;

use std::collections::BTreeMap;

use check::{Verdict, at_rest, in_order, kept, knows_what_it_missed, one_owner, served};
use history::History;
use plan::{Bug, FaultPlan, Plan};
use seeds::seeds;

const SEEDS: u64 = 120;
const BUG_SEEDS: u64 = 200;

fn all(history: &History) -> Verdict {
    one_owner(history)?;
    in_order(history)?;
    knows_what_it_missed(history)?;
    kept(history)?;
    at_rest(history)?;
    served(history)
}

/// Runs the seeds; everything that is listed must have happened in one of them.
fn hold(weather: FaultPlan, listed: &[&str]) {
    let seeds = seeds(SEEDS);
    let mut happened = BTreeMap::<&str, u64>::new();
    let mut writes = 0;
    for seed in &seeds {
        let plan = Plan {
            seed: *seed,
            faults: weather,
            bug: None,
        };
        let history = world::run(plan);
        if let Err(problem) = all(&history) {
            panic!(
                "{}\n{weather:?}: {problem}\nORRERY_SEED={seed} cargo test -p orrery-account --lib partitions::simulation",
                history.tell()
            );
        }
        writes += history.writes.len();
        for (what, times) in history.happened {
            *happened.entry(what).or_default() += times;
        }
    }
    let are_few = seeds.len() < 20;
    assert!(are_few || writes > 50 * seeds.len(), "{writes} writes");
    let is_missing = |what: &&&str| !happened.contains_key(**what);
    let missing: Vec<_> = listed.iter().filter(is_missing).collect();
    assert!(are_few || missing.is_empty(), "{missing:?} never happened");
}

const CALM: [&str; 5] = [
    "a move was planned",
    "a hand over was asked for",
    "keys went down",
    "a region was copied",
    "a copy knew more moves",
];
const ROUGH: [&str; 5] = [
    "a move was forced",
    "a region crashed",
    "a region was stopped",
    "a region was taken down",
    "links were cut",
];

#[test]
fn keys_have_one_owner_who_has_everything() {
    hold(FaultPlan::Calm, &CALM);
}

#[test]
fn nothing_is_lost_and_keys_have_one_owner_again() {
    hold(FaultPlan::Rough, &[&CALM[..3], &ROUGH].concat());
}

/// Whether a mistake is found by the checkers that name it so.
fn finds(bug: Bug, weather: FaultPlan, names: &str) {
    let is_found = |seed| {
        let history = world::run(Plan {
            seed,
            faults: weather,
            bug: Some(bug),
        });
        let verdicts = [
            one_owner(&history),
            in_order(&history),
            knows_what_it_missed(&history),
            kept(&history),
            at_rest(&history),
            served(&history),
        ];
        let mut problems = verdicts.into_iter().filter_map(Result::err);
        problems.any(|problem| problem.starts_with(names))
    };
    assert!((0..BUG_SEEDS).any(is_found), "{bug:?} was not found");
}

#[test]
fn a_new_owner_that_does_not_wait_is_found() {
    finds(Bug::WaitForNobody, FaultPlan::Calm, "OneOwner");
    finds(Bug::WaitForNobody, FaultPlan::Calm, "InOrder");
}

#[test]
fn an_old_owner_that_closes_late_is_found() {
    finds(Bug::SayBeforeClosing, FaultPlan::Calm, "OneOwner");
}

#[test]
fn a_region_that_is_sure_at_once_is_found() {
    finds(Bug::SureAtOnce, FaultPlan::Rough, "Returns");
}

#[test]
fn owners_that_are_forgotten_are_found() {
    finds(Bug::ForgetEarlierOwners, FaultPlan::Calm, "InOrder");
}

#[test]
fn keys_that_stay_away_are_found() {
    finds(Bug::KeepAway, FaultPlan::Calm, "AtRest");
    finds(Bug::KeepAway, FaultPlan::Rough, "Served");
}

#[test]
fn records_that_are_lost_are_found() {
    finds(Bug::LoseRecords, FaultPlan::Calm, "Kept");
}

#[test]
fn a_seed_reproduces_its_run() {
    for weather in [FaultPlan::Calm, FaultPlan::Rough] {
        let told = [7, 7, 8].map(|seed| {
            let history = world::run(Plan {
                seed,
                faults: weather,
                bug: None,
            });
            (history.tell(), history.writes.len())
        });
        assert_eq!(told[0], told[1]);
        assert_ne!(told[1], told[2]);
    }
}
