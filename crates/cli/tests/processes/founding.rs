//! The start of an account whose first change needs the acknowledgement of other regions.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::ALONE;
use crate::account::Account;
use crate::client::{Client, Response};
use crate::requests::START_WAIT_MAX;

/// Kinds of accounts whose founder cannot write alone.
const KINDS: [&[&str]; 3] = [
    &["--consistency=Session", "--multi-write"],
    &["--consistency=Session", "--per-partition-failover"],
    &["--consistency=Strong"],
];
/// Longer than the server lets anybody wait.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the founder for a database.
fn create(account: &Account) -> Response {
    let mut client = Client::connect(account.address(0), REQUEST_TIMEOUT).unwrap();
    let created = client.send("POST", "/dbs", "dbs", "", &[], r#"{"id":"d"}"#);
    created.unwrap()
}

#[test]
fn whoever_is_told_that_the_founder_is_ready_can_write() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for flags in KINDS {
        let directory = tempfile::tempdir().unwrap();
        let account = Account::plan(directory.path(), flags);
        // They wait for the founder.
        let _others = [account.start(1), account.start(2)];
        account.wait_for_listener(1);
        account.wait_for_listener(2);
        account.wait_for_ready(account.start(0));
        let created = create(&account);
        assert_eq!(created.status, 201, "{flags:?}: {}", created.body);
    }
}

#[test]
fn a_founder_without_the_others_says_what_is_missing_and_goes_on_with_them() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The second kind is the first one with owners.
    for flags in [KINDS[0], KINDS[2]] {
        let directory = tempfile::tempdir().unwrap();
        let account = Account::plan(directory.path(), flags);
        account.wait_for_ready(account.start(0));
        // "Write elsewhere" would send clients in a circle.
        let refused = create(&account);
        assert_eq!(refused.status, 503, "{flags:?}: {}", refused.body);
        let why = "has not heard of enough of the other regions";
        assert!(refused.body.contains(why), "{flags:?}: {}", refused.body);

        let _others = [1, 2].map(|region| account.start(region));
        let begun = Instant::now();
        loop {
            let answer = create(&account);
            // An earlier attempt without an answer may have created the database, so 409 counts as
            // success too.
            if matches!(answer.status, 201 | 409) {
                break;
            }
            assert_eq!(answer.status, 503, "{flags:?}: {}", answer.body);
            assert!(begun.elapsed() < START_WAIT_MAX, "{}", account.logs());
        }
    }
}
