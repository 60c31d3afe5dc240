//! A region that can keep nothing any more, because its disk fails.

use orrery_regions::{Force, PromotionError};

use crate::account::Account;

/// As long as a silence, and a little more for the votes.
const REPLACED_MS: u64 = 5_000;

#[test]
fn another_region_writes_in_place_of_an_unfit_one_and_has_what_it_kept() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let written = account.write(0);
    account.regions[0].replica.set_fit(false);
    assert!(!account.writes(0), "it lets the others");
    account.pass(REPLACED_MS);
    let other = (1..3).find(|region| account.writes(*region)).unwrap();
    let kept = account.regions[0]
        .log
        .iter()
        .find(|record| record.sequence == written);
    assert!(
        account.regions[other]
            .log
            .iter()
            .any(|record| Some(record) == kept)
    );
    let written = account.write(other);
    account.pass(1_000);
    assert!(account.acknowledges(other, written));
}

/// Of two regions neither may promote itself: it would be worse if nobody were the write region.
#[test]
fn nobody_replaces_one_of_two() {
    let mut account = Account::new(2, 2);
    account.pass(1_000);
    account.regions[0].replica.set_fit(false);
    account.pass(REPLACED_MS);
    assert!(account.writes(0) && !account.writes(1));
    account.force(1, &[0]);
    account.pass(1_000);
    assert!(!account.writes(0) && account.writes(1));
}

#[test]
fn an_unfit_region_is_neither_chosen_nor_votes() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let promised = account.regions[1].saved.promised;
    account.regions[1].replica.set_fit(false);
    let now = account.now;
    let forced = account.regions[1].replica.force(now, &Force::default());
    assert_eq!(forced, Err(PromotionError::Unfit));
    account.cut_off(0);
    account.pass(2 * REPLACED_MS);
    assert!(
        !account.writes(1) && !account.writes(2),
        "one vote is no majority"
    );
    assert_eq!(account.regions[1].saved.promised, promised);
    account.regions[1].replica.set_fit(true);
    account.pass(2 * REPLACED_MS);
    assert!(account.writes(1) || account.writes(2));
}
