//! Random operations against a map that predicts the outcome.

mod account;
pub(crate) mod expected;
pub(crate) mod operations;

use std::path::Path;

use orrery_engine::{Durability, check_directory};

use crate::model::account::Account;
use crate::random::Random;
use crate::support::Seed;

async fn run(seed: u64, directory: Option<&Path>, durability: Durability, operations: usize) {
    let _named = Seed(seed);
    let mut random = Random::new(seed);
    let mut account = Account::open(directory, durability).await;
    for phase in 0..4 {
        for _ in 0..operations / 4 {
            account.step(&mut random).await;
        }
        account.compare().await;
        if directory.is_some() {
            account = if phase % 2 == 0 {
                account.reopen().await
            } else {
                account.abandon().await
            };
            account.compare().await;
        }
        account.upheaval(&mut random).await;
    }
    account.compare().await;
    account.close().await;
    if let Some(directory) = directory {
        let report = check_directory(directory).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

#[tokio::test]
async fn in_memory() {
    for seed in 0..40 {
        run(seed, None, Durability::None, 400).await;
    }
}

#[tokio::test]
async fn on_disk() {
    for seed in 100..108 {
        let directory = tempfile::tempdir().unwrap();
        run(seed, Some(directory.path()), Durability::None, 300).await;
    }
}

#[tokio::test]
async fn on_disk_with_every_commit_synced() {
    for seed in 200..203 {
        let directory = tempfile::tempdir().unwrap();
        run(seed, Some(directory.path()), Durability::Sync, 200).await;
    }
}
