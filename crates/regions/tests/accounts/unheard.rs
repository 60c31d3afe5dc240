//! Regions that miss the messages of live regions or receive them late: over a link that works in
//! one direction only, after a pause of their own process, or over long links.

use crate::account::Account;

/// The second region hears the write region, but the write region does not hear it. The third
/// region has the records that the second one pulls.
#[test]
fn records_come_from_another_region_if_the_write_region_does_not_hear() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    account.deaf = vec![(1, 0)];
    account.pass(1_000);
    let written = account.write(0);
    account.pass(3_000);
    assert!(account.regions[1].replica.last() >= written);
    assert!(account.writes(0));
    // The second region pulls from the write region again when the link works in both directions.
    account.deaf.clear();
    account.pass(1_000);
    account.cut = vec![(1, 2)];
    let written = account.write(0);
    account.pass(1_000);
    assert!(account.regions[1].replica.last() >= written);
}

/// A computer that was asleep, or too busy for seconds.
#[test]
fn a_paused_process_does_not_declare_its_peers_dead() {
    let mut account = Account::new(3, 3);
    account.pass(1_000);
    let epoch = account.regions[0].replica.epoch();
    account.now = account.now.plus(60_000);
    // The write region is the last to wake up.
    account.cut_off(0);
    account.pass(200);
    account.cut.clear();
    account.pass(6_000);
    assert!(account.writes(0));
    assert_eq!(account.regions[0].replica.epoch(), epoch);
    account.cut_off(0);
    account.pass(6_000);
    assert!(account.writes(1) || account.writes(2), "a loss is noticed");
}

/// Sounding out and voting take a round trip each.
#[test]
fn regions_that_are_far_apart_replace_one_as_well() {
    for delay_ms in [150, 400, 650] {
        let mut account = Account::new(3, 3);
        account.delay_ms = delay_ms;
        account.pass(5_000);
        assert!(account.writes(0));
        account.cut_off(0);
        account.pass(12_000);
        assert!(account.writes(1) || account.writes(2), "{delay_ms} ms");
    }
}
