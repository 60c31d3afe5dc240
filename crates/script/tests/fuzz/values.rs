//! Generates values whose copies are much larger than the values themselves, or that change while
//! the sandbox reads them, and the ways by which values leave a script.

use std::fmt::Write as _;

use crate::random::Random;

/// Statements that build a value from the previous values `x` and `y`.
const STEPS: &[&str] = &[
    "x = [x, x];",
    "x = { a: x, b: x };",
    "x = [x, y, x];",
    "x = new Array(1e3).fill(x);",
    "y = x;",
    "x = [x];",
    "for (let i = 0; i < 1e3; i++) x = [x];",
    "for (let i = 0; i < 40; i++) x = [x, x];",
    "for (let i = 0; i < 40; i++) x = { x, y: x };",
    "x = 'x'.repeat(1e5);",
    "x = '\\ud800\u{1F600}é'.repeat(1e4);",
    "for (let i = 0; i < 20; i++) y = y + y;",
    "for (let i = 0; i < 20; i++) y = `${y}${y}`;",
    "y = 'é'.padEnd(1e6, y);",
    "y = 'ab'.repeat(1e5).replace(/a/g, '$&$&$&');",
    "x = { ['k'.repeat(1e5)]: x };",
    "x = {}; for (let i = 0; i < 1e4; i++) x['k' + i] = undefined;",
    "x = [x]; x.push(x);",
    "x = { x }; x.y = { x };",
    "x = new Uint8Array(1e6);",
    "x = new Float64Array(1e5).fill(1.5);",
    "x = { buffer: new ArrayBuffer(1e6), x };",
    "x = new Proxy(typeof x === 'object' ? x : {}, { get(t, k) { y = [y, y]; return t[k]; } });",
    "x = new Proxy([], { get(t, k) { return k === 'length' ? 1e9 : 1; } });",
    "x = { get a() { y = [y, y]; return y; } };",
    "x = { get a() { for (;;); } };",
    "x = ((x) => ({ toJSON() { x = [x, x]; return [x, this]; } }))(x);",
    "x = ((x) => ({ toJSON() { return x; } }))(x);",
    "x = ((z) => { const a = [1, 2, 3, { toJSON() { a.length = 0; z.push(a); return z; } }, 5]; return a; })([x]);",
    "x = new Array(2 ** 31);",
    "x = new Map([[x, y]]);",
    "x = Object.create(x && typeof x === 'object' ? x : null);",
    "x = [new Date(), 2 ** 53, -0, NaN, /x/, x];",
    "x = new Error(y, { cause: x });",
];

/// Ways out of the script.
const EXITS: &[&str] = &[
    "__.createDocument(__.getSelfLink(), { id: 'v', x });",
    "__.createDocument(__.getSelfLink(), x);",
    "__.createDocument(__.getSelfLink(), { id: 'w', x }, { etag: y });",
    "for (let i = 0; i < 1e3; i++) __.createDocument(__.getSelfLink(), { id: 'v' + i, x: y });",
    "(function r(n) { __.upsertDocument(__.getSelfLink(), { id: 'r', n, x }, () => r(n + 1)); })(0);",
    "__.replaceDocument(__.getAltLink() + '/docs/1', { id: '1', x }, () => {});",
    "__.queryDocuments(__.getSelfLink(), { query: 'SELECT * FROM c WHERE c.n = @p', parameters: [{ name: '@p', value: x }] });",
    "__.queryDocuments(__.getSelfLink(), 'SELECT * FROM c' + y);",
    "__.readDocuments(__.getSelfLink(), { continuation: String(y), pageSize: 1 });",
    "__.readDocument(__.getAltLink() + '/docs/' + y, { ifNoneMatch: String(y) });",
    "__.deleteDocument(String(y));",
    "__.response.setBody(x);",
    "__.response.appendBody(y);",
    "{ const b = []; __.response.setBody(b); b.push(x, y); }",
    "for (let i = 0; i < 1e3; i++) console.log(x);",
    "console.log('%s %s', x, y);",
    "throw x;",
    "throw { message: y, number: x, stack: y, body: x };",
    "throw new Error(y);",
    "getContext().abort(x);",
    "__.filter(d => { d.x = x; return x; });",
    "__.sortBy(d => x);",
    "__.spatial.distance({ type: 'Point', coordinates: x }, { y });",
    "JSON.stringify(x);",
    "JSON.parse(JSON.stringify(y));",
    "__.request.setBody(x);",
];

pub(crate) fn statement(out: &mut String, random: &mut Random) {
    out.push_str("{ let x = 1, y = 'y';\n");
    for _ in 0..=random.below(5) {
        let _ = writeln!(out, "{}", random.choice(STEPS));
    }
    for _ in 0..=random.below(2) {
        let exit = random.choice(EXITS);
        if random.chance(2) {
            let _ = writeln!(out, "try {{ {exit} }} catch (e) {{}}");
        } else {
            let _ = writeln!(out, "{exit}");
        }
    }
    out.push_str("}\n");
}
