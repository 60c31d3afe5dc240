//! Accounts in which every region writes, in a world without mercy: causality, convergence, and that
//! conflicts end the same everywhere.
//!
//! `ORRERY_SEED=n cargo test -p orrery-regions --test multi_write` runs that seed alone.

#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]

mod check;
mod history;
mod node;
#[path = "../simulation/random.rs"]
mod random;
#[path = "../simulation/seeds.rs"]
mod seeds;
mod world;

use check::{Verdict, causal, converged, exactly_once, resolved};
use history::History;
use seeds::seeds;
use world::{Bug, Plan};

const SEEDS: u64 = 500;
const BUG_SEEDS: u64 = 200;

#[test]
fn regions_converge_and_sessions_hold() {
    for seed in seeds(SEEDS) {
        holds(seed);
    }
}

/// A region fetched a snapshot of a lost region, which had more of its own stream than the agreed
/// end.
#[test]
fn a_copy_has_nothing_that_only_a_lost_region_had() {
    holds(687);
}

fn holds(seed: u64) {
    let plan = Plan { seed, bug: None };
    let result = world::run(plan).and_then(|history| {
        exactly_once(&history)?;
        converged(&history)?;
        resolved(&history)?;
        causal(&history)
    });
    if let Err(problem) = result {
        panic!("{problem}\nORRERY_SEED={seed} cargo test -p orrery-regions --test multi_write");
    }
}

fn finds(bug: Bug, check: impl Fn(&History) -> Verdict) {
    let is_found = |seed| {
        let plan = Plan {
            seed,
            bug: Some(bug),
        };
        world::run(plan).is_ok_and(|history| check(&history).is_err())
    };
    assert!((0..BUG_SEEDS).any(is_found), "{bug:?} was not found");
}

#[test]
fn causality_is_checked() {
    let names = |guarantee: &'static str| {
        move |history: &History| match causal(history) {
            Err(problem) if problem.contains(guarantee) => Err(problem),
            _ => Ok(()),
        }
    };
    for (bug, guarantee) in [
        (Bug::IgnoreTokens, "ReadYourWrites"),
        (Bug::IgnoreTokens, "MonotonicReads"),
        (Bug::ForgetDeps, "MonotonicWrites"),
        (Bug::ForgetDeps, "WritesFollowReads"),
    ] {
        finds(bug, names(guarantee));
    }
}

#[test]
fn convergence_is_checked() {
    for bug in [Bug::ResolveByArrival, Bug::DropLosers, Bug::ForgetEarly] {
        finds(bug, converged);
    }
}

#[test]
fn resolutions_are_checked() {
    for bug in [Bug::ResolveByArrival, Bug::DropLosers, Bug::DeletesLose] {
        finds(bug, resolved);
    }
}

#[test]
fn application_is_checked() {
    finds(Bug::SkipDedup, exactly_once);
}

#[test]
fn leaving_is_checked() {
    finds(Bug::LeaveAtOnce, exactly_once);
    // Regions that disagree on the end of a stream never converge.
    let bug = Some(Bug::EndAlone);
    let is_found = |seed| world::run(Plan { seed, bug }).is_err();
    assert!((0..BUG_SEEDS).any(is_found));
}
