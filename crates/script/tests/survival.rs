//! Scripts that once aborted the process, or would abort an unprotected process. Each runs in a
//! process of its own, so that an abort fails one test only.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but not all test functions"
)]

mod common;

use std::sync::Arc;
use std::time::Duration;

#[cfg(target_os = "linux")]
use common::child::resident_bytes;
use common::child::survives;
use common::{procedure, runtime};
use orrery_json::Value;
use orrery_memory::MemoryShare;
use orrery_script::{Clock, FunctionSession, Runtime, ScriptError, ScriptOptions};

fn small() -> ScriptOptions {
    ScriptOptions {
        threads: 1,
        wall_time: Duration::from_secs(5),
        abandon_time: Duration::from_millis(200),
        heap_bytes: 16 << 20,
        ..ScriptOptions::default()
    }
}

/// Checks that the next script runs normally.
fn check_next(runtime: &Runtime) {
    let next = procedure(runtime, "() => __.response.setBody([1].find(x => x))").unwrap();
    assert_eq!(next.body.as_deref(), Some("1"));
}

/// The engine settles the promise of an async function by a call that it assumes to succeed. This
/// script is stopped in that call, without memory even for the error that stops it.
#[test]
fn a_stop_while_an_async_function_ends_and_memory_is_out() {
    survives(
        "a_stop_while_an_async_function_ends_and_memory_is_out",
        || {
            let options = ScriptOptions {
                heap_bytes: 4 << 20,
                steps_max: 20_000,
                ..small()
            };
            let mut stopped = 0;
            // The number of steps determines the place at which the engine is stopped.
            for steps in (0..6_000).step_by(53) {
                let runtime = Runtime::new(options.clone(), Clock::Steps).unwrap();
                let source = format!(
                    "function () {{
                        for (var i = 0; i < {steps}; i++) {{}}
                        var kept = new Array(1e5).fill(0), n = 0, go;
                        function fill(size) {{
                            try {{ for (;;) kept[n++] = 'x'.repeat(size) + n; }} catch (e) {{}}
                        }}
                        var gate = new Promise(function (resolve) {{ go = resolve; }});
                        gate.then(function () {{ for (var size = 65536; size; size >>= 2) fill(size); }});
                        for (var i = 0; i < 300; i++) (async () => {{ await gate; fill(1); }})();
                        go();
                    }}"
                );
                stopped += i32::from(procedure(&runtime, &source).is_err());
                check_next(&runtime);
            }
            assert!(stopped > 0, "no run was stopped");
        },
    );
}

/// The engine's built-in searches would free an element twice if they were stopped.
#[test]
fn a_stop_within_a_search() {
    survives("a_stop_within_a_search", || {
        let options = ScriptOptions {
            steps_max: 20_000,
            ..small()
        };
        let runtime = Runtime::new(options, Clock::Steps).unwrap();
        for search in ["find", "findIndex", "findLast", "findLastIndex"] {
            for phase in 0..12 {
                let source = format!(
                    "function () {{
                        var list = []; while (list.length < {}) list.push('s' + list.length);
                        for (;;) list.{search}(x => {{ list.push(x + x, x + 1); list.length -= 2; }});
                    }}",
                    90 + phase
                );
                assert_eq!(procedure(&runtime, &source), Err(ScriptError::TimedOut));
                check_next(&runtime);
            }
        }
    });
}

/// Bodies that allocate without jumps and calls, so that the engine never interrupts them.
fn endless_bodies() -> Vec<String> {
    let arrays = "[],".repeat(20_000);
    let objects = "{a:1},".repeat(10_000);
    let strings = "s+1,".repeat(20_000);
    vec![
        format!("function () {{ for (var h = [];;) h.push([{arrays}]); }}"),
        format!("function () {{ for (var h = [];;) h.push([{objects}]); }}"),
        format!("function () {{ for (var h = [], s = 'x'.repeat(100);;) h.push([{strings}]); }}"),
        format!(
            "function () {{ for (var h = [];;) {{ try {{ h.push([{arrays}]); }} catch (e) {{}} }} }}"
        ),
        format!(
            "function () {{ var h = []; (function f(n) {{ if (n) f(n - 1); h.push([{arrays}]); }})(100); }}"
        ),
        format!("async function () {{ for (var h = [];;) {{ h.push([{arrays}]); await 1; }} }}"),
        format!(
            "function () {{ var h = []; [...(function* () {{ for (;;) {{ h.push([{arrays}]); yield; }} }})()]; }}"
        ),
    ]
}

#[test]
fn memory_that_is_taken_between_two_questions() {
    survives("memory_that_is_taken_between_two_questions", || {
        let runtime = runtime(small());
        for source in endless_bodies() {
            for _ in 0..3 {
                let result = procedure(&runtime, &source);
                assert_eq!(result, Err(ScriptError::OutOfMemory), "{source:.80}");
                check_next(&runtime);
            }
        }
    });
}

#[test]
fn memory_that_is_taken_between_two_questions_by_a_function() {
    survives(
        "memory_that_is_taken_between_two_questions_by_a_function",
        || {
            let runtime = runtime(small());
            let bodies = endless_bodies();
            let sources = [Arc::from(bodies[0].as_str()), Arc::from("x => x + 1")];
            for _ in 0..10 {
                let mut session =
                    FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
                assert_eq!(session.call(1, &[1.into()]), Ok(Value::from(2)));
                assert_eq!(session.call(0, &[]), Err(ScriptError::OutOfMemory));
                assert!(session.is_exhausted());
                session.restart_budget();
                assert_eq!(session.call(1, &[1.into()]), Err(ScriptError::OutOfMemory));
                assert_eq!(session.take_log(), "");
            }
        },
    );
}

/// Memory growth inside of one native function, up to the limit and beyond.
#[test]
fn memory_that_a_native_function_takes() {
    survives("memory_that_a_native_function_takes", || {
        let runtime = runtime(ScriptOptions {
            wall_time: Duration::from_millis(100),
            ..small()
        });
        for source in [
            "new RegExp('[a-zA-Z]'.repeat(1e6))",
            "new RegExp('(a)'.repeat(2e5))",
            "new RegExp('\\\\p{L}'.repeat(1e5), 'u')",
            "new RegExp('[\\\\p{L}--[a-z]]'.repeat(1e5), 'v')",
            "JSON.parse('[' + '[],'.repeat(1e6) + '0]')",
            "JSON.parse('[' + '{\"a\":{}},'.repeat(5e5) + '0]')",
            "JSON.parse('{' + Array.from({ length: 2e5 }, (_, i) => `\"k${i}\":[[]]`).join() + '}')",
            "JSON.stringify(new Array(3e6).fill('xyz'))",
            "Array.from({ length: 1e7 }, (_, i) => [i])",
            "Array.from({ length: 1e8 })",
            "'ab'.repeat(2e6).split('b')",
            "'ab'.repeat(2e6).match(/a/g)",
            "[...'ab'.repeat(2e6).matchAll(/a/g)]",
            "'ab'.repeat(1e6).replace(/a/g, '$&$&$&$&$&$&$&$&$&$&$&$&$&$&$&')",
            "Object.entries('x'.repeat(1e6))",
            "Object.fromEntries(Array.from({ length: 5e5 }, (_, i) => ['k' + i, {}]))",
            "Reflect.ownKeys(new String('x'.repeat(4e6)))",
            "new Set('x'.repeat(10)).union(new Set(Array(1e6).keys()))",
            "Math.max(...new Array(1e6).fill(1))",
            "(function () {}).bind(...new Array(60000).fill({}))",
            "for (var h = [];;) h.push((function () {}).bind(...new Array(60000).fill({})))",
            "for (var h = [];;) h.push(((...x) => x)(...new Array(60000).fill(h)))",
            "for (var h = [];;) h.push(new Array(250).fill(h))",
            "for (var h = [];;) h.push('x'.repeat(1.9e6))",
            "for (var h = [];;) try { h.push('x'.repeat(3e6)) } catch (e) { h.push(e) }",
            "for (var h = [];;) h.push(new Uint8Array(1e6))",
            "for (var x = 1n;;) x = (x << 1000n) + x",
            "for (var o = {}, i = 0;; i++) o['k' + i] = Symbol('s' + i)",
            "for (var e = null;;) e = new Error('x', { cause: e })",
            "for (var s = 'x';;) s = s + s",
            "for (var s = 'x';;) s = `${s}${s.length}`",
            "for (var p = Promise.resolve();;) p = p.then(() => p)",
            "for (var f = () => 1;;) f = f.bind(null, f)",
            "for (var f = [];;) f.push((async () => { await new Promise(() => {}); })())",
            "for (var f = [];;) { var g = (function* () { yield f; })(); g.next(); f.push(g); }",
            "for (var f = [];;) { var g = (async function* () { yield f; })(); g.next(); f.push(g); }",
            "for (var p = {};;) p = new Proxy(p, {})",
            "for (var p = {};;) p = Object.create(p)",
            "for (var w = new WeakMap(), h = [];;) { var k = {}; h.push(k); w.set(k, k); }",
        ] {
            let statement = if source.starts_with("for") {
                source.to_owned()
            } else {
                format!("var kept = []; for (;;) kept.push({source})")
            };
            for body in [
                format!("function () {{ {statement} }}"),
                format!("async function () {{ await 1; {statement} }}"),
                format!("function () {{ for (;;) try {{ {statement} }} catch (e) {{}} }}"),
            ] {
                match procedure(&runtime, &body) {
                    // A rejected promise is not a failure of the run.
                    Ok(_) => assert!(body.starts_with("async"), "{body}"),
                    Err(ScriptError::Threw(_)) => {}
                    Err(error) => assert!(error.is_limit(), "{body}: {error:?}"),
                }
                check_next(&runtime);
            }
        }
    });
}

/// An abandoned engine loses its memory outside of the heap, which is little.
#[cfg(target_os = "linux")]
#[test]
fn what_a_left_engine_loses() {
    survives("what_a_left_engine_loses", || {
        let runtime = runtime(ScriptOptions {
            heap_bytes: 4 << 20,
            ..small()
        });
        let source = &endless_bodies()[0];
        let mut before = 0;
        for round in 0..300 {
            if round == 100 {
                before = resident_bytes().unwrap();
            }
            assert_eq!(procedure(&runtime, source), Err(ScriptError::OutOfMemory));
        }
        let grown = resident_bytes().unwrap().saturating_sub(before) / 200;
        println!("{grown} bytes for each");
        assert!(grown < 64 << 10, "{grown} bytes for each");
    });
}

/// Small bodies that need much memory for their compilation.
#[test]
fn bodies_that_grow_while_they_are_compiled() {
    survives("bodies_that_grow_while_they_are_compiled", || {
        let runtime = runtime(small());
        let body_of = |start: &str, piece: &str, end: &str| {
            let room = (small().heap_bytes / 64) - start.len() - end.len() - 20;
            format!("{start}{}{end}", piece.repeat(room / piece.len()))
        };
        for (body, compiles) in [
            (body_of("() => /", "\\p{L}", "/u"), true),
            (body_of("() => /", "[\\p{L}--a]", "/v"), true),
            (body_of("() => [", "/\\p{L}/u,", "]"), true),
            (body_of("() => /", "(", "/"), false),
            (body_of("() => ", "[", ""), false),
            (body_of("() => ", "!", "1"), false),
            (body_of("() => ", "a=>", "1"), false),
            (body_of("() => ", "function(){", ""), false),
            (body_of("() => { ", "{", ""), false),
            (body_of("() => { ", "if(1)", "1 }"), false),
            (body_of("() => { ", "x:", "1 }"), false),
            (body_of("() => ", "1?", "1"), false),
            (body_of("() => ", "1+(", "1"), false),
            (body_of("() => ", "`${", "1"), false),
            (body_of("() => ", "class{a=", "1"), false),
            (body_of("() => ", "async()=>await ", "1"), false),
            (body_of("() => { var ", "[", "a"), false),
            (body_of("() => { var {a:", "{a:", "a"), false),
            (body_of("() => 1", "**2", ""), false),
            (body_of("() => a", "?.b", ""), true),
            (body_of("() => a", "+1", ""), true),
            (body_of("() => a", "()", ""), true),
            (body_of("() => a", "=a", ""), false),
            (body_of("() => { ", "let a1;", "}"), false),
            (body_of("() => { switch (1) { ", "case 1:", "} }"), true),
        ] {
            match procedure(&runtime, &body) {
                Err(ScriptError::Compile { .. } | ScriptError::OutOfMemory) => {}
                other => assert!(compiles, "{body:.80}: {other:?}"),
            }
            check_next(&runtime);
        }
    });
}

/// Unlimited nesting of every kind. The engine's stack has a limit, and so has every recursion that
/// does not check that stack.
#[test]
fn nesting_of_every_kind() {
    survives("nesting_of_every_kind", || {
        let options = ScriptOptions {
            wall_time: Duration::from_millis(500),
            heap_bytes: 64 << 20,
            ..small()
        };
        let runtime = runtime(options);
        for source in [
            "JSON.parse('['.repeat(1e6))",
            "JSON.parse('['.repeat(1e6) + ']'.repeat(1e6))",
            "JSON.parse('{\"a\":'.repeat(1e6))",
            "JSON.parse('['.repeat(5000) + ']'.repeat(5000), (k, v) => v)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = { a }; JSON.stringify(a)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; String(a)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; __.response.setBody(a)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; __.createDocument(__.getSelfLink(), { id: '1', a })",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; console.log(a)",
            "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; throw a",
            "var a = []; for (var i = 0; i < 1e5; i++) a = { cause: a, message: a }; throw a",
            "var a = null; for (var i = 0; i < 1e6; i++) a = [a]; a = null",
            "var a = null; for (var i = 0; i < 1e5; i++) { let b = a; a = () => b; } a = null",
            "var a = null; for (var i = 0; i < 1e5; i++) a = new Map([[a, a]]); a = null",
            "var a = null; for (var i = 0; i < 1e5; i++) { let b = a; a = (function* () { yield b; })(); a.next(); } a = null",
            "var a = null; for (var i = 0; i < 1e5; i++) { let b = a; a = (async () => { await new Promise(() => {}); b; })(); } a = null",
            "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
            "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))",
            "new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5))",
            "new RegExp('['.repeat(1e5) + ']'.repeat(1e5), 'v')",
            "new RegExp('(a|'.repeat(3e4) + ')'.repeat(3e4))",
            "new RegExp('(?:a?){0,100}'.repeat(5000)).test('a'.repeat(1e5))",
            "new RegExp('(?=' .repeat(200) + 'a*' + ')'.repeat(200)).test('a'.repeat(1e5))",
            "/(?:(?:a*)*)*b/.test('a'.repeat(1e6))",
            "/(a|b|c|d)*e/.test('abcd'.repeat(1e6))",
            "/^(?:.|\\n)*$/.test('x\\n'.repeat(1e6))",
            "'a'.repeat(1e5).replace(/a/g, function r(x) { return x.replace(/a/g, r); })",
            "'ab'.replace('a', function r() { return 'ab'.replace('a', r); })",
            "var o = { toString() { return '' + o; } }; '' + o",
            "var o = { valueOf() { return +o; } }; +o",
            "var o = { [Symbol.toPrimitive]() { return o + 1; } }; o + 1",
            "var o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o)",
            "var o = { get a() { return o.a; } }; o.a",
            "var o = { set a(v) { o.a = v; } }; o.a = 1",
            "var o = { get length() { return Array.from(o).length; } }; Array.from(o)",
            "var o = { [Symbol.iterator]() { return [...o]; } }; [...o]",
            "var o = { get then() { return Promise.resolve(o); } }; Promise.resolve(o)",
            "var o = { then(f) { f(o); } }; Promise.resolve(o)",
            "[2, 1].sort(function c() { return [2, 1].sort(c); })",
            "[1].map(function m() { return [1].map(m); })",
            "[1].forEach(function m() { [1].forEach(m); })",
            "[1].find(function m() { return [1].find(m); })",
            "[1].reduce(function m() { return [1, 2].reduce(m); }, 0)",
            "new Map([[1, 1]]).forEach(function m() { new Map([[1, 1]]).forEach(m); })",
            "Uint8Array.of(1).map(function m() { return Uint8Array.of(1).map(m)[0]; })",
            "Reflect.apply(function r() { Reflect.apply(r, null, []); }, null, [])",
            "Reflect.construct(function r() { Reflect.construct(r, []); }, [])",
            "(function r() { r.call(); })()",
            "(function r() { r.apply(null, arguments); })(1, 2, 3)",
            "(function r(...a) { r(...a, 1); })()",
            "(function r() { return r.bind()(); })()",
            "(function r() { new r(); })()",
            "(function r() { `${r()}`; })()",
            "(function r() { try { r(); } finally { r(); } })()",
            "(function r() { try { r(); } catch (e) { r(); } })()",
            "(function r(a = r()) {})()",
            "(function r({ a } = r()) {})()",
            "(function* r() { yield* r(); })().next()",
            "(function* r() { r().next(); })().next()",
            "(function* r() { try { yield* r(); } finally { yield* r(); } })().next()",
            "(async function r() { await r(); })()",
            "(async function r() { r(); })()",
            "(async function r() { try { await r(); } catch (e) { await r(); } finally { r(); } })()",
            "(async function* r() { yield* r(); })().next()",
            "(async function* r() { for await (var x of r()) yield x; })().next()",
            "(async function r() { for await (var x of [r()]); })()",
            "var p = new Promise(function r(f) { f(new Promise(r)); })",
            "(function r() { Promise.resolve().then(r); r(); })()",
            "class A { constructor() { new A(); } } new A()",
            "class A { x = new A(); } new A()",
            "class A { static get [Symbol.species]() { return A; } constructor() { Array.from.call(A, [1]); } } new A()",
            "var f = () => 1; for (var i = 0; i < 1e5; i++) f = f.bind(); f()",
            "var f = function () {}; for (var i = 0; i < 1e5; i++) f = f.bind(); new f()",
            "var f = function () {}; for (var i = 0; i < 1e5; i++) f = f.bind(); ({}) instanceof f",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x = 1",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); 'x' in p",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); delete p.x",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.keys(p)",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); for (var k in p);",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.freeze(p)",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.isExtensible(p)",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.getPrototypeOf(p)",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.setPrototypeOf(p, null)",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.defineProperty(p, 'x', { value: 1 })",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.getOwnPropertyDescriptor(p, 'x')",
            "var p = []; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); Array.isArray(p)",
            "var p = []; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); JSON.stringify(p)",
            "var p = []; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); [].concat(p)",
            "var p = () => 1; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); p()",
            "var p = function () {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); new p()",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); p instanceof Object",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy({}, p); p.x",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(Object.create(p), {}); p.x",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = Object.create(p); p.x",
            "var p = {}; for (var i = 0; i < 1e5; i++) p = Object.create(p); for (var k in p);",
            "var p = new Proxy({}, { get(t, k, r) { return r[k]; } }); p.x",
            "var p = new Proxy({}, { getPrototypeOf() { return p; } }); p instanceof Object",
            "var p = new Proxy({}, {}); Object.setPrototypeOf(p, p); p.x",
            "var p = new Proxy({}, {}); Object.setPrototypeOf(p, p); 'x' in p",
            "var p = new Proxy({}, {}); Object.setPrototypeOf(p, p); p.x = 1",
            "var s = ''; for (var i = 0; i < 1e6; i++) s += i; s.length + s.indexOf('z')",
            "var s = ''; for (var i = 0; i < 2e5; i++) s = i + s; s.length + s.indexOf('z')",
            "var s = 'x'.repeat(1e4); for (var i = 0; i < 1e5; i++) s = s + 'yy'; s < s + 1",
            "var s = 'x'.repeat(1e4); for (var i = 0; i < 1e5; i++) s = 'yy' + s; s === s + 1",
            "var s = 'x'.repeat(1e4); for (var i = 0; i < 1e5; i++) s = (i % 2 ? 'yy' + s : s + 'zz'); ({})[s]",
            "var s = 'x'.repeat(1e4), t = []; for (var i = 0; i < 1e5; i++) { s = s + 'yy'; t.push(s); } t.join('')",
            "var e = null; for (var i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e",
            "var e = null; for (var i = 0; i < 1e5; i++) e = new AggregateError([e]); throw e",
            "Error.prepareStackTrace = () => { throw new Error(); }; null.x",
            "Error.prepareStackTrace = () => { null.x; }; null.x",
            "Object.defineProperty(Error.prototype, 'message', { get() { return new Error(this.message); } }); null.x",
            "var i = [1].values(); for (var n = 0; n < 1e5; n++) i = i.map(x => x); i.next()",
            "var i = [1].values(); for (var n = 0; n < 1e5; n++) i = i.filter(x => x); [...i]",
            "var i = [1].values(); for (var n = 0; n < 1e5; n++) i = i.take(5); i.return()",
            "var i = [1].values(); for (var n = 0; n < 1e5; n++) i = Iterator.from({ next: i.next.bind(i) }); i.next()",
            "var b = 1n; for (var n = 0; n < 30; n++) b = (b + 1n) ** 2n; String(b).length",
            "__.filter(function f() { __.filter(f); return true; })",
            "(function n() { __.readDocuments(__.getSelfLink(), n); n(); })()",
        ] {
            for body in [
                format!("function () {{ {source}; }}"),
                format!(
                    "function () {{ (function d(n) {{ if (n) return d(n - 1); {source}; }})(2000); }}"
                ),
            ] {
                match procedure(&runtime, &body) {
                    Ok(_) | Err(ScriptError::Threw(_)) => {}
                    Err(error) => assert!(error.is_limit(), "{body}: {error:?}"),
                }
                check_next(&runtime);
            }
            let sources = [Arc::from(format!("function () {{ {source}; }}"))];
            let mut session =
                FunctionSession::open(&runtime, &sources, &MemoryShare::unlimited()).unwrap();
            match session.call(0, &[]) {
                Ok(_) | Err(ScriptError::Threw(_)) => {}
                Err(error) => assert!(error.is_limit(), "{source}: {error:?}"),
            }
        }
    });
}
