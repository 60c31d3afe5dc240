//! Accounts whose single partitions fail over: while partitions are moved and taken down, and regions
//! are killed, stopped and cut off, nothing that was acknowledged is dropped, no two regions own a key
//! unless one of them was silent, sessions see their writes, and in the end all regions have the same.

mod clients;
mod deeds;
mod history;
mod lineage;
mod losses;
mod sessions;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use self::clients::{CALM, CONTAINER, Eras, Key, Partitioned, era_of, prepare};
use self::history::{Event, What};
use self::losses::End;
use crate::account::Account;
use crate::random::Random;
use crate::requests::Requests;
use crate::{REST_PATIENCE, found_and_run};

const CLIENTS: usize = 8;
/// Of each deed that makes a region silent.
const DEED_SECONDS: u64 = 5;
/// Of a request in calm times. If one takes longer the machine is so busy that regions may count as silent.
const CALM_PATIENCE: Duration = Duration::from_millis(1_900);
/// For a key to have one owner when everything is well again.
const OWNER_PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn partitions_fail_over_and_nothing_is_dropped() {
    let flags = ["--consistency=Session", "--per-partition-failover"];
    found_and_run(&flags, |account, random, time| {
        let count = usize::try_from(time.as_secs() / DEED_SECONDS)
            .unwrap()
            .max(3);
        let begun = Instant::now();
        let (keys, mut history) = prepare(account, CLIENTS, count + 1, begun);
        let ranges: BTreeSet<String> = keys.iter().map(|key| key.range.clone()).collect();
        let ranges: Vec<String> = ranges.into_iter().collect();
        at_rest(account, &ranges);
        let is_calm = under_fire(
            account,
            random,
            (&keys, &ranges),
            count,
            begun,
            &mut history,
        );
        let end = at_rest(account, &ranges);
        let tally = losses::check(&history, &end, |item| is_calm && era_of(item) == CALM)?;
        let reads = history
            .iter()
            .filter(|event| matches!(event.what, What::Read(_)));
        println!(
            "  {tally:?}, {} reads, calm: {is_calm}",
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

/// When all is well again, one region takes the writes of a key.
fn one_owner_each(account: &Account, keys: &[Key], begun: Instant) -> Result<(), String> {
    let mut client = Partitioned::new(account, CLIENTS + 1, keys, begun);
    for key in keys {
        let began = Instant::now();
        loop {
            let owners = client.owners(key);
            if owners.len() == 1 {
                break;
            }
            if began.elapsed() > OWNER_PATIENCE {
                let reports = [0, 1, 2].map(|process| account.report(process));
                return Err(format!("{key:?} is written in {owners:?}\n{reports:#?}"));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// Lets clients work while partitions fail over. True if what was to be calm was.
fn under_fire(
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
        // Also if something here panics, or nobody would stop.
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
        println!("  {:?}", deeds::calm(account, random, ranges));
        eras.next();
        let calm_end = begun.elapsed();
        println!("  {:?}", deeds::rough(account, random, ranges, eras, count));
        drop(guard);
        let mut is_calm = true;
        for client in clients {
            let client = client.join().unwrap();
            is_calm &= client.slow.is_none_or(|slow| slow > calm_end);
            history.extend(client.history);
        }
        is_calm
    })
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What all regions have, to the byte, when they have the same; they must get there.
fn at_rest(account: &Account, ranges: &[String]) -> End {
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
            begun.elapsed() < REST_PATIENCE,
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
