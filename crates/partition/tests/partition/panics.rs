//! A thread of the store panics: depending on its settings, the process exits or the store refuses
//! writes.

use std::env;
use std::process::Command;
use std::sync::Arc;

use orrery_log::{Disk, SystemDisk};
use orrery_model::Failure;
use orrery_partition::{Durability, MaintenanceOptions, OnPanic, Store, StoreStatus};

use crate::support::{World, item, options, wait_until};

/// The environment variable that marks the process that will exit.
const CHILD: &str = "ORRERY_TEST_PANIC_IN";
const EXIT_CODE: i32 = 70;

/// Makes the commit thread panic.
fn panic_in(store: &Store) {
    store.submit_follow(false, Box::new(|()| panic!("a reply that panics")));
}

#[test]
fn a_store_refuses_all_writes_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let world = World::open(directory.path(), &disk, Durability::Sync, "");
    world.upsert(&item("1", "")).unwrap();
    panic_in(&world.store);
    wait_until(|| matches!(world.store.status(), StoreStatus::Failed(_)));
    for _ in 0..2 {
        let Err(Failure::Unavailable(text)) = world.upsert(&item("2", "")) else {
            panic!("a write was taken");
        };
        assert!(text.contains("a reply that panics"), "{text}");
    }
    assert!(world.read("1").is_some());
    assert!(world.store.close().is_err());
}

#[test]
fn a_process_ends_with_a_message() {
    if let Some(directory) = env::var_os(CHILD) {
        let upkeep = MaintenanceOptions {
            on_panic: OnPanic::EndProcess,
            ..MaintenanceOptions::default()
        };
        let mut options = options(directory.as_ref());
        options.maintenance = upkeep;
        let store = Store::open(&options).unwrap();
        panic_in(&store);
        wait_until(|| false);
    }
    let directory = tempfile::tempdir().unwrap();
    let ended = Command::new(env::current_exe().unwrap())
        .args(["--exact", "panics::a_process_ends_with_a_message"])
        .env(CHILD, directory.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(EXIT_CODE));
}
