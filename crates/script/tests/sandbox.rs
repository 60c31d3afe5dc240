//! Hostile scripts: the sandbox stops each of them, and its thread serves the next run.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but not all test functions"
)]

mod common;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{MemoryHost, clock, json, procedure, run, runtime};
use orrery_script::{Clock, Job, Runtime, ScriptError, ScriptOptions, ScriptOutcome};

const PATIENCE: Duration = Duration::from_secs(30);

/// Limits small enough for a test, with one thread, so that an abandoned thread would be noticed.
fn small() -> ScriptOptions {
    ScriptOptions {
        threads: 1,
        wall_time: Duration::from_secs(1),
        accept_time: Duration::from_millis(800),
        abandon_time: Duration::from_millis(200),
        heap_bytes: 16 << 20,
        ..ScriptOptions::default()
    }
}

/// The same limits with enough time for successful scripts on a busy machine.
fn patient() -> ScriptOptions {
    ScriptOptions {
        wall_time: PATIENCE,
        accept_time: PATIENCE,
        abandon_time: PATIENCE,
        ..small()
    }
}

/// Runs a short script, and repeats the run if the machine was slow.
fn short(runtime: &Runtime, source: &str) -> Result<ScriptOutcome, ScriptError> {
    let started = Instant::now();
    loop {
        let result = procedure(runtime, source);
        if result != Err(ScriptError::TimedOut) || started.elapsed() > PATIENCE {
            return result;
        }
    }
}

fn check(runtime: &Runtime, source: &str, expected: &[&str]) {
    let started = Instant::now();
    let result = if expected == ["ok"] {
        short(runtime, source)
    } else {
        procedure(runtime, source)
    };
    let found = match &result {
        Ok(_) => "ok",
        Err(ScriptError::TimedOut) => "time",
        Err(ScriptError::OutOfMemory) => "memory",
        Err(ScriptError::StackOverflow) => "stack",
        Err(ScriptError::Threw(_)) => "threw",
        Err(_) => "other",
    };
    assert!(expected.contains(&found), "{source}: {result:?}");
    assert!(started.elapsed() < PATIENCE, "{source}");
    let next = short(runtime, "() => __.response.setBody(1)").unwrap();
    assert_eq!(next.body.as_deref(), Some("1"), "{source}");
}

#[test]
fn loops_run_out_of_time() {
    let runtime = runtime(ScriptOptions {
        wall_time: Duration::from_millis(200),
        heap_bytes: 64 << 20,
        ..small()
    });
    for source in [
        "function () { for (;;) {} }",
        "function () { while (true) { try { for (;;) {} } catch (e) {} finally { continue; } } }",
        "function () { try { for (;;) {} } catch (e) { } __.response.setBody('caught'); }",
        "function () { (function f() { try { f(); } finally { f(); } })(); }",
        "function () { /^(a+)+$/.test('a'.repeat(40) + 'b'); }",
        "function () { /(x+x+)+y/.exec('x'.repeat(60)); }",
        "function () { 'x'.repeat(60).replace(/(x*)*y/g, ''); }",
        "function () { __.response.setBody({ get a() { for (;;) {} } }); }",
        "function () { __.response.setBody({ toJSON() { for (;;) {} } }); }",
        "function () { throw { get message() { for (;;) {} } }; }",
        "function () { throw { toString() { for (;;) {} }, get body() { for (;;) {} } }; }",
        "function () { throw new Proxy({}, { get() { for (;;) {} } }); }",
        "function () { console.log({ toJSON() { for (;;) {} } }); }",
        "function () { 'x' in new Proxy({}, { has() { for (;;) {} } }); }",
        "function () { var p = Promise.resolve(); (function next() { p.then(next); })(); }",
        "async function () { for (;;) await null; }",
        "async function () { for (;;) { try { for (;;) {} } catch (e) {} } }",
        "function () { function* g() { for (;;) yield 1; } for (var x of g()) {} }",
        "function () { [...(function* () { for (;;) {} })()]; }",
        "function () { [3, 2, 1].sort(function () { for (;;) {} }); }",
        "function () { JSON.parse('[1]', function () { for (;;) {} }); }",
        "function () { (function loop() { __.readDocument(__.getAltLink() + '/docs/1', loop); loop(); })(); }",
        "function () { (function loop() { Promise.resolve().then(loop); __.readDocuments(__.getSelfLink(), loop); })(); }",
        "(function () { for (;;) {} })()",
        "function () { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }",
        "function () { for (var k in new Proxy({}, { ownKeys() { for (;;) {} } })) {} }",
        "class { static [(function () { for (;;) {} })()]() {} }",
    ] {
        check(&runtime, source, &["time", "stack"]);
    }
}

#[test]
fn recursion_runs_out_of_stack() {
    let runtime = runtime(ScriptOptions {
        wall_time: PATIENCE,
        ..small()
    });
    for source in [
        "function f() { f(); }",
        "function () { (function f(a) { return [1].map(f); })(); }",
        "function () { var o = { toString() { return '' + o; } }; '' + o; }",
        "function () { var o = { get a() { return o.a; } }; o.a; }",
        "function () { var p = new Proxy({}, { get(t, k, r) { return r[k]; } }); p.x; }",
        "function () { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a); }",
        "function () { JSON.parse('['.repeat(1e6)); }",
        "function () { new RegExp('('.repeat(1e5) + ')'.repeat(1e5)); }",
        "function () { class A { constructor() { new A(); } } new A(); }",
    ] {
        check(&runtime, source, &["stack", "threw", "memory"]);
    }
    check(
        &runtime,
        "function () { try { (function f() { f(); })(); } catch (e) { __.response.setBody(e.name); } }",
        &["ok"],
    );
    let depth = short(
        &runtime,
        "function () { (function f(n) { if (n) f(n - 1); })(1000); __.response.setBody(1); }",
    );
    assert!(depth.is_ok(), "{depth:?}");
}

#[test]
fn allocation_runs_out_of_memory() {
    let runtime = runtime(small());
    for source in [
        "function () { var a = []; for (;;) a.push([a]); }",
        "function () { var s = 'x'; for (;;) s += s; }",
        "function () { 'x'.repeat(2 ** 30); }",
        "function () { new ArrayBuffer(2 ** 31); }",
        "function () { new Array(1e9).fill(0); }",
        "function () { Array.from({ length: 1e9 }); }",
        "function () { var m = new Map(); for (var i = 0; ; i++) m.set(i, {}); }",
        "function () { var o = {}; for (var i = 0; ; i++) o['k' + i] = i; }",
        "function () { var f = []; for (;;) f.push(() => f); }",
        "function () { ('x'.repeat(1e6)).padStart(2 ** 29); }",
        "function () { 'x'.repeat(1e6).split('').map(x => ({ x })).concat(new Array(1e6).fill({})); }",
        "function () { JSON.stringify(new Array(1e8)); }",
        "function () { for (var b = [];;) { try { b.push(new Array(1e5).fill('y')); } catch (e) { b = []; throw e; } } }",
        "function () { var p = []; for (;;) p.push(new Promise(() => {})); }",
        "function () { var s = Symbol; var a = []; for (;;) a.push(s('x'.repeat(1000))); }",
        "function () { for (;;) __.createDocument(__.getSelfLink(), { x: 'y'.repeat(1e6) }, function () {}); }",
    ] {
        check(&runtime, source, &["memory", "threw", "time"]);
    }
}

#[test]
fn memory_may_run_out_anywhere() {
    // A failing allocation at any point of the engine, the prelude or the script causes neither a
    // crash nor a hang.
    let source = "function () {
        var kept = [];
        function fill(n) { for (var i = 0; i < n; i++) kept.push({ i: i, s: 'x' + i, f: () => i }); }
        try { fill(1e6); } catch (e) { kept.length >>= 1; }
        __.createDocument(__.getSelfLink(), { kept: kept.length }, function (err, doc) {
            __.chain().filter(d => d.kept).map(d => [d]).flatten().value(function (err, docs) {
                try { fill(1e6); } finally { __.response.setBody(docs.concat(kept.slice(0, 10))); }
            });
        });
        return Promise.resolve(1).then(async function () { await 1; fill(1e6); });
    }";
    for heap_bytes in (100_000..1_000_000).step_by(19_973) {
        let options = ScriptOptions {
            heap_bytes,
            wall_time: Duration::from_millis(200),
            ..small()
        };
        if let Ok(runtime) = Runtime::new(options, clock()) {
            for _ in 0..2 {
                let _ = procedure(&runtime, source);
            }
        }
    }
}

#[test]
fn an_abort_that_cannot_be_told_is_still_an_abort() {
    let runtime = runtime(ScriptOptions {
        wall_time: small().wall_time,
        ..patient()
    });
    let source = "function () { getContext().abort({ get number() { for (;;) {} } }); }";
    let result = procedure(&runtime, source);
    assert!(matches!(result, Err(ScriptError::Aborted(_))), "{result:?}");
}

#[test]
fn native_functions_that_take_too_long_are_refused_or_abandoned() {
    let runtime = runtime(small());
    for source in [
        "function () { new Array(2 ** 32 - 1).join(''); }",
        "function () { [].concat(new Array(2 ** 32 - 1)); }",
        "function () { Array.prototype.reverse.call({ length: 2 ** 53 - 1 }); }",
        "function () { Array.prototype.sort.call({ length: 2 ** 53 - 1 }); }",
        "function () { Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1); }",
        "function () { 'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b'); }",
        "function () { var x = (1n << 1000000n) - 1n; for (;;) x * 3n; }",
    ] {
        check(&runtime, source, &["threw", "time", "memory"]);
    }
}

#[test]
fn a_thread_lost_in_a_native_function_is_replaced() {
    let runtime = runtime(small());
    // Several seconds inside one call that the engine cannot interrupt.
    let source = "function () {
        __.createDocument(__.getSelfLink(), { id: '1' });
        var names = Array.from({ length: 1e4 }, (_, i) => 'k' + i);
        JSON.stringify(new Array(3e4).fill({}), names);
    }";
    let mut tries = 0;
    loop {
        let started = Instant::now();
        let (host, result) = run(
            &runtime,
            Job::procedure(source, Vec::new()),
            MemoryHost::default(),
        );
        assert_eq!(result, Err(ScriptError::TimedOut));
        assert_eq!(host.documents.len(), 1, "the host comes back");
        check(&runtime, "function () {}", &["ok"]);
        // The reply comes before the native call ends. A busy machine may be late once.
        if started.elapsed() < Duration::from_secs(5) {
            break;
        }
        tries += 1;
        assert!(tries < 4, "it was waited for");
    }
}

#[test]
fn a_host_that_panics_ends_its_run_only() {
    let runtime = runtime(ScriptOptions {
        wall_time: small().wall_time,
        ..patient()
    });
    for source in [
        "function () { __.readDocument(__.getAltLink() + '/docs/panic'); }",
        "function () { try { __.readDocument(__.getAltLink() + '/docs/panic'); } catch (e) {} }",
        "function () { try { __.readDocument(__.getAltLink() + '/docs/panic'); } catch (e) { for (;;) {} } }",
    ] {
        assert_eq!(procedure(&runtime, source), Err(ScriptError::HostPanicked));
        check(&runtime, "function () {}", &["ok"]);
    }
}

#[test]
fn a_reply_that_panics_does_not_end_the_pool() {
    let runtime = runtime(patient());
    let job = Job::procedure("function () {}", Vec::new());
    runtime.submit(job, MemoryHost::default(), |_, _| panic!("in the reply"));
    check(&runtime, "function () {}", &["ok"]);
}

#[test]
fn a_reply_may_submit_again() {
    let runtime = std::sync::Arc::new(runtime(small()));
    let (sender, receiver) = mpsc::channel();
    let again = std::sync::Arc::clone(&runtime);
    let lost = "function () { new Set(Array.prototype.values.call({ length: 6e7 })); }";
    let job = Job::procedure(lost, Vec::new());
    runtime.submit(job, MemoryHost::default(), move |host, _| {
        let job = Job::procedure("function () {}", Vec::new());
        again.submit(job, host, move |_, result| sender.send(result).unwrap());
    });
    let result = receiver.recv_timeout(2 * PATIENCE).unwrap();
    assert!(result.is_ok());
}

#[test]
fn a_full_queue_is_busy() {
    let runtime = Runtime::new(
        ScriptOptions {
            queue_max: 1,
            ..small()
        },
        clock(),
    )
    .unwrap();
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    for _ in 0..10 {
        let sender = sender.clone();
        let job = Job::procedure("function () { for (;;) {} }", Vec::new());
        runtime.submit(job, MemoryHost::default(), move |_, result| {
            sender.send(result.unwrap_err()).unwrap();
        });
    }
    let is_first_running = begun.elapsed() < small().wall_time;
    let errors: Vec<_> = receiver.iter().take(10).collect();
    let busy = errors
        .iter()
        .filter(|error| **error == ScriptError::Busy)
        .count();
    // The first script runs or is about to run, and one script waits.
    let expected = if is_first_running { 8..10 } else { 1..10 };
    assert!(expected.contains(&busy), "{errors:?}");
    assert!(errors.contains(&ScriptError::TimedOut));
}

#[test]
fn steps_stop_at_the_same_place() {
    let runtime = Runtime::new(small(), Clock::Steps).unwrap();
    let source = "function () { var n = 0; while (__.readDocuments(__.getSelfLink())) n++; __.response.setBody(n); }";
    let counts: Vec<_> = (0..3)
        .map(|_| procedure(&runtime, source).unwrap().body)
        .collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert_eq!(
        procedure(&runtime, "function () { for (;;) {} }"),
        Err(ScriptError::TimedOut)
    );
}

#[test]
fn operations_are_not_accepted_near_the_end() {
    let runtime = runtime(ScriptOptions {
        accept_time: Duration::from_millis(100),
        ..patient()
    });
    let outcome = procedure(
        &runtime,
        "function () {
            var end = Date.now() + 150;
            while (Date.now() < end) {}
            __.response.setBody(__.readDocuments(__.getSelfLink(), function () { throw 1; }));
        }",
    );
    assert_eq!(outcome.unwrap().body.as_deref(), Some("false"));
}

#[test]
fn nothing_survives_a_run() {
    let runtime = runtime(patient());
    let pollute = "function () {
        leaked = 1;
        globalThis.other = 2;
        Object.prototype.polluted = 3;
        Array.prototype.push = function () { throw new Error('pushed'); };
        JSON.stringify = JSON.parse = null;
        String.prototype.toLowerCase = null;
        Promise = null;
        Symbol.for('s');
        getContext = null;
        __.filter = null;
        Object.freeze(Object.prototype);
    }";
    let look = "function () {
        __.response.setBody([typeof leaked, typeof other, typeof {}.polluted, typeof getContext,
            typeof __.filter, typeof Promise, JSON.stringify([1]), [].push(1), 'A'.toLowerCase()]);
    }";
    let clean = procedure(&runtime, look).unwrap().body;
    for _ in 0..3 {
        procedure(&runtime, pollute).unwrap();
        assert_eq!(procedure(&runtime, look).unwrap().body, clean);
    }
}

#[test]
fn the_prelude_survives_its_script() {
    let runtime = runtime(patient());
    let source = "function () {
        for (var name of Object.getOwnPropertyNames(globalThis)) {
            try { if (name !== 'getContext' && name !== '__') delete globalThis[name]; } catch (e) {}
        }
        var c = getContext().getCollection();
        c.createDocument(c.getSelfLink(), { id: '1' }, function (err, doc) {
            getContext().getResponse().setBody(doc.id);
        });
    }";
    assert_eq!(
        procedure(&runtime, source).unwrap().body.as_deref(),
        Some("\"1\"")
    );
}

#[test]
fn many_runs_on_few_threads() {
    let runtime = runtime(ScriptOptions {
        wall_time: PATIENCE,
        ..ScriptOptions::default()
    });
    let (sender, receiver) = mpsc::channel();
    for number in 0..100 {
        let source = format!(
            "function (n) {{
                marker{number} = n;
                for (var i = 0, s = 0; i < 10000; i++) s += i;
                __.createDocument(__.getSelfLink(), {{ id: 'd' + n }}, function (err, doc) {{
                    var others = Object.keys(globalThis).filter(function (k) {{ return /^marker/.test(k); }});
                    __.response.setBody([doc.id, others.length]);
                }});
            }}"
        );
        let sender = sender.clone();
        let job = Job::procedure(source, vec![number.into()]);
        runtime.submit(job, MemoryHost::default(), move |host, result| {
            sender.send((number, host, result)).unwrap();
        });
    }
    for (number, host, result) in receiver.iter().take(100) {
        let body = json(&result.unwrap().body.unwrap());
        assert_eq!(body, json(&format!("[\"d{number}\",1]")));
        assert_eq!(host.documents.len(), 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_given_back() {
    fn resident_bytes() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
    let runtime = runtime(ScriptOptions {
        threads: 1,
        ..ScriptOptions::default()
    });
    // Cycles, closures, promises that never settle, callbacks that never run.
    let source = "function () {
        var ring = { big: 'x'.repeat(1000000) };
        ring.self = ring;
        globalThis.ring = [ring, () => ring, new Promise(() => ring), new Proxy(ring, {})];
        __.readDocuments(__.getSelfLink(), () => { throw new Error('stop'); });
        __.readDocuments(__.getSelfLink(), () => ring);
    }";
    let mut before = 0;
    for round in 0..600 {
        if round == 200 {
            before = resident_bytes();
        }
        assert!(procedure(&runtime, source).is_err());
    }
    let grown = resident_bytes().saturating_sub(before);
    // Concurrent tests use memory as well; a leak would be 400 megabytes.
    assert!(grown < 150 << 20, "{grown} bytes");
}

#[test]
fn dropping_the_runtime_answers_everyone() {
    let runtime = runtime(small());
    let (sender, receiver) = mpsc::channel();
    for _ in 0..5 {
        let sender = sender.clone();
        let job = Job::procedure("function () { for (;;) {} }", Vec::new());
        runtime.submit(job, MemoryHost::default(), move |_, result| {
            sender.send(result.is_err()).unwrap();
        });
    }
    drop(runtime);
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [true; 5]);
}

/// All names that a script can reach without creating them. A new name in this list needs a
/// decision.
#[test]
fn nothing_is_reachable_but_this() {
    let allowed = "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array \
        BigUint64Array Boolean DataView Date DisposableStack Error ErrorCodes EvalError Float16Array \
        Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError \
        JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect \
        RegExp Set String SuppressedError Symbol Symbol(Symbol.toStringTag) SyntaxError TypeError \
        URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet __ console \
        decodeURI decodeURIComponent encodeURI encodeURIComponent escape getContext globalThis \
        isFinite isNaN parseFloat parseInt undefined unescape";
    let runtime = runtime(patient());
    let source =
        "() => __.response.setBody(Reflect.ownKeys(globalThis).map(String).sort().join(' '))";
    let found = procedure(&runtime, source).unwrap().body.unwrap();
    assert_eq!(found, format!("\"{allowed}\""));
}

/// An endless script yields its processor to other threads, and the next run is as fast as usual.
#[cfg(target_os = "linux")]
#[test]
fn a_long_run_lowers_its_own_priority_only() {
    let runtime = runtime(ScriptOptions {
        wall_time: Duration::from_millis(200),
        ..patient()
    });
    let niceness = |source: &str| {
        let (sender, receiver) = mpsc::channel();
        let job = Job::procedure(source, Vec::new());
        runtime.submit(job, MemoryHost::default(), move |_, _| {
            // The reply runs on the thread of the script.
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let after_name = stat.rsplit(") ").next().unwrap();
            let niceness: i32 = after_name.split(' ').nth(16).unwrap().parse().unwrap();
            sender.send(niceness).unwrap();
        });
        receiver.recv_timeout(2 * PATIENCE).unwrap()
    };
    let usual = niceness("function () {}");
    for _ in 0..3 {
        assert_eq!(niceness("function () { for (;;) {} }"), usual.max(10));
        assert_eq!(niceness("function () {}"), usual);
    }
}
