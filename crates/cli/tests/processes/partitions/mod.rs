//! Accounts whose single partitions fail over: while partitions are moved and taken down, and regions
//! are killed, stopped and cut off, nothing that was acknowledged is dropped, no two regions own a key
//! unless one of them was silent, sessions see their writes, and in the end all regions have the same.

mod clients;
mod faults;
mod history;
mod lineage;
mod losses;
mod sessions;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use self::clients::{CONTAINER, Eras, FAULT_FREE, Key, Partitioned, era_of, prepare};
use self::history::{Event, What};
use self::losses::End;
use crate::account::Account;
use crate::random::Random;
use crate::requests::Requests;
use crate::{CONVERGENCE_MAX, found_and_run};

const CLIENTS: usize = 8;
/// Of each fault that makes a region silent.
const FAULT_SECONDS: u64 = 5;
/// The time limit of a request in eras without a fault. A longer request shows that the machine is so busy
/// that regions may count as silent.
const FAULT_FREE_REQUEST_MAX: Duration = Duration::from_millis(1_900);
/// How long a key may take to have one owner after the last fault.
const OWNER_WAIT_MAX: Duration = Duration::from_mins(1);

#[test]
fn partitions_fail_over_and_nothing_is_dropped() {
    let flags = ["--consistency=Session", "--per-partition-failover"];
    found_and_run(&flags, |account, random, time| {
        let count = usize::try_from(time.as_secs() / FAULT_SECONDS)
            .unwrap()
            .max(3);
        let begun = Instant::now();
        let (keys, mut history) = prepare(account, CLIENTS, count + 1, begun);
        let ranges: BTreeSet<String> = keys.iter().map(|key| key.range.clone()).collect();
        let ranges: Vec<String> = ranges.into_iter().collect();
        converged(account, &ranges);
        let is_fault_free = run_with_faults(
            account,
            random,
            (&keys, &ranges),
            count,
            begun,
            &mut history,
        );
        let end = converged(account, &ranges);
        let tally = losses::check(&history, &end, |item| {
            is_fault_free && era_of(item) == FAULT_FREE
        })?;
        let reads = history
            .iter()
            .filter(|event| matches!(event.what, What::Read(_)));
        println!(
            "  {tally:?}, {} reads, free of faults: {is_fault_free}",
            reads.clone().count()
        );
        assert!(
            tally.acknowledged > 100 && reads.count() > 100,
            "too little was answered"
        );
        sessions::check(&history)?;
        one_owner_each(account, &keys, begun)
    });
}

/// Waits until exactly one region takes the writes of each key.
fn one_owner_each(account: &Account, keys: &[Key], begun: Instant) -> Result<(), String> {
    let mut client = Partitioned::new(account, CLIENTS + 1, keys, begun);
    for key in keys {
        let began = Instant::now();
        loop {
            let owners = client.owners(key);
            if owners.len() == 1 {
                break;
            }
            if began.elapsed() > OWNER_WAIT_MAX {
                let reports = [0, 1, 2].map(|process| account.report(process));
                return Err(format!("{key:?} is written in {owners:?}\n{reports:#?}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// Runs the clients while partitions fail over. Returns whether the era without a fault had no silent region either.
fn run_with_faults(
    account: &Account,
    random: &mut Random,
    (keys, ranges): (&[Key], &[String]),
    count: usize,
    begun: Instant,
    history: &mut Vec<Event>,
) -> bool {
    let eras = Eras::new(CLIENTS);
    let is_over = AtomicBool::new(false);
    let seeds: Vec<u64> = (0..CLIENTS).map(|_| random.below(u64::MAX)).collect();
    thread::scope(|scope| {
        let (eras, is_over) = (&eras, &is_over);
        // The guard ends the clients also after a panic in this thread; the scope would wait for
        // them forever.
        let guard = Ending(is_over);
        let clients = seeds.into_iter().enumerate().map(|(number, seed)| {
            scope.spawn(move || {
                let mut client = Partitioned::new(account, number, keys, begun);
                let is_over = || is_over.load(Ordering::Relaxed);
                client.work(&mut Random::new(seed), eras, is_over);
                client
            })
        });
        let clients: Vec<_> = clients.collect();
        println!("  {:?}", faults::planned_changes(account, random, ranges));
        eras.next();
        let fault_free_end = begun.elapsed();
        println!(
            "  {:?}",
            faults::inject_faults(account, random, ranges, eras, count)
        );
        drop(guard);
        let mut is_fault_free = true;
        for client in clients {
            let client = client.join().unwrap();
            is_fault_free &= client.slow.is_none_or(|slow| slow > fault_free_end);
            history.extend(client.history);
        }
        is_fault_free
    })
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The content of all regions, byte for byte, when the regions are equal. The test fails if the
/// regions do not become equal.
fn converged(account: &Account, ranges: &[String]) -> End {
    let begun = Instant::now();
    let mut requests = Requests::new(account);
    loop {
        let all = [0, 1, 2].map(|region| Texts::of(&mut requests, region, ranges));
        if let [Some(first), Some(second), Some(third)] = &all
            && first == second
            && second == third
        {
            println!("  alike {:?} later", begun.elapsed());
            return first.end();
        }
        assert!(
            begun.elapsed() < CONVERGENCE_MAX,
            "regions differ: {all:?}\n{:?}\n{}",
            [0, 1, 2].map(|process| account.report(process)),
            account.logs()
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// What one region answers.
#[derive(Debug, PartialEq, Eq)]
struct Texts {
    /// Pages of items.
    items: Vec<String>,
    /// Versions in the conflict feed, which has its own numbers in each region.
    conflicts: BTreeSet<String>,
}

impl Texts {
    fn of(requests: &mut Requests, region: usize, ranges: &[String]) -> Option<Texts> {
        let mut items = Vec::new();
        let mut conflicts = BTreeSet::new();
        for range in ranges {
            items.extend(pages(requests, region, range, "docs")?);
            for page in pages(requests, region, range, "conflicts")? {
                let page: Json = serde_json::from_str(&page).unwrap();
                let listed = page["Conflicts"].as_array().unwrap().iter();
                conflicts.extend(listed.map(|one| one["content"].as_str().unwrap().to_owned()));
            }
        }
        Some(Texts { items, conflicts })
    }

    fn end(&self) -> End {
        let mut end = End::default();
        for page in &self.items {
            let page: Json = serde_json::from_str(page).unwrap();
            end.items
                .extend(page["Documents"].as_array().unwrap().iter().map(version));
        }
        for content in &self.conflicts {
            let (id, value) = version(&serde_json::from_str(content).unwrap());
            end.conflicts.entry(id).or_default().push(value);
        }
        end
    }
}

fn version(document: &Json) -> (String, u64) {
    let id = document["id"].as_str().unwrap().to_owned();
    (id, document["n"].as_u64().unwrap())
}

fn pages(requests: &mut Requests, region: usize, range: &str, kind: &str) -> Option<Vec<String>> {
    let path = format!("/{CONTAINER}/{kind}");
    let mut pages = Vec::new();
    let mut continuation: Option<String> = None;
    loop {
        let mut headers = vec![
            ("x-ms-documentdb-partitionkeyrangeid", range),
            ("x-ms-max-item-count", "100000"),
            ("x-ms-consistency-level", "Eventual"),
        ];
        let after = continuation.as_deref();
        headers.extend(after.map(|text| ("x-ms-continuation", text)));
        let answer = requests.send(region, "GET", (&path, kind, CONTAINER), &headers, "")?;
        if answer.status != 200 {
            return None;
        }
        continuation = answer.header("x-ms-continuation").map(str::to_owned);
        pages.push(answer.body);
        if continuation.is_none() {
            return Some(pages);
        }
    }
}
