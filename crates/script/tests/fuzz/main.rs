//! Runs random programs in the sandbox. Every program must end within its budgets without a panic,
//! and must leave the sandbox unchanged for the next program. The runs borrow all memory from a
//! large pool, and the pool must get all of it back.
//!
//! The round number determines the few programs of a round. A short session is part of the ordinary
//! tests; `cargo xtask fuzz` extends it.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but not all test functions"
)]

#[path = "../common/mod.rs"]
mod common;
mod program;
mod random;
mod suspended;
mod values;

use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use common::child::resident_bytes;
use common::{MemoryHost, json, procedure, run, runtime};
use orrery_json::parse_bounded;
use orrery_memory::MemoryPool;
use orrery_script::{
    Job, JobKind, PostTriggerResponse, Runtime, ScriptError, ScriptOptions, ScriptOutcome,
    TriggerOperation,
};

use random::Random;

const SECONDS_DEFAULT: u64 = 8;
const ROUND_PROGRAMS: usize = 20;
const DEPTH_MAX: usize = 10_000;
const TRIES_MAX: usize = 50;

/// Extra time beyond the budget of a run, because the machine may be busy.
const SLACK: Duration = Duration::from_secs(10);

/// Far above the memory of one run, so that the pool refuses no loan.
const POOL_BYTES: usize = 1 << 30;

/// Memory limit of one run: the compiler's heap, or the script's heap with its reserve, and one
/// value outside of the heap.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Above the memory of all abandoned threads together with the test itself.
const RESIDENT_BYTES_MAX: usize = 1 << 30;

/// A digest of everything that a script can reach by names, three steps far.
const LOOK: &str = "function () {
    var seen = new Set(), lines = [];
    function look(path, value, depth) {
        var isThing = value !== null && (typeof value === 'object' || typeof value === 'function');
        if (!isThing || seen.has(value)) return;
        seen.add(value);
        lines.push(path + ' ' + Object.isExtensible(value));
        if (depth === 0) return;
        Reflect.ownKeys(value).forEach(function (key) {
            var property = Reflect.getOwnPropertyDescriptor(value, key);
            var name = path + '.' + String(key);
            lines.push([name, typeof property.value, typeof property.get, property.writable,
                property.enumerable, property.configurable].join(' '));
            if ('value' in property) look(name, property.value, depth - 1);
        });
        look(path + '.^', Object.getPrototypeOf(value), depth - 1);
    }
    look('global', globalThis, 3);
    var text = lines.join(), digest = 0;
    for (var i = 0; i < text.length; i++) digest = (digest * 31 + text.charCodeAt(i)) % 4294967291;
    __.response.setBody([lines.length, digest]);
}";

/// The largest budget.
fn options() -> ScriptOptions {
    ScriptOptions {
        threads: 1,
        wall_time: Duration::from_millis(100),
        accept_time: Duration::from_millis(80),
        abandon_time: Duration::from_millis(100),
        heap_bytes: 8 << 20,
        stack_bytes: 256 << 10,
        value_bytes: 4 << 20,
        response_length_max: 64 << 10,
        log_bytes: 1 << 10,
        ..ScriptOptions::default()
    }
}

/// Budgets in each of which a different limit is reached first.
fn small_budgets() -> [ScriptOptions; 3] {
    [
        ScriptOptions {
            steps_max: 40_000,
            ..options()
        },
        ScriptOptions {
            heap_bytes: 2 << 20,
            ..options()
        },
        ScriptOptions {
            heap_bytes: 1 << 20,
            steps_max: 60_000,
            stack_bytes: 64 << 10,
            ..options()
        },
    ]
}

#[test]
fn random_programs() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(number("ORRERY_FUZZ_SECONDS").unwrap_or(SECONDS_DEFAULT));
    let first_round: u64 = number("ORRERY_FUZZ_SEED").unwrap_or(1);
    let round_file = env::var_os("ORRERY_FUZZ_ROUND_FILE");
    let mut session = Session::new();
    let clean = session.ask(LOOK).unwrap();
    let begun = Instant::now();
    for round in first_round.. {
        if begun.elapsed() >= time {
            break;
        }
        if let Some(file) = &round_file {
            fs::write(file, round.to_string()).unwrap();
        }
        session.round(round);
    }
    if let Some(file) = &round_file {
        fs::remove_file(file).unwrap();
    }
    let ends = &session.ends;
    println!("{ends:?}");
    assert!(
        ends.well > 0 && ends.threw > 0 && ends.limit > 0,
        "{ends:?}"
    );
    let after = session.ask(LOOK).unwrap();
    assert_eq!(after, clean, "a run left something behind");
    if let Some(bytes) = resident_bytes() {
        assert!(bytes < RESIDENT_BYTES_MAX, "{bytes} bytes are held");
    }
}

struct Session {
    pool: MemoryPool,
    runtime: Runtime,
    small: [Runtime; 3],
    ends: Ends,
}

#[derive(Debug, Default)]
struct Ends {
    well: u64,
    compile: u64,
    threw: u64,
    limit: u64,
}

impl Session {
    fn new() -> Session {
        Session {
            pool: MemoryPool::new(POOL_BYTES),
            runtime: runtime(options()),
            small: small_budgets().map(runtime),
            ends: Ends::default(),
        }
    }

    fn round(&mut self, round: u64) {
        let mut random = Random::new(round);
        for _ in 0..ROUND_PROGRAMS {
            let source = program::program(&mut random);
            let job = Job {
                share: self.pool.share(),
                ..job(&source, &mut random)
            };
            let documents = json(r#"[{"id":"1","n":1,"t":[1,[2]]},{"id":"2","n":-1}]"#);
            let host = MemoryHost {
                accepts: random.chance(4).then(|| random.below(6)),
                ..MemoryHost::with(&documents)
            };
            let begun = Instant::now();
            let budget = match random.below(5) {
                0..2 => &self.runtime,
                small => &self.small[small - 2],
            };
            let (_, result) = run(budget, job, host);
            let took = begun.elapsed();
            self.check(&result, took)
                .unwrap_or_else(|what| panic!("round {round}: {what}\n{source}"));
        }
        self.settle()
            .unwrap_or_else(|what| panic!("after round {round}: {what}"));
        self.probe()
            .unwrap_or_else(|what| panic!("after round {round}: {what}"));
    }

    fn check(
        &mut self,
        result: &Result<ScriptOutcome, ScriptError>,
        took: Duration,
    ) -> Result<(), String> {
        let limits = options();
        if took > limits.wall_time + limits.abandon_time + SLACK {
            return Err(format!("it took {took:?}"));
        }
        match result {
            Ok(outcome) => {
                self.ends.well += 1;
                check_outcome(outcome, &limits)
            }
            Err(ScriptError::Compile { .. } | ScriptError::NotAFunction) => {
                self.ends.compile += 1;
                Ok(())
            }
            Err(ScriptError::Threw(_) | ScriptError::Aborted(_)) => {
                self.ends.threw += 1;
                Ok(())
            }
            Err(error) if error.is_limit() => {
                self.ends.limit += 1;
                Ok(())
            }
            Err(other) => Err(format!("it ended with {other:?}")),
        }
    }

    /// Waits until every abandoned thread has returned and the pool has received all lent bytes.
    fn settle(&self) -> Result<(), String> {
        let begun = Instant::now();
        let abandoned = |runtime: &Runtime| runtime.abandoned_threads().now > 0;
        while abandoned(&self.runtime) || self.small.iter().any(abandoned) || self.pool.used() > 0 {
            if begun.elapsed() > Duration::from_mins(1) {
                return Err(format!("a thread is lost, with {} bytes", self.pool.used()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        if self.pool.peak() > HELD_BYTES_MAX {
            return Err(format!("{} bytes were held", self.pool.peak()));
        }
        Ok(())
    }

    /// A small script that uses what programs like to destroy.
    fn probe(&self) -> Result<(), String> {
        let source = "function () {
            var c = getContext().getCollection();
            c.createDocument(c.getSelfLink(), { id: 'p', t: [3, [1]] }, function (err, doc) {
                __.chain().filter(d => d.id === 'p').map(d => d.t).flatten().value(function (e, rows) {
                    var kinds = Object.keys({}).concat(rows.sort(), typeof leaked, [].concat([1]));
                    getContext().getResponse().setBody(JSON.stringify(kinds) + doc.id.toUpperCase());
                });
            });
        }";
        let expected = r#""[1,3,\"undefined\",1]P""#;
        match self.ask(source)? {
            body if body == expected => Ok(()),
            other => Err(other),
        }
    }

    /// Runs a script that ends successfully if it gets enough time, and returns its body.
    fn ask(&self, source: &str) -> Result<String, String> {
        let mut tries = 0;
        loop {
            match procedure(&self.runtime, source) {
                Ok(outcome) => return outcome.body.ok_or_else(|| "no body".to_owned()),
                // Lost threads may keep the machine busy.
                Err(ScriptError::TimedOut) if tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

fn check_outcome(outcome: &ScriptOutcome, limits: &ScriptOptions) -> Result<(), String> {
    if outcome.log.len() > limits.log_bytes {
        return Err(format!("its log has {} bytes", outcome.log.len()));
    }
    let Some(body) = &outcome.body else {
        return Ok(());
    };
    let length = body.encode_utf16().count();
    if length > limits.response_length_max {
        return Err(format!("its body has {length} characters"));
    }
    match parse_bounded(body.as_bytes(), DEPTH_MAX) {
        Ok(_) => Ok(()),
        // A lone surrogate is a valid string in JavaScript, and only scripts can parse its escaped
        // form.
        Err(_) if body.contains("\\ud") => Ok(()),
        Err(error) => Err(format!("its body is not JSON, {error}: {body}")),
    }
}

fn job(source: &str, random: &mut Random) -> Job {
    let body = || Some(br#"{"id":"1","n":1}"#.to_vec());
    let operation = TriggerOperation::Create;
    let kind = match random.below(6) {
        0 => JobKind::PreTrigger {
            operation,
            body: body(),
        },
        1 => JobKind::PostTrigger {
            operation,
            body: body(),
            response: PostTriggerResponse {
                body: body(),
                ..PostTriggerResponse::default()
            },
        },
        _ => JobKind::Procedure {
            arguments: vec![json(r#"{"a":[1,"x",null]}"#), 7.into()].into(),
        },
    };
    Job {
        kind,
        logging: random.chance(2),
        ..Job::procedure(source, Vec::new())
    }
}
