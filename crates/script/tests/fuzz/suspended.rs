//! Generates functions that suspend: async functions, generators and promises, nested and in loops
//! that fill memory, so that time and memory run out while the engine keeps frames on its heap.

use std::fmt::Write as _;

use crate::program::{block, expression};
use crate::random::Random;

/// Forms of waiting for the code in place of `%`, or of continuing with it.
const WAITS: &[&str] = &[
    "await (%)",
    "await Promise.all([%, a, 1])",
    "await Promise.race([%, new Promise(() => {})])",
    "await Promise.allSettled([%, Promise.reject(b)])",
    "await Promise.any([%])",
    "await { then(f, g) { (f || g)(%); } }",
    "await { get then() { return (f) => f(%); } }",
    "await Promise.reject(%)",
    "await new Promise((f, g) => { f(%); g(1); throw 2; })",
    "await Promise.resolve(%).then(x => [x], x => { throw x; }).finally(() => %)",
    "await (async () => { try { return await (%); } finally { await 1; } })()",
    "for await (const x of [%, Promise.resolve(1), Promise.reject(2)]) a = x",
    "for await (const x of (async function* () { try { yield %; yield* [1, 2]; } finally { await 1; } })()) { b = x; break; }",
    "await Array.fromAsync([%, 1])",
    "await using u = { async [Symbol.asyncDispose]() { % } }",
];

/// The same code without waiting, for functions that are not asynchronous.
const STARTS: &[&str] = &[
    "(async () => { await 1; % })()",
    "(async function r(n) { if (n > 0) await r(n - 1); % })(20)",
    "(async function r() { await r(); % })()",
    "(async function* () { yield %; })().next()",
    "{ const g = (async function* () { yield* [%]; yield await a; })(); g.next(); g.return(1); g.throw(2); g.next(); }",
    "{ const g = (function* () { try { a = yield %; yield* g; } finally { yield 1; } })(); g.next(); g.throw(1); }",
    "{ const g = (function* () { yield* (function* () { yield %; })(); })(); [...g]; g.next(); g.return(1); }",
    "for (const x of (function* () { for (;;) yield %; })()) { if (Math.random() < 0.01) break; }",
    "Promise.resolve().then(() => { % }).then(f, g)",
    "Promise.reject(1).catch(x => { % }).finally(g)",
    "{ const d = Promise.withResolvers(); d.promise.then(() => { % }); d.resolve(d.promise); d.resolve(a); }",
    "Promise.try(() => { % })",
    "for (let i = 0; i < 1000; i++) (async () => { await i; % })()",
    "for (let i = 0, p = Promise.resolve(); i < 1000; i++) p = p.then(() => { % })",
];

/// Ways to have little memory left.
const FILLS: &[&str] = &[
    "for (var h = [], n = 65536; n; n >>= 2) try { for (;;) h.push('x'.repeat(n) + n); } catch (e) {}",
    "for (var h = [];;) { try { h.push({}, [], () => h); } catch (e) { break; } }",
    "for (var h = [];;) h.push((async () => { await new Promise(() => {}); })())",
    "for (var h = [];;) { const g = (function* () { yield h; })(); g.next(); h.push(g); }",
    "for (var h = [];;) h.push(new Promise(f => h.push(f)).then(g))",
    "for (var h = [];;) h.push([[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]])",
    "for (var h = [];;) h.push('x'.repeat(1e5).split(''))",
    "for (var h = {}, i = 0;; i++) h['k' + i] = h[i] = Symbol(i)",
    "for (var h = [];;) h.push(['b', 'a', 'c'].find(x => x > 'b'), [1, 2].findLast(x => h.push(x) < 0))",
    "for (var h = [];;) h.push(JSON.parse('[[[]],{\"a\":{}},\"x\"]'), /(a)(b)?/g.exec('ab'), f.bind(h, 1))",
];

pub(crate) fn statement(out: &mut String, random: &mut Random, depth: usize) {
    match random.below(5) {
        0 => {
            let _ = writeln!(out, "{};", random.choice(FILLS));
        }
        1 | 2 => {
            out.push_str("(async (a, b) => {\n");
            for _ in 0..=random.below(3) {
                piece(out, random, WAITS, depth);
            }
            block(out, random, depth);
            out.push_str("})(a, b);\n");
        }
        _ => piece(out, random, STARTS, depth),
    }
}

fn piece(out: &mut String, random: &mut Random, pieces: &[&str], depth: usize) {
    let mut inner = String::new();
    if random.chance(6) {
        inner.push_str("(() => { ");
        inner.push_str(random.choice(FILLS));
        inner.push_str("; })()");
    } else {
        expression(&mut inner, random, depth.min(2));
    }
    let _ = writeln!(out, "{};", random.choice(pieces).replace('%', &inner));
}
