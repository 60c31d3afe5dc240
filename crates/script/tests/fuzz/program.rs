//! Generates random programs: most are valid, most are hostile, and some never end.
//!
//! The grammar is small; the vocabulary matters. It has the API of scripts, the built-in functions
//! that loop or allocate inside the engine, and the ways in which a program can substitute its own
//! code for built-in code.

use std::fmt::Write as _;

use crate::random::Random;
use crate::{suspended, values};

const DEPTH_MAX: usize = 5;

const VALUES: &[&str] = &[
    "undefined",
    "null",
    "true",
    "0",
    "-1",
    "1e3",
    "1e9",
    "2 ** 31",
    "NaN",
    "7n",
    "'x'",
    "''",
    "'\\ud800'",
    "'x'.repeat(1e5)",
    "[]",
    "[1, [2, [3]]]",
    "new Array(1e6)",
    "{}",
    "({ id: '1' })",
    "({ id: 'new', t: [1] })",
    "({ length: 2 ** 31 })",
    "/(x+x+)+y/",
    "/a|b/g",
    "Symbol.iterator",
    "new Date()",
    "new Map([[1, 2]])",
    "new Uint8Array(1e4)",
    "new Proxy({}, {})",
    "globalThis",
    "a",
    "b",
    "f",
    "g",
    "this",
    "arguments",
];

const OBJECTS: &[&str] = &[
    "Object.prototype",
    "Array.prototype",
    "String.prototype",
    "Function.prototype",
    "Promise.prototype",
    "Error.prototype",
    "RegExp.prototype",
    "Map.prototype",
    "Object",
    "Array",
    "JSON",
    "Reflect",
    "Math",
    "Symbol",
    "Promise",
    "Error",
    "globalThis",
    "getContext()",
    "getContext().getCollection()",
    "getContext().getRequest()",
    "__",
    "__.response",
    "console",
    "ErrorCodes",
    "a",
    "b",
    "f",
];

const NAMES: &[&str] = &[
    "toString",
    "valueOf",
    "toJSON",
    "then",
    "constructor",
    "__proto__",
    "length",
    "id",
    "name",
    "message",
    "number",
    "body",
    "stack",
    "push",
    "concat",
    "slice",
    "join",
    "call",
    "apply",
    "log",
    "prototype",
    "leaked",
    "getContext",
    "stringify",
    "parse",
    "get",
    "has",
    "next",
    "createDocument",
    "filter",
    "setBody",
    "getBody",
];

const CALLS: &[&str] = &[
    "JSON.stringify",
    "JSON.parse",
    "Object.keys",
    "Object.assign",
    "Object.freeze",
    "Object.setPrototypeOf",
    "Object.getOwnPropertyDescriptors",
    "Object.fromEntries",
    "Reflect.ownKeys",
    "Reflect.construct",
    "Reflect.apply",
    "Array.from",
    "Array.of",
    "String",
    "Number",
    "BigInt",
    "Symbol",
    "Promise.resolve",
    "Promise.all",
    "Promise.reject",
    "Error",
    "new Error",
    "new Proxy",
    "new Set",
    "new WeakMap",
    "RegExp",
    "Date",
    "isNaN",
    "encodeURI",
    "decodeURIComponent",
    "structuredClone",
    "eval",
    "Function",
    "setTimeout",
    "require",
    "import",
    "console.log",
    "getContext",
    "f",
    "g",
    "a",
    "(async x => { await x; throw x; })",
    "(function* () { yield* arguments; })",
];

const METHODS: &[&str] = &[
    "map",
    "filter",
    "reduce",
    "sort",
    "flat",
    "fill",
    "splice",
    "concat",
    "join",
    "reverse",
    "indexOf",
    "replace",
    "split",
    "repeat",
    "padEnd",
    "match",
    "normalize",
    "toUpperCase",
    "call",
    "apply",
    "bind",
    "then",
    "catch",
    "finally",
    "next",
    "return",
    "toString",
    "keys",
    "entries",
    "localeCompare",
    "at",
    "with",
    "copyWithin",
];

const COLLECTION: &[&str] = &[
    "__.getSelfLink()",
    "__.getAltLink()",
    "__.getAltLink() + '/docs/1'",
    "'dbs/d/colls/other'",
    "__.getSelfLink() + 'docs/rid1/'",
];

const OPERATIONS: &[&str] = &[
    "readDocument",
    "readDocuments",
    "queryDocuments",
    "createDocument",
    "upsertDocument",
    "replaceDocument",
    "deleteDocument",
    "filter",
    "map",
    "pluck",
    "sortBy",
    "sortByDescending",
    "flatten",
    "unwind",
    "readAttachments",
];

const ARGUMENTS: &[&str] = &[
    "'SELECT * FROM c'",
    "{ query: 'SELECT * FROM c', parameters: [] }",
    "{ id: '2', n: 2 }",
    "{ pageSize: 1 }",
    "{ etag: 'x' }",
    "{ get pageSize() { f(); } }",
    "'n'",
    "{ continuation: '1' }",
];

/// The text of one script.
pub(crate) fn program(random: &mut Random) -> String {
    let mut text = String::new();
    let head = random.choice(&[
        "function (a, b) {",
        "function main(a, b) {",
        "async function (a, b) {",
        "(a, b) => {",
        "function* (a, b) {",
        "async (a, b) => {",
    ]);
    text.push_str(head);
    text.push_str("\nfunction f(x) { return g(x); }\nfunction g(x) { return x; }\n");
    for _ in 0..=random.below(6) {
        statement(&mut text, random, DEPTH_MAX);
    }
    text.push('}');
    if random.chance(25) {
        damage(&mut text, random);
    }
    text
}

/// Removes a piece of the text, so that the remainder violates the grammar.
fn damage(text: &mut String, random: &mut Random) {
    let start = random.below(text.len());
    let end = (start + random.below(8)).min(text.len());
    text.replace_range(start..end, "");
}

fn statement(out: &mut String, random: &mut Random, depth: usize) {
    if depth == 0 {
        expression(out, random, 0);
        out.push_str(";\n");
        return;
    }
    let depth = depth - 1;
    match random.below(20) {
        0 => {
            let name = random.choice(&["a", "b", "f", "g", "leaked", "getContext", "Promise"]);
            let _ = write!(out, "{name} = ");
            expression(out, random, depth);
            out.push_str(";\n");
        }
        1 => {
            let (object, name) = (random.choice(OBJECTS), random.choice(NAMES));
            let _ = write!(out, "{object}.{name} = ");
            expression(out, random, depth);
            out.push_str(";\n");
        }
        2 => {
            out.push_str("try {\n");
            block(out, random, depth);
            out.push_str("} catch (e) {\n");
            block(out, random, depth);
            out.push_str("} finally {\n");
            statement(out, random, 0);
            out.push_str("}\n");
        }
        3 => {
            let bound = random.choice(&["3", "100", "1e5", "1e9"]);
            let _ = writeln!(out, "for (let i = 0; i < {bound}; i++) {{");
            block(out, random, depth);
            out.push_str("}\n");
        }
        4 => {
            out.push_str("for (const x of ");
            expression(out, random, depth);
            out.push_str(") {\n");
            block(out, random, depth);
            out.push_str("}\n");
        }
        5 => {
            let (object, name) = (random.choice(OBJECTS), random.choice(NAMES));
            let _ = write!(
                out,
                "Object.defineProperty({object}, '{name}', {{ configurable: true, get() {{ "
            );
            statement(out, random, depth.min(1));
            out.push_str("} });\n");
        }
        6 => {
            let (object, name) = (random.choice(OBJECTS), random.choice(NAMES));
            let _ = writeln!(out, "delete {object}.{name};");
        }
        7 => {
            out.push_str("throw ");
            expression(out, random, depth);
            out.push_str(";\n");
        }
        8 | 9 => operation(out, random, depth),
        10 => {
            out.push_str("__.response.setBody(");
            expression(out, random, depth);
            out.push_str(");\n");
        }
        11 => hostile(out, random),
        12 | 13 => suspended::statement(out, random, depth),
        14..17 => values::statement(out, random),
        _ => {
            expression(out, random, depth);
            out.push_str(";\n");
        }
    }
}

pub(crate) fn block(out: &mut String, random: &mut Random, depth: usize) {
    for _ in 0..=random.below(2) {
        statement(out, random, depth);
    }
}

/// A call of a collection method, with or without a callback.
fn operation(out: &mut String, random: &mut Random, depth: usize) {
    let method = random.choice(OPERATIONS);
    if random.chance(4) {
        out.push_str("__.chain()");
        for _ in 0..=random.below(3) {
            let stage = random.choice(&["filter", "map", "pluck", "sortBy", "flatten", "unwind"]);
            let argument = random.choice(&["x => x.n", "'t'", "x => [x, x]", "", "f"]);
            let _ = write!(out, ".{stage}({argument})");
        }
        out.push_str(".value(");
    } else {
        let _ = write!(out, "__.{method}({}", random.choice(COLLECTION));
        if random.chance(2) {
            let _ = write!(out, ", {}", random.choice(ARGUMENTS));
        }
        out.push_str(", ");
    }
    if random.chance(5) {
        expression(out, random, 1);
    } else {
        out.push_str("function (e, x, o) {\n");
        block(out, random, depth.min(2));
        out.push('}');
    }
    out.push_str(");\n");
}

/// What an attacker would try first.
fn hostile(out: &mut String, random: &mut Random) {
    out.push_str(random.choice(&[
        "for (;;) {}\n",
        "(function r() { r(); })();\n",
        "for (var h = [];;) h.push(new Array(1000).fill(h));\n",
        "for (var s = 'x';;) s += s;\n",
        "/^(a+)+$/.test('a'.repeat(40) + 'b');\n",
        "for (;;) console.log('x'.repeat(100));\n",
        "(function n() { Promise.resolve().then(n); })();\n",
        "(function n() { __.readDocuments(__.getSelfLink(), n); })();\n",
        "for (var k of Reflect.ownKeys(globalThis)) try { globalThis[k] = null; } catch (e) {}\n",
        "Object.prototype.toJSON = function () { return this; };\n",
        "Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1; };\n",
        "globalThis.constructor.constructor('return this')();\n",
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype);\n",
        "getContext().abort({ get number() { for (;;) {} } });\n",
        "JSON.parse('['.repeat(1e5));\n",
        "throw new Proxy({}, { get() { throw 1; }, ownKeys() { for (;;) {} } });\n",
        "Promise.prototype.then = null; (async () => { await 1; })();\n",
        "new Set(Array.prototype.values.call({ length: 5e6 }));\n",
    ]));
}

pub(crate) fn expression(out: &mut String, random: &mut Random, depth: usize) {
    if depth == 0 {
        out.push_str(random.choice(VALUES));
        return;
    }
    let depth = depth - 1;
    match random.below(10) {
        0 => {
            out.push('(');
            expression(out, random, depth);
            let operator = random.choice(&[
                "+",
                "-",
                "*",
                "%",
                "**",
                "<",
                "==",
                "in",
                "instanceof",
                "&&",
                ",",
                "??",
                "|",
            ]);
            let _ = write!(out, ") {operator} (");
            expression(out, random, depth);
            out.push(')');
        }
        1 | 2 => call(out, random.choice(CALLS), random, depth),
        3 => {
            let _ = write!(out, "{}.{}", random.choice(OBJECTS), random.choice(NAMES));
        }
        4 | 5 => {
            out.push('(');
            expression(out, random, depth);
            let _ = write!(out, ").{}", random.choice(METHODS));
            call(out, "", random, depth);
        }
        6 => {
            out.push_str("(x => ");
            expression(out, random, depth);
            out.push(')');
        }
        7 => {
            out.push_str("({ ");
            let name = random.choice(NAMES);
            if random.chance(2) {
                let _ = write!(out, "get {name}() {{ ");
                statement(out, random, depth.min(1));
                out.push_str("} })");
            } else {
                let _ = write!(out, "'{name}': ");
                expression(out, random, depth);
                out.push_str(" })");
            }
        }
        8 => {
            out.push_str("[...");
            expression(out, random, depth);
            out.push_str(", ");
            expression(out, random, depth);
            out.push(']');
        }
        _ => out.push_str(random.choice(VALUES)),
    }
}

fn call(out: &mut String, function: &str, random: &mut Random, depth: usize) {
    out.push_str(function);
    out.push('(');
    for number in 0..random.below(3) {
        if number > 0 {
            out.push_str(", ");
        }
        expression(out, random, depth);
    }
    out.push(')');
}
