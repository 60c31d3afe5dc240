//! A region with a failed disk, which makes no record durable any more.

use orrery_regions::{Force, PromotionError};

use crate::account::Account;

/// The silence time, and a little more for the votes.
const REPLACED_MS: u64 = 5_000;

#[test]
fn another_region_writes_in_place_of_an_unfit_one_and_has_what_it_kept() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let written = account.write(0);
    account.regions[0].replica.set_storage_healthy(false);
    assert!(!account.writes(0), "it lets the others");
    account.pass(REPLACED_MS);
    let other = (1..3).find(|region| account.writes(*region)).unwrap();
    let durable = account.regions[0]
        .log
        .iter()
        .find(|record| record.sequence == written);
    assert!(
        account.regions[other]
            .log
            .iter()
            .any(|record| Some(record) == durable)
    );
    let written = account.write(other);
    account.pass(1_000);
    assert!(account.acknowledges(other, written));
}

/// Of two regions neither may promote itself, so the write region keeps its role with a failed
/// disk: an account without a write region would be worse.
#[test]
fn of_two_regions_only_an_operator_replaces_one() {
    let mut account = Account::new(2, 2);
    account.pass(1_000);
    account.regions[0].replica.set_storage_healthy(false);
    account.pass(REPLACED_MS);
    assert!(account.writes(0) && !account.writes(1));
    account.force(1, &[0]);
    account.pass(1_000);
    assert!(!account.writes(0) && account.writes(1));
}

#[test]
fn a_region_with_failed_storage_neither_votes_nor_is_elected() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let promised = account.regions[1].saved.promised;
    account.regions[1].replica.set_storage_healthy(false);
    let now = account.now;
    let forced = account.regions[1]
        .replica
        .promote_by_force(now, &Force::default());
    assert_eq!(forced, Err(PromotionError::StorageFailed));
    account.cut_off(0);
    account.pass(2 * REPLACED_MS);
    assert!(
        !account.writes(1) && !account.writes(2),
        "one vote is no majority"
    );
    assert_eq!(account.regions[1].saved.promised, promised);
    account.regions[1].replica.set_storage_healthy(true);
    account.pass(2 * REPLACED_MS);
    assert!(account.writes(1) || account.writes(2));
}
