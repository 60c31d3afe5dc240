//! Values between a script and the database are limited in all forms: shared references, cycles,
//! depth, huge strings, and code that runs while the value is read. Each test has its own process,
//! whose memory is watched.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but not all test functions"
)]

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::child::{resident_bytes, survives};
#[cfg(target_os = "linux")]
use common::json;
use common::{MemoryHost, procedure, run, runtime};
#[cfg(target_os = "linux")]
use orrery_json::Value;
use orrery_memory::MemoryPool;
use orrery_script::{FunctionSession, Job, Runtime, ScriptError, ScriptOptions};

/// Memory limit of a test process: two heaps beyond their limits, values, and the test itself.
const RESIDENT_BYTES_MAX: usize = 400 << 20;

/// Enough for a heap beyond its limit.
const POOL_BYTES: usize = 256 << 20;

fn small() -> ScriptOptions {
    ScriptOptions {
        threads: 1,
        wall_time: Duration::from_millis(700),
        accept_time: Duration::from_millis(500),
        abandon_time: Duration::from_millis(200),
        heap_bytes: 32 << 20,
        ..ScriptOptions::default()
    }
}

/// Statements that build a value `x` whose references must not each cause a copy.
const HUGE: &[&str] = &[
    "var x = 1; for (var i = 0; i < 60; i++) x = [x, x]",
    "var x = 1; for (var i = 0; i < 60; i++) x = { a: x, b: x }",
    "var x = 1; for (var i = 0; i < 200; i++) x = [x, x]",
    "var x = 'x'.repeat(1e6); for (var i = 0; i < 30; i++) x = [x, x]",
    "var x = 'x'.repeat(1e6); for (var i = 0; i < 12; i++) x += x; x = [x, x, x]",
    "var x = []; for (var i = 0; i < 1e6; i++) x.push(x.length ? x[0] : new Array(1e3).fill(1))",
    "var o = {}; for (var i = 0; i < 1e3; i++) o['k' + i] = undefined; var x = new Array(1e4).fill(o); x = new Array(1e4).fill(x)",
    "var o = {}; for (var i = 0; i < 1e3; i++) o['k'.repeat(100) + i] = 1; var x = new Array(1e4).fill(o)",
    "var x = []; x[0] = x",
    "var y = [1]; for (var i = 0; i < 50; i++) y = [y, y]; var x = { y }; x.x = x",
    "var x = []; for (var i = 0; i < 1e5; i++) x = [x]",
    "var x = { get a() { for (;;); } }",
    "var x = { get a() { return { __proto__: x }; } }",
    "var x = { toJSON() { return [x, x]; } }",
    "var x = { toJSON() { var y = 1; for (var i = 0; i < 60; i++) y = [y, y]; return y; } }",
    "var x = new Proxy({}, { ownKeys() { for (;;); } })",
    "var x = new Proxy([], { get(t, k) { return k === 'length' ? 2 ** 40 : 1; } })",
    "var x = new Array(2 ** 31)",
    "var x = new Uint8Array(2e7)",
    "var x = new Array(1e5).fill(new Uint8Array(1e5))",
];

fn check_memory(source: &str) {
    let Some(now) = resident_bytes() else { return };
    assert!(now < RESIDENT_BYTES_MAX, "{now} bytes are held: {source}");
}

/// Checks that the run ends, its thread returns, the process stays small, all loans end, and the
/// next run succeeds.
fn ends(runtime: &Runtime, pool: &MemoryPool, source: &str) {
    let job = Job {
        share: pool.share(),
        logging: true,
        ..Job::procedure(source, Vec::new())
    };
    match run(runtime, job, MemoryHost::default()).1 {
        Ok(_) | Err(ScriptError::Threw(_) | ScriptError::Aborted(_)) => {}
        Err(error) => assert!((400..500).contains(&error.status()), "{source}: {error:?}"),
    }
    let begun = Instant::now();
    while runtime.abandoned_threads().now > 0 || pool.used() > 0 {
        check_memory(source);
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "a thread is lost: {source}"
        );
        thread::sleep(Duration::from_millis(5));
    }
    check_memory(source);
    let next = procedure(runtime, "() => __.response.setBody([1])").unwrap();
    assert_eq!(next.body.as_deref(), Some("[1]"), "after {source}");
}

fn all_end(statement: &str) {
    let runtime = runtime(small());
    let pool = MemoryPool::new(POOL_BYTES);
    for huge in HUGE {
        ends(
            &runtime,
            &pool,
            &format!("function () {{ {huge}; {statement}; }}"),
        );
    }
}

#[test]
fn documents() {
    survives("documents", || {
        all_end("__.createDocument(__.getSelfLink(), { id: '1', x })");
    });
}

#[test]
fn documents_with_options() {
    survives("documents_with_options", || {
        all_end("__.upsertDocument(__.getSelfLink(), { id: '1', x }, { indexAction: 'include' })");
    });
}

#[test]
fn links_and_options() {
    survives("links_and_options", || {
        let operation = "try { __.readDocument(x, { ifNoneMatch: 'x' }) } catch (e) {}";
        let options = "__.readDocuments(__.getSelfLink(), { continuation: x, pageSize: x })";
        all_end(&format!("x = x + ''; {operation}; {options}"));
    });
}

#[test]
fn bodies_of_responses() {
    survives("bodies_of_responses", || all_end("__.response.setBody(x)"));
}

#[test]
fn bodies_that_grow() {
    survives("bodies_that_grow", || {
        all_end("var b = []; __.response.setBody(b); b.push(x)");
    });
}

#[test]
fn thrown_values() {
    survives("thrown_values", || all_end("throw x"));
}

#[test]
fn messages_of_errors() {
    survives("messages_of_errors", || {
        all_end("throw { message: x, stack: x, number: x }");
    });
}

#[test]
fn aborts() {
    survives("aborts", || all_end("getContext().abort(x)"));
}

#[test]
fn parameters_of_queries() {
    survives("parameters_of_queries", || {
        all_end(
            "__.queryDocuments(__.getSelfLink(), { query: 'SELECT * FROM c', parameters: [{ name: '@x', value: x }] })",
        );
    });
}

#[test]
fn logs() {
    survives("logs", || {
        all_end("for (var i = 0; i < 100; i++) try { console.log(x) } catch (e) {}");
    });
}

#[test]
fn results_of_functions() {
    survives("results_of_functions", || {
        let runtime = runtime(small());
        let pool = MemoryPool::new(POOL_BYTES);
        for huge in HUGE {
            let source = format!("function () {{ {huge}; return x; }}").into();
            let mut session = FunctionSession::open(&runtime, &[source], &pool.share()).unwrap();
            for _ in 0..2 {
                session.restart_budget();
                let result = session.call(0, &[]);
                check_memory(huge);
                assert!(
                    result.is_err() || result.is_ok_and(|value| value.to_string().len() < 20),
                    "{huge}"
                );
            }
            drop(session);
            assert_eq!(pool.used(), 0, "{huge}");
        }
    });
}

/// Concurrent runs never hold more memory than the pool has, whatever the sum of their heap limits.
/// A run that the pool refuses memory ends with that error.
#[test]
fn heaps_are_borrowed() {
    let runtime = runtime(ScriptOptions {
        threads: 4,
        wall_time: Duration::from_secs(30),
        ..small()
    });
    let pool = MemoryPool::new(48 << 20);
    let (sender, ends) = mpsc::channel();
    let hoard = "function () { for (var h = [];;) h.push(new Array(1000).fill(0)); }";
    let huge = "function () { for (var h = [];;) h.push('x'.repeat(1e6) + h.length); }";
    for number in 0..100 {
        let job = Job {
            share: pool.share(),
            ..Job::procedure([hoard, huge][number % 2], Vec::new())
        };
        let sender = sender.clone();
        runtime.submit(job, MemoryHost::default(), move |_, result| {
            sender.send(result).unwrap();
        });
    }
    let mut refused = 0;
    for _ in 0..100 {
        let end = ends
            .recv_timeout(Duration::from_mins(1))
            .unwrap()
            .unwrap_err();
        refused += i32::from(matches!(end, ScriptError::Memory(_)));
        assert!([400, 413, 429, 503].contains(&end.status()), "{end:?}");
    }
    assert!(refused > 0);
    assert!(pool.peak() <= pool.limit());
    let begun = Instant::now();
    while pool.used() > 0 {
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "{} bytes",
            pool.used()
        );
        thread::sleep(Duration::from_millis(5));
    }
    assert!(procedure(&runtime, "() => 1").is_ok());
}

/// An engine that is abandoned while it reads a page of documents loses none of the texts.
#[cfg(target_os = "linux")]
#[test]
fn an_engine_that_is_left_takes_no_page_along() {
    survives("an_engine_that_is_left_takes_no_page_along", || {
        let runtime = runtime(ScriptOptions {
            heap_bytes: 8 << 20,
            wall_time: Duration::from_secs(30),
            ..small()
        });
        // Pages of arrays, which take thirty times the memory of their text in an engine.
        let rows: Vec<Value> = (0..4)
            .map(|id| {
                json(&format!(
                    "{{\"id\":\"{id}\",\"t\":[{}0]}}",
                    "[],".repeat(100_000)
                ))
            })
            .collect();
        let host = MemoryHost::with(&Value::Array(rows));
        // An allocator keeps some pages for a while, but lost texts would add up over the rounds.
        let mut resident = Vec::new();
        for round in 0..=60 {
            if round % 20 == 0 {
                resident.push(resident_bytes().unwrap());
            }
            let source = "function () { __.readDocuments(__.getSelfLink()); }";
            let job = Job::procedure(source, Vec::new());
            assert_eq!(
                run(&runtime, job, host.clone()).1,
                Err(ScriptError::OutOfMemory)
            );
        }
        let stretches = resident.windows(2);
        let least = stretches.map(|ends| ends[1].saturating_sub(ends[0]) / 20);
        let least = least.min().unwrap();
        assert!(least < 64 << 10, "{least} bytes for each");
    });
}
