//! Each checker finds the bug that is planted for it, within a limited number of seeds.

use orrery_regions::Consistency;

use crate::check::{Loss, Verdict, bounded, converged, durable, linearisable, prefix, session};
use crate::history::History;
use crate::plan::{BOUND, Bug, Plan};
use crate::world;

const SEEDS: u64 = 2000;

fn finds(bug: Bug, level: Consistency, check: impl Fn(&History) -> Verdict) {
    let is_found = |seed| {
        let plan = Plan {
            bug: Some(bug),
            ..Plan::new(seed, level)
        };
        world::run(plan).is_ok_and(|history| check(&history).is_err())
    };
    assert!((0..SEEDS).any(is_found), "{bug:?} was not found");
}

#[test]
fn linearisability_is_checked() {
    for bug in [
        Bug::AcknowledgeAlone,
        Bug::ApplyUncommitted,
        Bug::ReadUnconfirmed,
    ] {
        finds(bug, Consistency::Strong, linearisable);
    }
}

#[test]
fn durability_is_checked() {
    finds(Bug::AcknowledgeAlone, Consistency::Strong, |history| {
        durable(history, Loss::Nothing)
    });
    finds(Bug::DropFalseProgress, Consistency::Session, |history| {
        durable(history, Loss::HandedOut)
    });
}

#[test]
fn sessions_are_checked() {
    let names = |guarantee: &'static str| {
        move |history: &History| match session(history) {
            Err(problem) if problem.contains(guarantee) => Err(problem),
            _ => Ok(()),
        }
    };
    for (bug, guarantee) in [
        (Bug::IgnoreTokens, "ReadYourWrites"),
        (Bug::IgnoreTokens, "MonotonicReads"),
        (Bug::SkipRecords, "MonotonicWrites"),
        (Bug::SkipRecords, "WritesFollowReads"),
    ] {
        finds(bug, Consistency::Session, names(guarantee));
    }
}

#[test]
fn the_bound_is_checked() {
    let check = |history: &History| bounded(history, BOUND);
    for bug in [Bug::IgnoreWriteBound, Bug::IgnoreReadBound] {
        finds(bug, Consistency::Bounded(BOUND), check);
    }
}

#[test]
fn prefixes_are_checked() {
    for bug in [Bug::ApplyTwice, Bug::SkipRecords, Bug::ApplyOutOfOrder] {
        finds(bug, Consistency::ConsistentPrefix, prefix);
    }
}

#[test]
fn convergence_is_checked() {
    for bug in [Bug::SkipRecords, Bug::ApplyTwice, Bug::ShipUnsynced] {
        finds(bug, Consistency::Eventual, converged);
    }
}
