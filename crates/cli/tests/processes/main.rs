//! An account whose regions are processes, under an operator who kills them, stops them and cuts what is
//! between them, keeps what each consistency level promises: clients record what they see, and
//! checkers that know nothing else decide.
//!
//! `ORRERY_PROCESSES_SECONDS=n` makes it longer, `ORRERY_PROCESSES_SEED=n` begins with another seed and
//! `ORRERY_PROCESSES_SEEDS=n` runs so many.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test ends where it is surprised")]
#![expect(clippy::print_stdout, reason = "what a run did is shown when it fails")]

mod account;
mod bound;
#[path = "../crash/client.rs"]
mod client;
mod founding;
mod linear;
mod operator;
mod partitions;
#[path = "../crash/random.rs"]
mod random;
mod requests;
mod session;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::account::{Account, REGIONS};
use crate::bound::{Bound, Known, Read};
use crate::linear::Event;
use crate::random::Random;
use crate::requests::{Item, Outcome, Requests, START_WAIT_MAX};
use crate::session::{How, Seen};

const CLIENTS: usize = 5;
const ITEMS: usize = 4;
/// One with four kills, a cut, a delay and a failover; stops come with more seconds.
const SEED: u64 = 3;
/// The length of the period with faults, in one run.
const SECONDS: u64 = 8;
/// How long the regions may take to become equal after the last fault.
const CONVERGENCE_MAX: Duration = Duration::from_mins(1);
/// More than so many answers make a history worth a look; a busy machine has time to give them.
const STRONG_WRITES: usize = 20;
const STRONG_READS: usize = 50;
const SESSION_WRITES: usize = 20;
const SESSION_ANSWERS: usize = 100;
const BOUNDED_WRITES: usize = 20;
const BOUNDED_READS: usize = 50;
const MADE: usize = 50;
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(3);

/// One account at a time: there are processes enough.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn strong_accounts_are_linearisable() {
    run(&["--consistency=Strong"], |account, random, time| {
        let begun = Instant::now();
        let now = || u64::try_from(begun.elapsed().as_nanos()).unwrap() + 1;
        let wanted = [STRONG_WRITES, STRONG_READS];
        let mut histories = run_with_faults(
            account,
            random,
            time,
            &wanted,
            |number, random, progress| {
                let mut requests = Requests::new(account);
                let mut history: Vec<(usize, Event)> = Vec::new();
                let mut written = 0;
                while !progress.is_over() {
                    let item = pick(random, ITEMS);
                    let begun = now();
                    if random.below(3) == 0 {
                        written += 1;
                        let value = (number as u64 + 1) * 1_000_000 + written;
                        let outcome = requests.write(item, value, None);
                        let ended = (outcome == Outcome::Done).then(&now);
                        if ended.is_some() {
                            progress.count(0);
                        }
                        if outcome != Outcome::Refused {
                            let is_write = true;
                            history.push((
                                item,
                                Event {
                                    is_write,
                                    value,
                                    begun,
                                    ended,
                                },
                            ));
                        }
                    } else if let Some(Item { value, .. }) = requests.read(pick(random, 3), item) {
                        let (is_write, ended) = (false, Some(now()));
                        progress.count(1);
                        history.push((
                            item,
                            Event {
                                is_write,
                                value,
                                begun,
                                ended,
                            },
                        ));
                    }
                    // Requests without a session token, since a token would hide a violation of the
                    // level itself.
                    requests.session = None;
                    sleep(PAUSE);
                }
                history
            },
        );
        let begun = now();
        let last = converged(account);
        let (is_write, ended) = (false, Some(now()));
        let last = (0..ITEMS).map(|item| {
            let value = last[&item.to_string()].value;
            (
                item,
                Event {
                    is_write,
                    value,
                    begun,
                    ended,
                },
            )
        });
        histories.push(last.collect());
        let mut items: BTreeMap<usize, Vec<Event>> = BTreeMap::new();
        for (item, event) in histories.into_iter().flatten() {
            items.entry(item).or_default().push(event);
        }
        let count = |is_write: bool| {
            let events = items.values().flatten();
            let answered = events.filter(|event| event.ended.is_some());
            answered.filter(|event| event.is_write == is_write).count()
        };
        println!(
            "  {} writes and {} reads answered",
            count(true),
            count(false)
        );
        assert!(
            count(true) > STRONG_WRITES && count(false) > STRONG_READS,
            "too little was answered"
        );
        for (item, events) in &items {
            linear::check(events).map_err(|error| format!("item {item}: {error}"))?;
        }
        Ok(())
    });
}

#[test]
fn sessions_see_what_they_wrote() {
    // Without loss of records there is one order of versions, and every session can continue.
    let flags = ["--consistency=Session", "--service-managed-failover=off"];
    run(&flags, |account, random, time| {
        let wanted = [SESSION_WRITES, SESSION_ANSWERS];
        let sessions = run_with_faults(
            account,
            random,
            time,
            &wanted,
            |number, random, progress| {
                let mut requests = Requests::new(account);
                let mut seen = Vec::new();
                let mut own: Option<Item> = None;
                while !progress.is_over() {
                    let is_writing = random.below(3) == 0 && number < ITEMS;
                    if let (true, Some(before)) = (is_writing, own.take()) {
                        let (item, value) = (number, before.value + 1);
                        if requests.write(item, value, Some(&before.etag)) == Outcome::Done {
                            let (how, token) = (How::Wrote, requests.session.clone());
                            progress.count(0);
                            progress.count(1);
                            seen.push(Seen {
                                item,
                                value,
                                how,
                                token,
                            });
                        }
                    }
                    let item = if own.is_none() {
                        number % ITEMS
                    } else {
                        pick(random, ITEMS)
                    };
                    let region = pick(random, 3);
                    if let Some(read) = requests.read(region, item) {
                        let (value, how) = (read.value, How::Read { region });
                        let token = requests.session.clone();
                        progress.count(1);
                        seen.push(Seen {
                            item,
                            value,
                            how,
                            token,
                        });
                        if item == number {
                            own = Some(read);
                        }
                    }
                    sleep(PAUSE);
                }
                seen
            },
        );
        let last = converged(account);
        let wrote = |seen: &&Seen| seen.how == How::Wrote;
        let writes = sessions.iter().flatten().filter(wrote).count();
        let answers = sessions.iter().map(Vec::len).sum::<usize>();
        println!("  {writes} writes and {} reads answered", answers - writes);
        assert!(
            writes > SESSION_WRITES && answers > SESSION_ANSWERS,
            "too little was answered"
        );
        for session in sessions {
            // A session that returns after the last fault must find its writes too.
            let last = (0..ITEMS).map(|item| Seen {
                item,
                value: last[&item.to_string()].value,
                how: How::AtRest,
                token: None,
            });
            let session: Vec<Seen> = session.into_iter().chain(last).collect();
            session::check(&session)?;
        }
        Ok(())
    });
}

#[test]
fn staleness_is_bounded_and_writes_are_seen_in_order() {
    let bound = Bound {
        versions: 20,
        time: Duration::from_secs(2),
    };
    let flags = [
        "--consistency=BoundedStaleness",
        "--bounded-versions=20",
        "--bounded-seconds=2",
        "--service-managed-failover=off",
    ];
    run(&flags, |account, random, time| {
        let begun = Instant::now();
        let wanted = [BOUNDED_WRITES, BOUNDED_READS, BOUNDED_READS];
        let histories = run_with_faults(
            account,
            random,
            time,
            &wanted,
            |number, random, progress| {
                let mut requests = Requests::new(account);
                let (mut known, mut reads, mut snapshots) = (Vec::new(), Vec::new(), Vec::new());
                let mut next = Known {
                    item: number * 2,
                    value: 1,
                    since: Duration::ZERO,
                };
                while !progress.is_over() {
                    let region = pick(random, 3);
                    let is_author = next.item < ITEMS;
                    if is_author && let Some(read) = requests.read(region, next.item) {
                        // The value was written by this request, or by an earlier attempt without an
                        // answer.
                        let is_there = read.value == next.value
                            || read.value + 1 == next.value
                                && requests.write(next.item, next.value, Some(&read.etag))
                                    == Outcome::Done;
                        if is_there {
                            let since = begun.elapsed();
                            known.push(Known { since, ..next });
                            progress.count(0);
                            let is_first = next.item.is_multiple_of(2);
                            next.item = number * 2 + usize::from(is_first);
                            next.value += u64::from(!is_first);
                        }
                    } else if !is_author && random.below(2) == 0 {
                        let item = pick(random, ITEMS);
                        let begun = begun.elapsed();
                        if let Some(Item { value, .. }) = requests.read(region, item) {
                            progress.count(1);
                            reads.push(Read {
                                item,
                                value,
                                region,
                                begun,
                            });
                        }
                    } else if let Some(all) = requests.all(region, "ConsistentPrefix") {
                        let items = (0..ITEMS).map(|item| all[&item.to_string()].value);
                        snapshots.push(items.collect::<Vec<u64>>());
                        progress.count(2);
                    }
                    requests.session = None;
                    sleep(PAUSE);
                }
                (known, reads, snapshots)
            },
        );
        converged(account);
        let known: Vec<Known> = histories
            .iter()
            .flat_map(|(known, ..)| known.clone())
            .collect();
        let reads: Vec<Read> = histories
            .iter()
            .flat_map(|(_, reads, _)| reads.clone())
            .collect();
        let snapshots: Vec<Vec<u64>> = histories
            .into_iter()
            .flat_map(|(.., snapshots)| snapshots)
            .collect();
        println!(
            "  {} writes, {} reads and {} snapshots",
            known.len(),
            reads.len(),
            snapshots.len()
        );
        assert!(
            known.len() > BOUNDED_WRITES
                && reads.len() > BOUNDED_READS
                && snapshots.len() > BOUNDED_READS,
            "too little was answered"
        );
        bound::check(&known, &reads, bound)?;
        snapshots
            .iter()
            .try_for_each(|values| bound::check_order(values))
    });
}

#[test]
fn regions_that_all_write_end_alike() {
    let flags = ["--consistency=Session", "--multi-write"];
    run(&flags, |account, random, time| {
        let made = run_with_faults(
            account,
            random,
            time,
            &[MADE],
            |number, random, progress| {
                let mut requests = Requests::new(account);
                let mut made = Vec::new();
                let mut count = 0;
                while !progress.is_over() {
                    count += 1;
                    let region = pick(random, 3);
                    let value = (number as u64 + 1) * 1_000_000 + count;
                    // Updates that conflict, and items that have only one version.
                    requests.write_in(region, pick(random, ITEMS), value, None);
                    let id = format!("{number}-{count}");
                    if requests.create_in(region, &id) == Outcome::Done {
                        made.push(id);
                        progress.count(0);
                    }
                    requests.session = None;
                    sleep(PAUSE);
                }
                made
            },
        );
        let last = converged(account);
        let made: Vec<String> = made.into_iter().flatten().collect();
        println!(
            "  {} items made, {} there in all regions",
            made.len(),
            last.len()
        );
        assert!(made.len() > MADE, "too little was answered");
        let lost: Vec<&String> = made.iter().filter(|id| !last.contains_key(*id)).collect();
        if lost.is_empty() {
            Ok(())
        } else {
            Err(format!("acknowledged and gone: {lost:?}"))
        }
    });
}

/// Runs a scenario on a new account with a container for each seed.
fn run(flags: &[&str], scenario: impl Fn(&Account, &mut Random, Duration) -> Result<(), String>) {
    found_and_run(flags, |account, random, time| {
        Requests::new(account).prepare(ITEMS);
        converged(account);
        scenario(account, random, time)
    });
}

/// Runs a scenario on a new account for each seed.
fn found_and_run(
    flags: &[&str],
    scenario: impl Fn(&Account, &mut Random, Duration) -> Result<(), String>,
) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let first = number("ORRERY_PROCESSES_SEED", SEED);
    let seeds = number("ORRERY_PROCESSES_SEEDS", 1);
    let time = Duration::from_secs(number("ORRERY_PROCESSES_SECONDS", SECONDS));
    for seed in first..first + seeds {
        println!("{flags:?}, seed {seed}");
        let directory = tempfile::tempdir().unwrap();
        let account = Account::found(directory.path(), flags);
        wait_for_endpoints(&account);
        let outcome = scenario(&account, &mut Random::new(seed), time);
        if let Err(error) = outcome {
            panic!("seed {seed}: {error}\n{}", account.logs());
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable);
    text.map_or(default, |text| text.parse().unwrap())
}

/// Waits until every process advertises all regions and has the settings that the write region
/// published.
fn wait_for_endpoints(account: &Account) {
    let begun = Instant::now();
    for process in 0..REGIONS.len() {
        let knows_all = || {
            let report = account.report(process).ok()?;
            let regions = report["regions"].as_array()?.clone();
            let with_endpoint = regions
                .iter()
                .filter(|region| region["endpoint"].is_string());
            Some(with_endpoint.count() == REGIONS.len())
        };
        while knows_all() != Some(true) {
            assert!(begun.elapsed() < START_WAIT_MAX, "{}", account.logs());
            sleep(Duration::from_millis(50));
        }
    }
    while !account.shares_token_secret() {
        assert!(begun.elapsed() < START_WAIT_MAX, "{}", account.logs());
        sleep(Duration::from_millis(50));
    }
}

/// The state that clients and the operator share.
#[derive(Default)]
struct ClientProgress {
    is_over: AtomicBool,
    /// Answers, by kind.
    answers: [AtomicUsize; 3],
}

impl ClientProgress {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn count(&self, kind: usize) {
        self.answers[kind].fetch_add(1, Ordering::Relaxed);
    }

    fn has(&self, wanted: &[usize]) -> bool {
        let mut answers = self.answers.iter().zip(wanted);
        answers.all(|(answers, wanted)| answers.load(Ordering::Relaxed) > *wanted)
    }
}

/// Runs the clients during the faults, and then until they have the wanted number of answers of
/// each kind. Returns the records of all clients.
fn run_with_faults<T: Send>(
    account: &Account,
    random: &mut Random,
    time: Duration,
    wanted: &[usize],
    client: impl Fn(usize, &mut Random, &ClientProgress) -> T + Sync,
) -> Vec<T> {
    let progress = ClientProgress::default();
    let seeds: Vec<u64> = (0..CLIENTS).map(|_| random.below(u64::MAX)).collect();
    thread::scope(|scope| {
        let (client, progress) = (&client, &progress);
        let clients = seeds.into_iter().enumerate().map(|(number, seed)| {
            scope.spawn(move || client(number, &mut Random::new(seed), progress))
        });
        let clients: Vec<_> = clients.collect();
        let counts = operator::inject_faults(account, random, time);
        println!("  {counts:?}");
        sleep(Duration::from_secs(1));
        let begun = Instant::now();
        while !progress.has(wanted) && begun.elapsed() < CONVERGENCE_MAX {
            sleep(Duration::from_millis(50));
        }
        progress.is_over.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    })
}

/// The items when all regions are equal. The test fails if the regions do not become equal.
fn converged(account: &Account) -> BTreeMap<String, Item> {
    let begun = Instant::now();
    let mut requests = Requests::new(account);
    loop {
        let all = [0, 1, 2].map(|region| requests.all(region, "Eventual"));
        if let [Some(first), Some(second), Some(third)] = &all
            && first == second
            && second == third
        {
            println!("  alike {:?} later", begun.elapsed());
            return first.clone();
        }
        let reports = || [0, 1, 2].map(|process| account.report(process));
        assert!(
            begun.elapsed() < CONVERGENCE_MAX,
            "regions differ: {all:?}\n{:?}\n{}",
            reports(),
            account.logs()
        );
        sleep(Duration::from_millis(50));
    }
}

fn pick(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.below(count as u64)).unwrap()
}
