//! A link that works in one direction only.

use crate::account::Account;

/// The second region hears the write region, which does not hear it. The third has what it asks for.
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
    // It goes back to the write region when that hears it again.
    account.deaf.clear();
    account.pass(1_000);
    account.cut = vec![(1, 2)];
    let written = account.write(0);
    account.pass(1_000);
    assert!(account.regions[1].replica.last() >= written);
}
