//! Rounds of mangled inputs, until the time is over.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::corpus::{Corpus, InputKind};
use super::finding::{Panic, catch, minimise};
use super::mutate::{Pool, mutate};
use super::random::Random;
use super::targets::{self, Target};
use super::{ROUND_FILE, SECONDS, SEED};

/// The duration as an ordinary test.
const SECONDS_DEFAULT: u64 = 10;
/// Short rounds: a finding is repeated by running its whole round.
const ROUND_INPUTS: usize = 2000;
/// Valid inputs of a round from which later inputs are made.
const VALID_INPUTS_MAX: usize = 64;
/// An input that takes longer is reported, but is no failure: the machine may be busy.
const SLOW: Duration = Duration::from_secs(2);
/// The stack size. Unoptimised frames are several times larger than those of the threads that serve
/// requests.
const STACK_BYTES: usize = if cfg!(debug_assertions) {
    32 << 20
} else {
    2 << 20
};

/// No target panics on any input.
#[test]
fn nothing_panics() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(number(SECONDS).unwrap_or(SECONDS_DEFAULT));
    let first_round = number(SEED).unwrap_or(1);
    // The test runner chooses the stack size of its threads, so the session runs on another thread.
    let session = thread::Builder::new().stack_size(STACK_BYTES);
    let session = session.spawn(move || Session::run(first_round, time));
    let session = session.expect("a thread").join().expect("a session ends");
    session.print();
    assert!(
        session.findings.is_empty(),
        "{} inputs panic",
        session.findings.len()
    );
}

/// One run of the fuzzer.
struct Session {
    targets: Vec<Target>,
    corpus: Corpus,
    rounds: u64,
    counts: Vec<TargetCounts>,
    /// The findings, by target and source location of the panic.
    findings: BTreeMap<(&'static str, String), Finding>,
}

/// The figures of one target.
#[derive(Default, Clone)]
struct TargetCounts {
    inputs: u64,
    valid: u64,
    slowest: Duration,
    slowest_input: Vec<u8>,
}

/// The first panic at one source location.
struct Finding {
    round: u64,
    message: String,
    input: Vec<u8>,
}

impl Session {
    /// Runs rounds until the time is over.
    fn run(first_round: u64, time: Duration) -> Session {
        let corpus = Corpus::load();
        let targets = targets::all(&corpus);
        let mut session = Session {
            counts: vec![TargetCounts::default(); targets.len()],
            targets,
            corpus,
            rounds: 0,
            findings: BTreeMap::new(),
        };
        let round_file = env::var_os(ROUND_FILE);
        let begun = Instant::now();
        for round in first_round.. {
            if begun.elapsed() >= time {
                break;
            }
            // Written before the round, so that the file names the round in which the process died.
            if let Some(file) = &round_file {
                fs::write(file, round.to_string()).expect("the mark of the round");
            }
            session.round(round, begun + time);
            session.rounds += 1;
        }
        if let Some(file) = &round_file {
            fs::remove_file(file).expect("the mark of the round");
        }
        session
    }

    /// Runs one round. Its number determines all of its inputs.
    fn round(&mut self, round: u64, end: Instant) {
        let mut random = Random::new(round);
        let weights = self.targets.iter().map(|target| target.weight).enumerate();
        let turns: Vec<usize> = weights
            .flat_map(|(index, weight)| std::iter::repeat_n(index, weight))
            .collect();
        // Valid inputs end with the round, or a later round would depend on earlier ones.
        let mut valid_inputs: BTreeMap<InputKind, Vec<Vec<u8>>> = BTreeMap::new();
        for _ in 0..ROUND_INPUTS {
            if Instant::now() >= end {
                // A round that the deadline cuts off is the last one.
                return;
            }
            let index = *random.choice(&turns).expect("targets");
            let kind = self.targets[index].kind;
            let valid_inputs = valid_inputs.entry(kind).or_default();
            let pool = Pool {
                known: self.corpus.of(kind),
                valid_inputs,
            };
            let mut input = pool.choice(&mut random).unwrap_or_default().to_vec();
            mutate(&mut input, &pool, self.corpus.words(kind), &mut random);
            if self.execute(index, &input, round) {
                if valid_inputs.len() < VALID_INPUTS_MAX {
                    valid_inputs.push(input);
                } else {
                    // A new valid input displaces an old one, so that inputs move away from the
                    // corpus.
                    let position = random.below(VALID_INPUTS_MAX);
                    valid_inputs[position] = input;
                }
            }
        }
    }

    /// Runs a target on an input. Returns whether the input is valid.
    fn execute(&mut self, index: usize, input: &[u8], round: u64) -> bool {
        let target = &self.targets[index];
        let begun = Instant::now();
        let outcome = catch(|| (target.run)(input));
        let elapsed = begun.elapsed();
        let counts = &mut self.counts[index];
        counts.inputs += 1;
        if elapsed > counts.slowest {
            counts.slowest = elapsed;
            counts.slowest_input = input.to_vec();
        }
        match outcome {
            Ok(valid) => {
                counts.valid += u64::from(valid);
                valid
            }
            Err(panic) => {
                self.record(index, input, round, &panic);
                false
            }
        }
    }

    /// Records a panic, unless its location has a finding already.
    fn record(&mut self, index: usize, input: &[u8], round: u64, panic: &Panic) {
        let target = &self.targets[index];
        let key = (target.name, panic.location.clone());
        if self.findings.contains_key(&key) {
            return;
        }
        // A shorter input counts only if it panics at the same location.
        let same = |input: &[u8]| {
            catch(|| (target.run)(input)).is_err_and(|other| other.location == panic.location)
        };
        let finding = Finding {
            round,
            message: panic.message.clone(),
            input: minimise(input.to_vec(), same),
        };
        self.findings.insert(key, finding);
    }

    /// Prints the counts of each target and all findings.
    fn print(&self) {
        println!("{} rounds", self.rounds);
        for (target, counts) in self.targets.iter().zip(&self.counts) {
            println!(
                "{:<14} {:>10} inputs {:>10} valid, slowest {:?}",
                target.name, counts.inputs, counts.valid, counts.slowest
            );
            if counts.slowest > SLOW {
                println!("    slow: {}", counts.slowest_input.escape_ascii());
            }
        }
        for ((target, location), finding) in &self.findings {
            println!("\n{target} panics at {location}: {}", finding.message);
            println!("    input: {}", finding.input.escape_ascii());
            println!("    cargo xtask fuzz --seed {}", finding.round);
        }
    }
}
